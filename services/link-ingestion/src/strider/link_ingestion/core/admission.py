"""Which links of a page are worth the frontier?

Takes what a page offers and the ground that it stands on, a whole page at once; returns candidates,
refusals with their words, and how many were repeats. Some words stand only against what is new: a
page too deep to be followed links to its home page like all others, and that was never refused.
They travel with the candidate until the seen-set was asked. Knows nothing of shards and stores.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.words import DecisionReason
from strider.contracts.making import swift
from strider.urls.refusals import NO_PAGE

from .link_filter import LinkFilter, LinkVerdict
from .page_links import NOFOLLOW_FLAG, LinkSource, link_sources
from .spec_rules import SpecRules


@dataclass(slots=True)
class Refusals:
    """Links that go no further, and why: parallel lists, up to a limit; the rest is only counted."""

    limit: int
    urls: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, url: str, key: str, reason: str, detail: str = "") -> None:
        """Refuse a link; an empty key says that it is no URL."""
        self.count += 1
        if len(self.urls) < self.limit:
            self.urls.append(url)
            self.keys.append(key)
            self.reasons.append(reason)
            self.details.append(detail)

    @property
    def not_listed(self) -> int:
        """How many were refused beyond the limit."""
        return self.count - len(self.urls)


@dataclass(slots=True)
class LinkCandidates:
    """Links of one page that came by one way: parallel lists."""

    via: str
    links: list[LinkVerdict] = field(default_factory=list)
    objections: list[str] = field(default_factory=list)
    """The word that stands against each one if it is new; empty for what may be followed."""
    kinds: list[str] = field(default_factory=list)
    lastmods_ms: list[int] = field(default_factory=list)

    @property
    def urls(self) -> list[str]:
        """As found."""
        return [link.url for link in self.links]


@swift(frozen=True, slots=True)
class LinkAdmission:
    """What came of a page's links."""

    depth: int
    """Of the links: one more than the page's own."""
    candidates: list[LinkCandidates]
    refusals: Refusals
    found: int
    """How many links there were."""
    repeated: int
    """How many of them the page had named before, or lead to itself."""


def admit_links(page: PageParsed, ground: LinkFilter, *, listed: int, feeds: bool = False) -> LinkAdmission:
    """Judge all links of a page; at most `listed` refusals are told one by one."""
    looker = _SourceFilter(page, ground, listed=listed)
    sources = link_sources(page, feeds=feeds)
    candidates = [looker.filter(source) for source in sources]
    offered = sum(len(source.urls) for source in sources)
    return LinkAdmission(
        depth=page.depth + 1,
        candidates=[each for each in candidates if each.links],
        refusals=looker.refusals,
        found=offered + max(0, page.links_dropped),
        repeated=looker.repeated,
    )


class _SourceFilter:
    """Looks at the links of one page, and remembers which it has met."""

    def __init__(self, page: PageParsed, ground: LinkFilter, *, listed: int) -> None:
        self._page = page
        self._ground = ground
        self._page_objection = _page_objection_of(page, ground.rules)
        self._page_keys = {page.url_key}
        self.refusals = Refusals(listed)
        self.repeated = 0

    def filter(self, source: LinkSource) -> LinkCandidates:
        """Judge the links that came by one way."""
        ground, met = self._ground, self._page_keys
        judge = ground.judge_wire_urls if source.is_wire_form else partial(ground.judge_texts, self._page.url)
        taken, kept = LinkCandidates(source.via), []
        for at, link in enumerate(judge(source.urls)):
            url, key, _, _, reason, detail = link
            if key in met:
                self.repeated += 1
                continue
            if key:
                met.add(key)
            if not reason:
                kept.append(at)
                taken.links.append(link)
            elif detail != NO_PAGE:  # mailto and its like lead to no document: there is nothing to tell
                self.refusals.add(url, key, reason, detail)
        taken.objections = self._objections(source, kept)
        if source.kinds:
            taken.kinds = [source.kinds[at] for at in kept]
        if source.lastmods_ms:
            taken.lastmods_ms = [source.lastmods_ms[at] for at in kept]
        return taken

    def _objections(self, source: LinkSource, kept: list[int]) -> list[str]:
        spec, doubt, count = self._ground.rules.spec, self._page_objection, len(kept)
        if source.is_declared:
            return ["" if doubt == DecisionReason.NOFOLLOW else doubt] * count
        doubts = [doubt] * count
        if doubt:
            return doubts
        if spec.respect_nofollow and any(source.rels):
            doubts = [DecisionReason.NOFOLLOW if source.rels[at] & NOFOLLOW_FLAG else "" for at in kept]
        most = spec.max_links_per_page
        return doubts[:most] + [DecisionReason.TOO_MANY_LINKS] * (count - most)


def _page_objection_of(page: PageParsed, rules: SpecRules) -> str:
    """Give the word that stands against all new links of a page."""
    if rules.barrier:
        return rules.barrier
    if page.depth >= rules.spec.max_depth:
        return DecisionReason.TOO_DEEP
    return DecisionReason.NOFOLLOW if page.nofollow and rules.spec.respect_nofollow else ""
