"""Decide which links of a page are candidates for the frontier.

Takes all links of a page and the filter of its host; returns candidates, refusals with their reasons, and the
number of repeats. Some objections apply only to links that are new: a page that is too deep links to its home
page like all others, and that link is not refused. Such an objection travels with the candidate until the
seen-set was queried. Knows nothing of shards and stores.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.events import PageParsed
from strider.urls.refusals import NO_PAGE

from .link_filter import LinkFilter, LinkVerdict
from .page_links import NOFOLLOW_FLAG, LinkSource, link_sources
from .spec_rules import SpecRules
from .traps import Closed, closed_template


@dataclass(slots=True)
class Refusals:
    """Refused links with reasons: parallel lists, up to a limit; the rest is only counted."""

    limit: int
    urls: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, url: str, key: str, reason: str, detail: str = "") -> None:
        """Refuse a link; an empty key means that it is not a URL."""
        self.count += 1
        if len(self.urls) < self.limit:
            self.urls.append(url)
            self.keys.append(key)
            self.reasons.append(reason)
            self.details.append(detail)

    @property
    def not_listed(self) -> int:
        """Number of refusals beyond the limit."""
        return self.count - len(self.urls)


@dataclass(slots=True)
class LinkCandidates:
    """Links of one page and one source: parallel lists."""

    via: str
    links: list[LinkVerdict] = field(default_factory=list)
    objections: list[str] = field(default_factory=list)
    """The objection to each link if it is new; empty for a link that may be followed."""
    kinds: list[str] = field(default_factory=list)
    lastmods_ms: list[int] = field(default_factory=list)

    @property
    def urls(self) -> list[str]:
        """In wire form."""
        return [link.url for link in self.links]


@fast_dataclass(frozen=True, slots=True)
class LinkAdmission:
    """Result for all links of a page."""

    depth: int
    """Of the links: one more than the page's own."""
    candidates: list[LinkCandidates]
    refusals: Refusals
    found: int
    """Number of links."""
    repeated: int
    """How many of them repeat an earlier link of the page, or the page itself."""


def admit_links(
    page: PageParsed,
    link_filter: LinkFilter,
    *,
    listed: int,
    feeds: bool = False,
    closed: Closed = MappingProxyType({}),
) -> LinkAdmission:
    """Filter all links of a page; at most `listed` refusals are listed one by one.

    `feeds`: whether feeds of start pages are links in every crawl, and not only where its spec uses feeds.
    `closed` has the URL templates by host whose new links are refused.
    """
    source_filter = _SourceFilter(page, link_filter, listed=listed, closed=closed)
    spec = link_filter.rules.spec
    sources = link_sources(page, feeds=feeds or spec.use_feeds, sitemaps=spec.use_sitemaps)
    candidates = [source_filter.filter(source) for source in sources]
    offered = sum(len(source.urls) for source in sources)
    return LinkAdmission(
        depth=page.depth + 1,
        candidates=[each for each in candidates if each.links],
        refusals=source_filter.refusals,
        found=offered + max(0, page.links_dropped),
        repeated=source_filter.repeated,
    )


class _SourceFilter:
    """Filters the links of one page, without repeats."""

    def __init__(self, page: PageParsed, link_filter: LinkFilter, *, listed: int, closed: Closed) -> None:
        self._page = page
        self._closed = closed
        self._filter = link_filter
        self._page_objection = _page_objection_of(page, link_filter.rules)
        self._page_keys = {page.url_key}
        self.refusals = Refusals(listed)
        self.repeated = 0

    def filter(self, source: LinkSource) -> LinkCandidates:
        """Filter the links of one source."""
        link_filter, page_keys = self._filter, self._page_keys
        judge = (
            link_filter.judge_wire_urls
            if source.is_wire_form
            else partial(link_filter.judge_texts, self._page.url)
        )
        candidates, kept = LinkCandidates(source.via), []
        for at, link in enumerate(judge(source.urls)):
            url, key, _, _, reason, detail = link
            if key in page_keys:
                self.repeated += 1
                continue
            if key:
                page_keys.add(key)
            if not reason:
                kept.append(at)
                candidates.links.append(link)
            elif detail != NO_PAGE:  # mailto: and similar schemes lead to no document: nothing to refuse.
                self.refusals.add(url, key, reason, detail)
        candidates.objections = self._objections(source, kept)
        if self._closed:
            self._suspect_traps(candidates)
        if source.kinds:
            candidates.kinds = [source.kinds[at] for at in kept]
        if source.lastmods_ms:
            candidates.lastmods_ms = [source.lastmods_ms[at] for at in kept]
        return candidates

    def _suspect_traps(self, candidates: LinkCandidates) -> None:
        """Object to links of closed templates, unless there is an objection already."""
        objections = candidates.objections
        for at, link in enumerate(candidates.links):
            closed = self._closed.get(link.host)
            if closed and not objections[at] and closed_template(link.url, closed):
                objections[at] = DecisionReason.TRAP_SUSPECTED

    def _objections(self, source: LinkSource, kept: list[int]) -> list[str]:
        spec, objection, count = self._filter.rules.spec, self._page_objection, len(kept)
        if source.is_declared:
            common = "" if objection == DecisionReason.NOFOLLOW else objection
            most = count if source.max_links is None or common else source.max_links
            return [common] * min(count, most) + [DecisionReason.TOO_MANY_LINKS] * (count - most)
        objections = [objection] * count
        if objection:
            return objections
        if spec.respect_nofollow and any(source.rels):
            objections = [DecisionReason.NOFOLLOW if source.rels[at] & NOFOLLOW_FLAG else "" for at in kept]
        most = spec.max_links_per_page
        return objections[:most] + [DecisionReason.TOO_MANY_LINKS] * (count - most)


def _page_objection_of(page: PageParsed, rules: SpecRules) -> str:
    """Return the objection to all new links of a page."""
    if rules.barrier:
        return rules.barrier
    if page.depth >= rules.spec.max_depth:
        return DecisionReason.TOO_DEEP
    return DecisionReason.NOFOLLOW if page.nofollow and rules.spec.respect_nofollow else ""
