"""The rules of a crawl spec, as they are for the pages of one home: a host, a domain, or all there are.

What stands against a URL there does not depend on the page, and the pages of a site link to the
same few hundred URLs again and again: so each verdict is given once and remembered, a bounded
number of them. What a URL is does not depend on the home either, and is remembered for all of them.
Depth, repeats and numbers are the page's, and are not judged here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from strider.contracts.generated.words import DecisionReason
from strider.contracts.identity import key_fingerprint
from strider.urls import as_found, host, key_of, links, url_hash

from .spec_rules import SpecRules

MAX_CACHED_VERDICTS: Final = 100_000
"""About 60 MB when full. Then all are forgotten, which costs each page its links' price once."""

MAX_TEXT_CHARS: Final = 500
"""Of a text that is no URL: enough to find it again."""


class LinkVerdict(NamedTuple):
    """What is thought of one link."""

    url: str
    """As found; of what is no URL, its first characters."""
    key: str
    """Empty for what is no URL."""
    host: str
    fingerprint: int
    """What seen-sets know its key by."""
    reason: str
    """Empty for a link that is welcome."""
    detail: str


@dataclass(slots=True)
class ParsedUrlCache:
    """What all grounds remember together, and how much each one remembers besides."""

    parsed: dict[str, LinkVerdict] = field(default_factory=dict)
    """What a URL is, before any rule: sites link to the same others."""
    used: int = 0


class LinkFilter:
    """Judges links of the pages of one home."""

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
        """Judge URLs as found, from an event; remembers the answers."""
        verdicts = self._verdicts
        if new := [url for url in urls if url not in verdicts]:
            met = self._cache.parsed
            if strange := [url for url in new if url not in met]:
                met.update(zip(strange, self._parse(None, strange), strict=True))
            verdicts.update((url, self._judge(met[url])) for url in new)
            self._cache.used += len(new)
        return [verdicts[url] for url in urls]

    def judge_texts(self, page_url: str, texts: Sequence[str]) -> Sequence[LinkVerdict]:
        """Judge what stands in a page's head, or in a list; may be relative to the page."""
        return [*map(self._judge, self._parse(page_url, texts))]

    def _parse(self, base: str | None, texts: Sequence[str]) -> list[LinkVerdict]:
        """Say what each text is; no rule stands against it yet."""
        found = links(base, texts, allow_private=self._allow_private)
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
        is_at_home = self._in_scope.get(url_host)
        if is_at_home is None:
            is_at_home = self._in_scope[url_host] = self._scope.is_at_home(url_host)
        if not is_at_home:
            return DecisionReason.OUT_OF_SCOPE, url_host
        return self.rules.refusal(url, self._scope)


def _refused(text: str, reason: str, detail: str) -> LinkVerdict:
    """Tell what may not be followed: a URL to a forbidden place by its key, so that it is found again."""
    found = as_found(text) if reason == DecisionReason.POLICY_BLOCKED else None
    if isinstance(found, str):
        return LinkVerdict(found, url_hash(key_of(found)), host(found), 0, reason, detail)
    return LinkVerdict(text[:MAX_TEXT_CHARS], "", "", 0, reason, detail)


class LinkFilters:
    """The grounds that pages came from of late."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._by_host: dict[tuple[str, str], LinkFilter] = {}
        """By spec and host of the page."""
        self._by_scope: dict[tuple[str, str], LinkFilter] = {}
        self._cache = ParsedUrlCache()

    def filter_for(self, page_url: str, rules: SpecRules) -> LinkFilter:
        """Give the ground of a page."""
        memory, name = self._cache, (rules.spec.crawl_spec_id, host(page_url))
        if memory.used > MAX_CACHED_VERDICTS:
            self._by_host.clear()
            self._by_scope.clear()
            memory.parsed.clear()
            memory.used = 0
        ground = self._by_host.get(name)
        if ground is None:
            memory.used += 1
            ground = self._by_host[name] = self._shared_filter(rules, name[1])
        return ground

    def _shared_filter(self, rules: SpecRules, page_host: str) -> LinkFilter:
        """Give the ground of all hosts whose links are judged alike."""
        name = (rules.spec.crawl_spec_id, rules.scope_key(page_host))
        ground = self._by_scope.get(name)
        if ground is None:
            ground = LinkFilter(rules, page_host, cache=self._cache, allow_private=self._allow_private)
            self._by_scope[name] = ground
        return ground
