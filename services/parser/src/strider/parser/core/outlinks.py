"""Where does a page lead?

Takes the anchors of a page in their order, resolves them, leaves out what is no page (mailto,
javascript, tel, broken ones), keeps each target once and ranks them: what stands in the main part
comes before navigation, what may be followed before what the page asks to leave. Whether a target
is worth the frontier, or allowed, is decided elsewhere: private addresses stay in.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from strider.contracts.making import swift
from strider.urls import links

from .readings import ASIDE, ELSEWHERE, FOOTER, HEADER, MAIN, NAVIGATION, Anchor

NOFOLLOW: Final = 1

_FLAGS: Final = {
    "nofollow": NOFOLLOW,
    "ugc": 2,
    "sponsored": 4,
    "noopener": 8,
    "next": 16,
    "prev": 32,
    "previous": 32,
}
_RANK_OF_REGION: Final = {MAIN: 0, ELSEWHERE: 1, NAVIGATION: 2, HEADER: 3, ASIDE: 4, FOOTER: 5}
_PAGINATION: Final = 16 | 32


@swift(frozen=True, slots=True)
class Outlinks:
    """Parallel tuples, best first."""

    urls: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    rels: tuple[int, ...] = ()
    regions: tuple[int, ...] = ()
    found: int = 0
    """How many there were before the limit."""

    @property
    def dropped(self) -> int:
        """How many the limit has dropped."""
        return self.found - len(self.urls)

    def best(self, count: int) -> Outlinks:
        """Keep so many."""
        return Outlinks(
            self.urls[:count], self.anchors[:count], self.rels[:count], self.regions[:count], self.found
        )


def find_outlinks(anchors: Sequence[Anchor], *, base: str, max_links: int) -> Outlinks:
    """Resolve, sort out and rank what a page links to."""
    leading = [
        anchor for anchor in anchors if "#" not in anchor.href or not anchor.href.lstrip().startswith("#")
    ]
    if not leading:
        return Outlinks()
    resolved = links(base, [anchor.href for anchor in leading], allow_private=True)
    kept: dict[str, tuple[str, Anchor]] = {}
    repeated: dict[str, list[Anchor]] = {}
    for anchor, url, key in zip(leading, resolved.urls, resolved.keys, strict=True):
        if not url:
            continue
        if (first := kept.get(key)) is None:
            kept[key] = url, anchor
        else:
            repeated.setdefault(key, [first[1]]).append(anchor)
    merged = [
        (url, *_merged(repeated[key]))
        if key in repeated
        else (url, anchor.text, flags_of(anchor.rel) if anchor.rel else 0, anchor.region)
        for key, (url, anchor) in kept.items()
    ]
    if len(set(map(_RANKED_BY, merged))) > 1:
        merged.sort(key=_rank)
    return _in_parallel(merged, max_links)


_RANKED_BY: Final = itemgetter(2, 3)
_Merged = tuple[str, str, int, int]
"""URL, anchor, flags, region."""


def _merged(same: list[Anchor]) -> tuple[str, int, int]:
    """Make one link of all that lead to one place: asked to be left only where each of them asks so."""
    flags = [flags_of(anchor.rel) for anchor in same]
    union, common = 0, ~0
    for each in flags:
        union |= each
        common &= each
    text = next((anchor.text for anchor in same if anchor.text), "")
    region = min((anchor.region for anchor in same), key=lambda number: _RANK_OF_REGION[number])
    return text, (union & _PAGINATION) | common, region


def flags_of(rel: str) -> int:
    """Add up the flags of a rel attribute in lower case."""
    flags = 0
    for word in rel.split():
        flags |= _FLAGS.get(word, 0)
    return flags


def _rank(link: _Merged) -> tuple[bool, int]:
    _, _, flags, region = link
    return bool(flags & NOFOLLOW), -1 if flags & _PAGINATION else _RANK_OF_REGION[region]


def _in_parallel(merged: list[_Merged], max_links: int) -> Outlinks:
    if not merged:
        return Outlinks()
    urls, anchors, rels, regions = zip(*merged[:max_links], strict=True)
    return Outlinks(urls, anchors, rels, regions, found=len(merged))
