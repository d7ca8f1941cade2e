"""Check what a crawl spec names: hosts, domains and patterns of URLs.

An invalid one would make a scope that nothing is in, or that the sender does not expect. Pure.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.partitioning import registrable_domain

from .hosts import host_of
from .patterns import InvalidPattern, compile_patterns
from .refusals import RefusedUrl
from .wire_url import to_wire_url

_HOST_FIELDS: Final = ("hosts", "domains", "insecure_tls_hosts")
_SHOWN_CHARS: Final = 80


def spec_scope_fault(spec: CrawlSpecDeclared) -> str:
    """Return the first name or pattern of a spec that is invalid, with its field; empty for none."""
    for field in _HOST_FIELDS:
        for name in getattr(spec, field):
            if fault := _host_fault(name, is_domain=field == "domains"):
                return f"{field} is {name[:_SHOWN_CHARS]!r}, {fault}"
    patterns = compile_patterns(spec.include, spec.exclude)
    return patterns.sentence() if isinstance(patterns, InvalidPattern) else ""


def _host_fault(name: str, *, is_domain: bool) -> str:
    if "*" in name:
        return "expected the name of one host; `domains` has all hosts of a domain"
    found = to_wire_url(f"http://{name}/")
    host = "" if isinstance(found, RefusedUrl) else host_of(found)
    if not host or found != f"http://{host}/" or "@" in name:
        return "expected the name of a host, without scheme, port and path"
    if host != name:
        return f"expected {host!r}: the name in lower case, as it is in URLs"
    if is_domain and (domain := registrable_domain(host)) != host:
        return f"expected a registrable domain, such as {domain!r}"
    return ""
