"""Build the fetch request of a lease: all that the fetcher needs, so it looks nothing up."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, FetchRequested
from strider.politeness import ROBOTS_RETRY, is_sensitive_header, parse_encrypted
from strider.scheduler.core.budgets.limits import NO_AMOUNT, BudgetAmount
from strider.scheduler.core.hosts.robots import REQUESTING_JOB
from strider.urls import host_of, origin_of, registrable_domain

LANGUAGE_HEADER: Final = "Accept-Language"
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


@fast_dataclass(frozen=True, slots=True)
class RequestLease:
    """Lease of a request."""

    lease_id: str
    issued_at_ms: int
    expires_at_ms: int
    shard: int
    epoch: int
    cost_limit: BudgetAmount = NO_AMOUNT
    """Limit of the request, where that is less than its crawl spec allows."""


def build_fetch_request(entry: EntryRecorded, spec: CrawlSpecDeclared, lease: RequestLease) -> FetchRequested:
    """Build the request of an entry, or of a robots.txt."""
    is_robots = entry.kind == RequestKind.ROBOTS
    headers = _headers_of(entry, spec)
    return FetchRequested(
        url=entry.url,
        url_key=entry.url_key,
        origin=origin_of(entry.url),
        group=entry.group,
        job_id=entry.metadata[REQUESTING_JOB] if is_robots else entry.job_id,
        execution_id=entry.execution_id,
        crawl_spec_id=entry.crawl_spec_id,
        fetch_sequence=entry.fetch_sequence,
        lease_id=lease.lease_id,
        try_number=entry.tries + 1,
        issued_at_ms=lease.issued_at_ms,
        lease_expires_at_ms=lease.expires_at_ms,
        kind=entry.kind,
        hop=entry.hop,
        depth=entry.depth,
        priority=entry.priority,
        is_start=entry.is_start,
        referrer=entry.referrer,
        redirect_chain=entry.redirect_chain,
        metadata={} if is_robots else entry.metadata,
        shard=lease.shard,
        epoch=lease.epoch,
        deadline_ms=lease.cost_limit.ms or _timeout_ms(spec, is_robots=is_robots),
        max_body_bytes=lease.cost_limit.bytes or spec.max_body_bytes,
        etag=entry.etag,
        last_modified=entry.last_modified,
        header_names=tuple(headers),
        header_values=tuple(headers.values()),
        user_agent=spec.user_agent,
        cookie_jar=entry.execution_id if spec.use_cookies and not is_robots else "",
        insecure_tls=host_of(entry.url) in spec.insecure_tls_hosts,
        earlier_error=entry.error_class if entry.tries else "",
    )


def _timeout_ms(spec: CrawlSpecDeclared, *, is_robots: bool) -> int:
    """Return the time limit of one request; a robots.txt is small, and all of its host waits for it."""
    seconds = spec.request_timeout_seconds
    return round(1000 * (min(seconds, ROBOTS_RETRY.deadline_seconds) if is_robots else seconds))


def _headers_of(entry: EntryRecorded, spec: CrawlSpecDeclared) -> Mapping[str, str]:
    """Return the headers of a crawl spec that the entry's origin may receive; its own come first."""
    if not (spec.headers or spec.accept_language):
        return NO_HEADERS
    headers = {
        name: value
        for name, value in spec.headers.items()
        if not is_sensitive_header(name) or may_receive(value, entry, spec)
    }
    if spec.accept_language and LANGUAGE_HEADER.lower() not in map(str.lower, headers):
        headers[LANGUAGE_HEADER] = spec.accept_language
    return headers


def may_receive(value: str, entry: EntryRecorded, spec: CrawlSpecDeclared) -> bool:
    """Whether the value of a personal header may be sent to the origin of an entry.

    An encrypted value has the origins that it was given for. A clear one, of a crawl spec that was published
    by another client or an earlier version, is for the hosts and domains that the spec names, with TLS. What
    a link, a redirect or another seed brings in is neither. robots.txt holds for all runs of an origin, and
    is requested without.
    """
    if entry.kind == RequestKind.ROBOTS:
        return False
    encrypted = parse_encrypted(value)
    if encrypted is not None:
        return origin_of(entry.url) in encrypted.origins
    name = host_of(entry.url)
    is_named = name in spec.hosts or registrable_domain(name) in spec.domains
    return is_named and entry.url.startswith("https://")
