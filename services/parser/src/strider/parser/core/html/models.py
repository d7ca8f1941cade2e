"""What a tree says, before anything is decided about it.

The shape between whoever walks the tree and the decisions of this core. Everything is as it stands
in the document: nothing is resolved, chosen or clipped beyond what keeps it small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from strider.contracts.fast_dataclass import fast_dataclass
from strider.parser.core.content.text_blocks import PageBlocks
from strider.parser.core.products.signal_models import NO_PRODUCT_SIGNALS, Shop

ELSEWHERE: Final = 0
MAIN: Final = 1
NAVIGATION: Final = 2
HEADER: Final = 3
FOOTER: Final = 4
ASIDE: Final = 5


class Anchor(NamedTuple):
    """One element that leads somewhere."""

    href: str
    text: str
    rel: str
    """In lower case; behind it, where an anchor has no name, what its class says (`class:next`)."""
    region: int
    """Where on the page it stands, in the numbers of the contract."""


@fast_dataclass(frozen=True, slots=True)
class Anchors:
    """The anchors of a page, in their order, as columns: they are read, resolved and sent so."""

    hrefs: Sequence[str] = ()
    texts: Sequence[str] = ()
    rels: Sequence[str] = ()
    regions: Sequence[int] = ()

    @classmethod
    def from_anchors(cls, anchors: Iterable[Anchor]) -> Anchors:
        """Take anchors one by one."""
        columns = tuple(zip(*anchors, strict=True))
        return cls(*columns) if columns else cls()

    def extended(self, added: Sequence[Anchor]) -> Anchors:
        """Put some more behind them."""
        return Anchors.from_anchors((*self, *added)) if added else self

    def __iter__(self) -> Iterator[Anchor]:
        return map(Anchor, self.hrefs, self.texts, self.rels, self.regions)

    def __len__(self) -> int:
        return len(self.hrefs)


NO_ANCHORS: Final = Anchors()

FRAME_REL: Final = "element:frame"
"""Stands in the rel of what is no anchor but a frame."""


class LinkTag(NamedTuple):
    """One link element, with its rel in lower case."""

    rel: str
    href: str
    language: str
    type: str


class MetaTag(NamedTuple):
    """One meta element: its name, property or http-equiv in lower case, and what it says."""

    name: str
    content: str


class Depth(NamedTuple):
    """How much of a page is wanted."""

    has_blocks: bool = False
    """Also what the main text and its like are decided by."""
    with_markdown: bool = False
    with_records: bool = False
    """Also what stands in it for machines."""


BASIC_ONLY: Final = Depth()


@fast_dataclass(frozen=True, slots=True)
class HtmlExtract:
    """What one walk over a tree has found."""

    title: str = ""
    heading: str = ""
    """The first h1."""
    language: str = ""
    base: str = ""
    """The href of the first base element that has one."""
    text: str = ""
    """Visible text: a line for each block, single spaces within."""
    noscript: str = ""
    anchors: Anchors = NO_ANCHORS
    links: Sequence[LinkTag] = ()
    metas: Sequence[MetaTag] = ()
    frames: Sequence[Anchor] = ()
    """Documents that it shows within itself."""
    paragraphs: int = 0
    scripts: int = 0
    forms: int = 0
    password_fields: int = 0
    is_cut: bool = False
    """Whether the tree was read up to a limit of depth only."""
    blocks: PageBlocks | None = None
    """Only where they were asked for, like all that follows."""
    structured_text: str = ""
    """Structured data for machines, as it stands."""
    json_ld_scripts: tuple[str, ...] = ()
    """Scripts of JSON-LD, each as it stands; only where records are wanted, like microdata."""
    microdata: tuple[dict[str, Any], ...] = ()
    rdfa: tuple[dict[str, Any], ...] = ()
    product_signals: Shop = NO_PRODUCT_SIGNALS
    """What of the page looks like a shop; only where records are wanted."""
    price_scripts: tuple[str, ...] = ()
    """Scripts that speak of prices."""
    published_times: tuple[str, ...] = ()
    """When it was published, as elements say it; best first."""
    modified_times: tuple[str, ...] = ()
    """When it was changed."""
    item_types: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    """What is marked as an author."""
    bylines: tuple[str, ...] = ()
    """What is only called so, by a class."""
