"""Scope of a crawl: hosts, domains, path prefixes, include and exclude patterns.

Takes wire URLs. Must not know depth, budgets, or which URLs were seen before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from strider.contracts.partitioning import registrable_domain

from .hosts import host_of
from .patterns import NO_PATTERNS, InvalidPattern, UrlPatterns, compile_patterns
from .refusals import RefusedUrl
from .url_key import key_rest
from .wire_url import path_start, to_wire_url

HOST: Final = "host"
DOMAIN: Final = "domain"
ANY: Final = "any"
LISTED: Final = "listed"
SCOPE_KINDS: Final = (HOST, DOMAIN, ANY, LISTED)
"""The values of `scope` in the contracts."""

OUT_OF_SCOPE: Final = "out_of_scope"
"""Another host, domain or path than the crawl's."""
NOT_INCLUDED: Final = "not_included"
"""There are include patterns, and none matches."""
EXCLUDED: Final = "excluded"
"""An exclude pattern matches; it wins over include patterns."""
SCOPE_REASONS: Final = (OUT_OF_SCOPE, NOT_INCLUDED, EXCLUDED)


@dataclass(frozen=True, slots=True)
class CrawlScope:
    """Bounds of one crawl; scheme and port do not matter."""

    is_unbounded: bool = False
    hosts: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    path_prefixes: tuple[str, ...] = ()
    """Folders in normal form with a trailing slash; empty: every path."""
    include: UrlPatterns = NO_PATTERNS
    exclude: UrlPatterns = NO_PATTERNS

    def refusal_reason(self, url: str, url_host: str | None = None) -> str:
        """Return why a URL is out of scope, or an empty text; `url_host` saves computing the host."""
        if not self.includes_host(host_of(url) if url_host is None else url_host):
            return OUT_OF_SCOPE
        return self.path_refusal_reason(url)

    def path_refusal_reason(self, url: str) -> str:
        """Return the reason why a URL on a host in scope is out of scope by path or pattern."""
        if self.path_prefixes and not normal_folder(url[path_start(url) :]).startswith(self.path_prefixes):
            return OUT_OF_SCOPE
        if self.exclude.matches(url):
            return EXCLUDED
        return NOT_INCLUDED if self.include.texts and not self.include.matches(url) else ""

    @property
    def is_by_host_only(self) -> bool:
        """Whether only the host matters, so that the links of a page need one check per host."""
        return not (self.path_prefixes or self.include.texts or self.exclude.texts)

    @property
    def pattern_size(self) -> int:
        """Number of instructions of the patterns: the work of a match for each byte of a URL."""
        return self.include.size + self.exclude.size

    def includes_host(self, url_host: str) -> bool:
        """Whether a host is in scope."""
        if self.is_unbounded or url_host in self.hosts:
            return True
        return bool(self.domains) and registrable_domain(url_host) in self.domains

    def with_seed(self, kind: str, url: str) -> CrawlScope:
        """Return the scope extended by the host or domain of a seed's wire URL."""
        if kind == HOST:
            return replace(self, hosts=self.hosts | {host_of(url)})
        if kind == DOMAIN:
            return replace(self, domains=self.domains | {registrable_domain(host_of(url))})
        return self


def build_scope(
    kind: str,
    seeds: Iterable[str] = (),
    *,
    hosts: Iterable[str] = (),
    domains: Iterable[str] = (),
    path_prefixes: Iterable[str] = (),
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
) -> CrawlScope | InvalidPattern | RefusedUrl:
    """Build a scope; returns the first seed, name or pattern that is invalid where there is any."""
    if kind not in SCOPE_KINDS:
        return InvalidPattern(kind, f"unknown scope; allowed: {', '.join(SCOPE_KINDS)}", "scope")
    patterns = compile_patterns(include, exclude)
    if isinstance(patterns, InvalidPattern):
        return patterns
    scope = CrawlScope(
        is_unbounded=kind == ANY,
        path_prefixes=tuple(sorted({normal_folder(prefix) for prefix in path_prefixes})),
        include=patterns.include,
        exclude=patterns.exclude,
    )
    for texts, how in ((seeds, kind), (map(_as_url, hosts), HOST), (map(_as_url, domains), DOMAIN)):
        for text in texts:
            found = to_wire_url(text)
            if isinstance(found, RefusedUrl):
                return found
            scope = scope.with_seed(how, found)
    return scope


def normal_folder(path: str) -> str:
    """Normalize a path, without query and with a trailing slash: `/docs` is a prefix of `/docs/a`."""
    return key_rest("/" + path.partition("?")[0].lstrip("/"), drop_slash=True).rstrip("/") + "/"


def _as_url(name: str) -> str:
    return f"http://{name}/"
