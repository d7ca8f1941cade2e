"""The rules of one crawl spec, compiled once and applied to every link.

Compiles the spec (patterns, lists, limits) and returns the reason against a URL in wire form. Knows nothing
of pages: depth, repeats and the seen-set belong to `admission` and `dedup`.

File extensions are refused here, too, unless a crawl spec lists its own. An extension is only a hint, and
many a page is named like a file (`/wiki/Node.js`); so only types are refused that no parser reads and that
nearly always are what they claim.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.events import CrawlSpecDeclared, PageParsed
from strider.urls import (
    MAX_URL_BYTES,
    CrawlScope,
    InvalidPattern,
    RefusedUrl,
    build_scope,
    file_extension,
    registrable_domain,
)
from strider.urls.scope import DOMAIN, HOST

_REFUSED: Final = (
    # images
    "apng avif bmp cur eps gif heic ico jp2 jpeg jpg jxl png psd raw svg svgz tif tiff webp",
    # video and audio
    "3gp avi flv m3u8 m4v mkv mov mp4 mpeg mpg ogv vob webm wmv",
    "aac aif aiff flac m3u m4a mid midi mp3 oga ogg opus wav weba wma",
    # parts of pages
    "css less sass scss cjs js jsx mjs wasm eot otf ttf woff woff2",
    # archives and programs
    "7z bz2 cab gz iso jar lz lz4 lzma rar tar tbz tbz2 tgz txz war xz z zip zst",
    "apk bin deb dll dmg exe img ipa msi msix pkg rpm",
    # documents and data without a parser; PDF is left to the parser
    "djvu doc docm docx epub mobi odp ods odt ppt pptm pptx ps rtf xls xlsm xlsx",
    "avro db parquet sqlite",
)


@cache
def default_refused_endings() -> frozenset[str]:
    """Return the default extensions, in lower case and without their dot."""
    return frozenset(ending for line in _REFUSED for ending in line.split())


def refused_endings(wanted: Iterable[str]) -> frozenset[str]:
    """Return the extensions of a spec, however spelt (`.PDF`, `pdf`), or the default ones."""
    return frozenset(ending.strip().lstrip(".").lower() for ending in wanted) or default_refused_endings()


_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_ENDING_CHARACTERS: Final = 9
"""An extension with its dot is searched in so many last characters of a URL."""

_PAGE_ENDINGS: Final = frozenset({"html", "htm", "php", "asp", "aspx", "jsp"})

_NOTHING: Final = ("", "")

UNKNOWN: Final = CrawlSpecDeclared(crawl_spec_id="", scope="any")
"""Stands for a spec that was never published: URLs are parsed, and none is accepted."""


@dataclass(frozen=True, slots=True, eq=False)
class SpecRules:
    """A compiled crawl spec."""

    spec: CrawlSpecDeclared
    scope: CrawlScope
    """Without the page's own host: `scope_at` adds it."""
    schemes: frozenset[str]
    ports: frozenset[int]
    refused_endings: frozenset[str]
    harmless_endings: frozenset[str] = frozenset()
    is_plain: bool = False
    """Whether only hosts and extensions matter."""
    barrier: str = ""
    """A reason against every link of the spec; empty for a usable spec."""
    barrier_detail: str = ""

    def scope_key(self, page_host: str) -> str:
        """Return what the scope depends on for pages of a host: hosts with the same key share a filter."""
        kind = self.spec.scope
        if kind == HOST:
            return page_host
        return registrable_domain(page_host) if kind == DOMAIN else ""

    def scope_at(self, page_host: str) -> CrawlScope:
        """Return the scope for the links of a page on this host."""
        return self.scope.with_seed(self.spec.scope, f"http://{page_host}/")

    def match_steps(self, page: PageParsed) -> int:
        """Return the work of matching the patterns with all links of a page, at most."""
        size = self.scope.pattern_size
        return size and size * sum(map(len, (*page.link_urls, *page.entry_urls)))

    def refusal(self, found: str, scope: CrawlScope) -> tuple[str, str]:
        """Return the reason against a URL whose host is in scope, and its detail; empty for none."""
        spec = self.spec
        if self.is_plain and "?" not in found:
            # Most specs restrict hosts only, and most links end in nothing or in `html`: one look suffices.
            dot = found.rfind(".", -_ENDING_CHARACTERS)
            if dot < 0 or found[dot + 1 :] in self.harmless_endings:
                return _NOTHING
        if len(found) > spec.max_url_bytes:
            return DecisionReason.URL_TOO_LONG, f"{len(found)} bytes, the limit is {spec.max_url_bytes}"
        if (self.schemes or self.ports) and (refusal := self._address_refusal(found))[0]:
            return refusal
        if not scope.is_by_host_only and (word := scope.path_refusal_reason(found)):
            return word, ""
        if (kind := file_extension(found)) in self.refused_endings:
            return DecisionReason.REFUSED_FILE_TYPE, kind
        return _NOTHING

    def _address_refusal(self, found: str) -> tuple[str, str]:
        scheme, port = found.partition(":")[0], effective_port(found)
        if self.schemes and scheme not in self.schemes:
            return DecisionReason.REFUSED_SCHEME, scheme
        if self.ports and port not in self.ports:
            return DecisionReason.REFUSED_PORT, str(port)
        return _NOTHING


def compile_rules(spec: CrawlSpecDeclared) -> SpecRules:
    """Compile a spec; an invalid one accepts nothing, with the reason."""
    scope = build_scope(
        spec.scope,
        hosts=spec.hosts,
        domains=spec.domains,
        path_prefixes=spec.path_prefixes,
        include=spec.include,
        exclude=spec.exclude,
    )
    barrier = detail = ""
    if isinstance(scope, InvalidPattern | RefusedUrl):
        fault = scope.sentence() if isinstance(scope, InvalidPattern) else scope.detail
        barrier, detail = DecisionReason.UNKNOWN_SPEC, f"the crawl spec cannot be used: {fault}"
        scope = CrawlScope(is_unbounded=True)
    endings = refused_endings(spec.refused_file_types)
    is_plain = (
        scope.is_by_host_only
        and not (spec.schemes or spec.allowed_ports)
        and spec.max_url_bytes >= MAX_URL_BYTES
        and max(map(len, endings)) < _ENDING_CHARACTERS
    )
    return SpecRules(
        spec=spec,
        scope=scope,
        schemes=frozenset(scheme.lower() for scheme in spec.schemes),
        ports=frozenset(spec.allowed_ports),
        refused_endings=endings,
        harmless_endings=_PAGE_ENDINGS - endings,
        is_plain=is_plain,
        barrier=barrier,
        barrier_detail=detail,
    )


def unknown_rules() -> SpecRules:
    """Return the rules for links whose spec does not exist."""
    return SpecRules(
        spec=UNKNOWN,
        scope=CrawlScope(is_unbounded=True),
        schemes=frozenset(),
        ports=frozenset(),
        refused_endings=frozenset(),
        barrier=DecisionReason.UNKNOWN_SPEC,
    )


def effective_port(found: str) -> int:
    """Return the port of a URL in wire form."""
    scheme, _, rest = found.partition("://")
    _, colon, port = rest.partition("/")[0].rpartition(":")
    return int(port) if colon and port.isdigit() else _DEFAULT_PORTS[scheme]
