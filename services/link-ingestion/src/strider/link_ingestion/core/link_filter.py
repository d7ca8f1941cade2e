"""Filters for links by the rules of a crawl spec, with cached verdicts.

A verdict does not depend on the page but on its host, or its domain, or the spec alone, and the pages of a
site link to the same few hundred URLs again and again: so each verdict is computed once and cached, a bounded
number of them. The parsed form of a URL does not depend on the host either, and is cached for all filters.
Depth, repeats and counts belong to the page, and are not judged here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from strider.contracts.generated.enums import DecisionReason
from strider.contracts.ids import key_fingerprint
from strider.urls import host_of, resolve_links, to_wire_url, url_hash, url_key_of
from strider.urls.templates import repeated_path_fault

from .spec_rules import SpecRules

MAX_CACHED_VERDICTS: Final = 100_000
"""About 60 MB when full. Then the cache is cleared, which costs each page the judging of its links once."""

MAX_TEXT_CHARS: Final = 500
"""Of a text that is not a URL: enough to find it again."""


class LinkVerdict(NamedTuple):
    """The verdict on one link."""

    url: str
    """In wire form; of a text that is not a URL, its first characters."""
    key: str
    """Empty for a text that is not a URL."""
    host: str
    fingerprint: int
    """Its key as in seen-sets."""
    reason: str
    """Empty for an accepted link."""
    detail: str


@dataclass(slots=True)
class ParsedUrlCache:
    """Parsed URLs that all filters share, and the number of cached verdicts."""

    parsed: dict[str, LinkVerdict] = field(default_factory=dict)
    """A URL before any rule: sites link to the same other sites."""
    used: int = 0


class LinkFilter:
    """Judges the links of pages with one scope."""

    def __init__(
        self, rules: SpecRules, page_host: str, *, cache: ParsedUrlCache, allow_private: bool
    ) -> None:
        self.rules = rules
        self._cache = cache
        self._verdicts: dict[str, LinkVerdict] = {}
        self._allow_private = allow_private
        self._scope = rules.scope_at(page_host)
        self._in_scope: dict[str, bool] = {}

    def judge_wire_urls(self, urls: Sequence[str]) -> Sequence[LinkVerdict]:
        """Judge URLs in wire form, from an event; cached."""
        verdicts = self._verdicts
        if new := [url for url in urls if url not in verdicts]:
            parsed = self._cache.parsed
            if unparsed := [url for url in new if url not in parsed]:
                parsed.update(zip(unparsed, self._parse(None, unparsed), strict=True))
            verdicts.update((url, self._judge(parsed[url])) for url in new)
            self._cache.used += len(new)
        return [verdicts[url] for url in urls]

    def judge_texts(self, page_url: str, texts: Sequence[str]) -> Sequence[LinkVerdict]:
        """Judge texts of a page's head or of a list; they may be relative to the page."""
        return [*map(self._judge, self._parse(page_url, texts))]

    def _parse(self, base: str | None, texts: Sequence[str]) -> list[LinkVerdict]:
        """Parse each text; no rule is applied yet."""
        found = resolve_links(base, texts, allow_private=self._allow_private)
        return [
            LinkVerdict(url, key := url_hash(normal), url_host, key_fingerprint(key), "", "")
            if normal
            else _refused(text, reason, detail)
            for text, url, normal, url_host, reason, detail in zip(texts, *found, strict=True)
        ]

    def _judge(self, read: LinkVerdict) -> LinkVerdict:
        if read.reason:
            return read
        against, why = self._refusal(read.url, read.host)
        return read._replace(reason=against, detail=why) if against else read

    def _refusal(self, url: str, url_host: str) -> tuple[str, str]:
        is_in_scope = self._in_scope.get(url_host)
        if is_in_scope is None:
            is_in_scope = self._in_scope[url_host] = self._scope.includes_host(url_host)
        if not is_in_scope:
            return DecisionReason.OUT_OF_SCOPE, url_host
        if fault := repeated_path_fault(url):
            return DecisionReason.TRAP_SUSPECTED, fault
        return self.rules.refusal(url, self._scope)


def _refused(text: str, reason: str, detail: str) -> LinkVerdict:
    """Return the verdict on a link that may not be followed; a URL to a forbidden address keeps its key."""
    found = to_wire_url(text) if reason == DecisionReason.POLICY_BLOCKED else None
    if isinstance(found, str):
        return LinkVerdict(found, url_hash(url_key_of(found)), host_of(found), 0, reason, detail)
    return LinkVerdict(text[:MAX_TEXT_CHARS], "", "", 0, reason, detail)


class LinkFilters:
    """The filters of recent pages."""

    def __init__(self, *, allow_private: bool, max_verdicts: int = MAX_CACHED_VERDICTS) -> None:
        self._allow_private = allow_private
        self._max_verdicts = max_verdicts
        self._by_host: dict[tuple[str, str], LinkFilter] = {}
        """By spec and host of the page."""
        self._by_scope: dict[tuple[str, str], LinkFilter] = {}
        self._cache = ParsedUrlCache()

    def filter_for(self, page_url: str, rules: SpecRules) -> LinkFilter:
        """Return the filter for a page."""
        cache, name = self._cache, (rules.spec.crawl_spec_id, host_of(page_url))
        if cache.used > self._max_verdicts:
            self._by_host.clear()
            self._by_scope.clear()
            cache.parsed.clear()
            cache.used = 0
        link_filter = self._by_host.get(name)
        if link_filter is None:
            cache.used += 1
            link_filter = self._by_host[name] = self._shared_filter(rules, name[1])
        return link_filter

    def _shared_filter(self, rules: SpecRules, page_host: str) -> LinkFilter:
        """Return the filter of all hosts with the same scope."""
        name = (rules.spec.crawl_spec_id, rules.scope_key(page_host))
        link_filter = self._by_scope.get(name)
        if link_filter is None:
            link_filter = LinkFilter(rules, page_host, cache=self._cache, allow_private=self._allow_private)
            self._by_scope[name] = link_filter
        return link_filter
