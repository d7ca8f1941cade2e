"""Where does a page lead?

Takes the anchors of a page in their order, resolves them, leaves out what leads to no document (mailto,
javascript, tel) or is no URL to be fetched, which is counted, keeps each target once and ranks them:
what stands in the main part comes before navigation, what may be followed before what the page asks to
leave. Whether a target is worth the frontier, or allowed, is decided elsewhere, and told there: private
addresses stay in, and those of a cloud's metadata service.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from operator import itemgetter
from typing import Final, TypeVar

from strider.contracts.fast_dataclass import fast_dataclass
from strider.urls import resolve_links
from strider.urls.links import ResolvedLinks
from strider.urls.refusals import NO_PAGE

from .models import ASIDE, ELSEWHERE, FOOTER, FRAME_REL, HEADER, MAIN, NAVIGATION, Anchors

_T = TypeVar("T")

NOFOLLOW: Final = 1

_FLAGS: Final = {
    "nofollow": NOFOLLOW,
    "ugc": 2,
    "sponsored": 4,
    "noopener": 8,
    "next": 16,
    "prev": 32,
    "previous": 32,
    FRAME_REL: 64,
}
_REGION_RANKS: Final = {MAIN: 0, ELSEWHERE: 1, NAVIGATION: 2, HEADER: 3, ASIDE: 4, FOOTER: 5}
_PAGINATION_FLAGS: Final = 16 | 32
_NOFOLLOW_PENALTY: Final = 100


@fast_dataclass(frozen=True, slots=True)
class Outlinks:
    """Parallel tuples, best first."""

    urls: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    rels: tuple[int, ...] = ()
    regions: tuple[int, ...] = ()
    found: int = 0
    """How many there were before the limit, with those that are no URL to be fetched."""

    @property
    def dropped(self) -> int:
        """How many the limit has dropped, or are no URL to be fetched."""
        return self.found - len(self.urls)

    def limited(self, max_links: int) -> Outlinks:
        """Keep so many."""
        return Outlinks(
            self.urls[:max_links],
            self.anchors[:max_links],
            self.rels[:max_links],
            self.regions[:max_links],
            self.found,
        )


def find_outlinks(anchors: Anchors, *, base: str, max_links: int) -> Outlinks:
    """Resolve, sort out and rank what a page links to."""
    leading = _without_fragment_links(anchors)
    if not leading.hrefs:
        return Outlinks()
    resolved = resolve_links(base, leading.hrefs, allow_private=None)
    first: dict[str, int] = {}
    again: list[tuple[int, int]] = []
    for place, key in enumerate(resolved.keys):
        own = first.setdefault(key, place)
        if own != place:
            again.append((own, place))
    refused = 0 if first.pop("", None) is None else _refused(leading.hrefs, resolved)
    texts, regions = list(leading.texts), list(leading.regions)
    flags = [rel_flags(rel) if rel else 0 for rel in leading.rels] if any(leading.rels) else [0] * len(texts)
    if again:
        _merge_duplicates(again, texts, flags, regions)
    order = list(first.values())
    ranks = [_REGION_RANKS[region] for region in regions]
    if any(flags):
        ranks = [_rank(flag, rank) if flag else rank for flag, rank in zip(flags, ranks, strict=True)]
    order.sort(key=ranks.__getitem__)
    found, best = len(order), order[:max_links]
    return Outlinks(
        _select(resolved.urls, best),
        _select(texts, best),
        _select(flags, best),
        _select(regions, best),
        found=found + refused,
    )


def _refused(hrefs: Sequence[str], resolved: ResolvedLinks) -> int:
    """Count what is no URL to be fetched, each once; what is meant to lead to no document is no loss."""
    answers = zip(hrefs, resolved.keys, resolved.details, strict=True)
    return len({href for href, key, detail in answers if not key and detail != NO_PAGE})


def _select(column: Sequence[_T], places: Sequence[int]) -> tuple[_T, ...]:
    if len(places) < 2:  # noqa: PLR2004  # one place alone is picked as it is, not as a tuple
        return tuple(column[place] for place in places)
    return itemgetter(*places)(column)  # type: ignore[no-any-return]


def _without_fragment_links(anchors: Anchors) -> Anchors:
    """Leave out what leads to places of the page itself."""
    is_leading = ["#" not in href or not href.lstrip().startswith("#") for href in anchors.hrefs]
    if all(is_leading):
        return anchors
    return Anchors(
        tuple(compress(anchors.hrefs, is_leading)),
        tuple(compress(anchors.texts, is_leading)),
        tuple(compress(anchors.rels, is_leading)),
        tuple(compress(anchors.regions, is_leading)),
    )


def _merge_duplicates(
    again: Iterable[tuple[int, int]], texts: list[str], flags: list[int], regions: list[int]
) -> None:
    """Make one link of all that lead to one place: asked to be left only where each of them asks so.

    `again` has pairs: the first link to a place, and another one.
    """
    common: dict[int, int] = {}
    for own, place in again:
        said = flags[place]
        common[own] = common.get(own, flags[own]) & said
        flags[own] |= said
        texts[own] = texts[own] or texts[place]
        regions[own] = min(regions[own], regions[place], key=_REGION_RANKS.__getitem__)
    for own, flag in common.items():
        flags[own] = (flags[own] & _PAGINATION_FLAGS) | flag


def rel_flags(rel: str) -> int:
    """Add up the flags of a rel attribute in lower case."""
    flags = 0
    for word in rel.split():
        flags |= _FLAGS.get(word, 0)
    return flags


def _rank(flags: int, rank: int) -> int:
    """Give a number by which pages of a list come first, then regions, and last what the page disowns."""
    return (_NOFOLLOW_PENALTY if flags & NOFOLLOW else 0) + (-1 if flags & _PAGINATION_FLAGS else rank)
