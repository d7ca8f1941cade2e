"""Content extracted from an HTML tree, before any decision about it.

The interface between the HTML reader and this core. Values are as in the document: nothing is resolved,
chosen or truncated except to bound memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from strider.contracts.fast_dataclass import fast_dataclass
from strider.parser.core.content.text_blocks import PageBlocks
from strider.parser.core.products.signal_models import NO_PRODUCT_SIGNALS, ProductSignals

ELSEWHERE: Final = 0
MAIN: Final = 1
NAVIGATION: Final = 2
HEADER: Final = 3
FOOTER: Final = 4
ASIDE: Final = 5


class Anchor(NamedTuple):
    """One element that links to a URL."""

    href: str
    text: str
    rel: str
    """In lower case; if the anchor has no text, followed by a hint from its class (`class:next`)."""
    region: int
    """Region of the page, by the numbers of the contract."""


@fast_dataclass(frozen=True, slots=True)
class Anchors:
    """The anchors of a page in document order, stored as columns for speed."""

    hrefs: Sequence[str] = ()
    texts: Sequence[str] = ()
    rels: Sequence[str] = ()
    regions: Sequence[int] = ()

    @classmethod
    def from_anchors(cls, anchors: Iterable[Anchor]) -> Anchors:
        """Return the columns of single anchors."""
        columns = tuple(zip(*anchors, strict=True))
        return cls(*columns) if columns else cls()

    def extended(self, added: Sequence[Anchor]) -> Anchors:
        """Return these anchors followed by others."""
        return Anchors.from_anchors((*self, *added)) if added else self

    def __iter__(self) -> Iterator[Anchor]:
        return map(Anchor, self.hrefs, self.texts, self.rels, self.regions)

    def __len__(self) -> int:
        return len(self.hrefs)


NO_ANCHORS: Final = Anchors()

FRAME_REL: Final = "element:frame"
"""Stands in `rel` for frames, which are not anchors."""


class LinkTag(NamedTuple):
    """One link element, with its rel in lower case."""

    rel: str
    href: str
    language: str
    type: str


class MetaTag(NamedTuple):
    """One meta element: its name, property or http-equiv in lower case, and its content."""

    name: str
    content: str


class ExtractionDepth(NamedTuple):
    """Parts of a page that the HTML reader extracts."""

    has_blocks: bool = False
    """Whether to extract blocks and whatever main text, dates and authors need."""
    with_markdown: bool = False
    with_records: bool = False
    """Whether to extract structured data and product signals."""


BASIC_ONLY: Final = ExtractionDepth()


@fast_dataclass(frozen=True, slots=True)
class HtmlExtract:
    """Everything that one traversal of the tree has extracted."""

    title: str = ""
    heading: str = ""
    """Text of the first h1 element."""
    language: str = ""
    base: str = ""
    """The href of the first base element that has one."""
    text: str = ""
    """Visible text: one line per block, with single spaces."""
    noscript: str = ""
    anchors: Anchors = NO_ANCHORS
    links: Sequence[LinkTag] = ()
    metas: Sequence[MetaTag] = ()
    frames: Sequence[Anchor] = ()
    """Documents embedded in frames."""
    paragraphs: int = 0
    scripts: int = 0
    forms: int = 0
    password_fields: int = 0
    is_truncated: bool = False
    """Whether a limit of the tree ended the extraction."""
    blocks: PageBlocks | None = None
    """Set only if `ExtractionDepth.has_blocks` is, like all fields below."""
    structured_text: str = ""
    """JSON-LD scripts, joined and unparsed."""
    json_ld_scripts: tuple[str, ...] = ()
    """Each JSON-LD script, unparsed; only with records, like microdata and RDFa."""
    microdata: tuple[dict[str, Any], ...] = ()
    rdfa: tuple[dict[str, Any], ...] = ()
    product_signals: ProductSignals = NO_PRODUCT_SIGNALS
    """Visible signals of a product page; only with records."""
    price_scripts: tuple[str, ...] = ()
    """Scripts that mention prices."""
    published_times: tuple[str, ...] = ()
    """Publication dates in elements, best source first."""
    modified_times: tuple[str, ...] = ()
    """Modification dates in elements."""
    item_types: tuple[str, ...] = ()
    marked_authors: tuple[str, ...] = ()
    """Texts of elements that are marked as an author."""
    bylines: tuple[str, ...] = ()
    """Texts of elements whose class names resemble an author's."""
