"""Resolve, deduplicate and rank the links of a page.

Links that lead to no document (mailto, javascript, tel) are dropped; links that are not a valid URL are
dropped and counted. Links in the main part come before navigation, followable ones before nofollow. Whether a
target is in scope or allowed is decided elsewhere: private addresses and those of cloud metadata services are
kept.
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

_T = TypeVar("_T")

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
    """Links as parallel tuples, best first."""

    urls: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    rels: tuple[int, ...] = ()
    regions: tuple[int, ...] = ()
    found: int = 0
    """Number of links before the limit, including those that are no valid URL."""

    @property
    def dropped(self) -> int:
        """Number of links beyond the limit or without a valid URL."""
        return self.found - len(self.urls)

    def limited(self, max_links: int) -> Outlinks:
        """Return the best links up to a limit."""
        return Outlinks(
            self.urls[:max_links],
            self.anchors[:max_links],
            self.rels[:max_links],
            self.regions[:max_links],
            self.found,
        )


def find_outlinks(anchors: Anchors, *, base: str, max_links: int) -> Outlinks:
    """Return the resolved links of a page, ranked."""
    candidates = _without_fragment_links(anchors)
    if not candidates.hrefs:
        return Outlinks()
    resolved = resolve_links(base, candidates.hrefs, allow_private=None)
    first: dict[str, int] = {}
    duplicates: list[tuple[int, int]] = []
    for position, key in enumerate(resolved.keys):
        own = first.setdefault(key, position)
        if own != position:
            duplicates.append((own, position))
    refused = 0 if first.pop("", None) is None else _count_refused(candidates.hrefs, resolved)
    texts, regions = list(candidates.texts), list(candidates.regions)
    flags = (
        [rel_flags(rel) if rel else 0 for rel in candidates.rels]
        if any(candidates.rels)
        else [0] * len(texts)
    )
    if duplicates:
        _merge_duplicates(duplicates, texts, flags, regions)
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


def _count_refused(hrefs: Sequence[str], resolved: ResolvedLinks) -> int:
    """Count distinct links that are no valid URL; links that lead to no document are not counted."""
    answers = zip(hrefs, resolved.keys, resolved.details, strict=True)
    return len({href for href, key, detail in answers if not key and detail != NO_PAGE})


def _select(column: Sequence[_T], positions: Sequence[int]) -> tuple[_T, ...]:
    if len(positions) < 2:  # noqa: PLR2004  # one place alone is picked as it is, not as a tuple
        return tuple(column[position] for position in positions)
    return itemgetter(*positions)(column)  # type: ignore[no-any-return]


def _without_fragment_links(anchors: Anchors) -> Anchors:
    """Return the anchors without those that lead to a fragment of the page itself."""
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
    duplicates: Iterable[tuple[int, int]], texts: list[str], flags: list[int], regions: list[int]
) -> None:
    """Merge links with the same target; the result is nofollow only if all of them are.

    `duplicates` has pairs of positions: the first link to a target, and a further one.
    """
    common: dict[int, int] = {}
    for own, position in duplicates:
        other_flags = flags[position]
        common[own] = common.get(own, flags[own]) & other_flags
        flags[own] |= other_flags
        texts[own] = texts[own] or texts[position]
        regions[own] = min(regions[own], regions[position], key=_REGION_RANKS.__getitem__)
    for own, flag in common.items():
        flags[own] = (flags[own] & _PAGINATION_FLAGS) | flag


def rel_flags(rel: str) -> int:
    """Return the flags of a rel attribute in lower case."""
    flags = 0
    for word in rel.split():
        flags |= _FLAGS.get(word, 0)
    return flags


def _rank(flags: int, rank: int) -> int:
    """Return the sort key of a link: pagination first, then by region, nofollow last."""
    return (_NOFOLLOW_PENALTY if flags & NOFOLLOW else 0) + (-1 if flags & _PAGINATION_FLAGS else rank)
