"""Does a URL belong to this crawl?

Hosts, domains and paths first, then what people asked for and asked to leave out. Takes URLs as
found; knows nothing of depth, budgets and of what was seen before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from .hosts import host_of, registrable_domain
from .patterns import NO_PATTERNS, InvalidPattern, UrlPatterns, compile_patterns
from .refusals import RefusedUrl
from .url_key import key_rest
from .wire_url import path_start, to_wire_url

HOST: Final = "host"
DOMAIN: Final = "domain"
ANY: Final = "any"
LISTED: Final = "listed"
SCOPE_KINDS: Final = (HOST, DOMAIN, ANY, LISTED)
"""The words of `scope` in the contracts."""

OUT_OF_SCOPE: Final = "out_of_scope"
"""Another host, domain or path than the crawl's."""
NOT_INCLUDED: Final = "not_included"
"""There are patterns for what is wanted, and none fits."""
EXCLUDED: Final = "excluded"
"""A pattern for what is not wanted fits; it wins over those for what is."""
SCOPE_REASONS: Final = (OUT_OF_SCOPE, NOT_INCLUDED, EXCLUDED)


@dataclass(frozen=True, slots=True)
class CrawlScope:
    """The bounds of one crawl. Scheme and port do not matter to them."""

    is_unbounded: bool = False
    hosts: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    path_prefixes: tuple[str, ...] = ()
    """Folders in their normal form, with a slash at the end; none: every path."""
    include: UrlPatterns = NO_PATTERNS
    exclude: UrlPatterns = NO_PATTERNS

    def refusal_reason(self, url: str, url_host: str | None = None) -> str:
        """Give the word for why a URL stays out, or an empty one; `links` knows the host already."""
        if not self.includes_host(host_of(url) if url_host is None else url_host):
            return OUT_OF_SCOPE
        return self.path_refusal_reason(url)

    def path_refusal_reason(self, url: str) -> str:
        """Give the word for why a URL stays out whose host is in scope: its path, or a pattern."""
        if self.path_prefixes and not normal_folder(url[path_start(url) :]).startswith(self.path_prefixes):
            return OUT_OF_SCOPE
        if self.exclude.matches(url):
            return EXCLUDED
        return NOT_INCLUDED if self.include.texts and not self.include.matches(url) else ""

    @property
    def is_by_host_only(self) -> bool:
        """Whether nothing but the host matters: then a page's links need one look a host."""
        return not (self.path_prefixes or self.include.texts or self.exclude.texts)

    def includes_host(self, url_host: str) -> bool:
        """Say whether a host is in scope."""
        if self.is_unbounded or url_host in self.hosts:
            return True
        return bool(self.domains) and registrable_domain(url_host) in self.domains

    def with_seed(self, kind: str, url: str) -> CrawlScope:
        """Give the scope that a seed, as found, adds its host or its domain to."""
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
    """Bound a crawl; a seed, name or pattern that cannot be read is what comes back."""
    if kind not in SCOPE_KINDS:
        return InvalidPattern(kind, f"a scope is one of {', '.join(SCOPE_KINDS)}")
    wanted, unwanted = compile_patterns(include), compile_patterns(exclude)
    for patterns in (wanted, unwanted):
        if isinstance(patterns, InvalidPattern):
            return patterns
    assert isinstance(wanted, UrlPatterns)
    assert isinstance(unwanted, UrlPatterns)
    scope = CrawlScope(
        is_unbounded=kind == ANY,
        path_prefixes=tuple(sorted({normal_folder(prefix) for prefix in path_prefixes})),
        include=wanted,
        exclude=unwanted,
    )
    for texts, how in ((seeds, kind), (map(_as_url, hosts), HOST), (map(_as_url, domains), DOMAIN)):
        for text in texts:
            found = to_wire_url(text)
            if isinstance(found, RefusedUrl):
                return found
            scope = scope.with_seed(how, found)
    return scope


def normal_folder(path: str) -> str:
    """Give a path in its normal form, without query and with a slash at its end: `/docs` begins `/docs/a`."""
    return key_rest("/" + path.partition("?")[0].lstrip("/"), drop_slash=True).rstrip("/") + "/"


def _as_url(name: str) -> str:
    return f"http://{name}/"
