"""From a lease to the request that the fetcher makes: everything that it needs, and nothing to look up."""

from __future__ import annotations

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import RequestKind, Scope
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, FetchRequested
from strider.politeness import is_sensitive_header
from strider.scheduler.core.budgets.limits import NOTHING, BudgetAmount
from strider.scheduler.core.hosts.robots import REQUESTING_JOB
from strider.urls import host_of, origin_of, registrable_domain


@fast_dataclass(frozen=True, slots=True)
class RequestLease:
    """The lease that a request stands under."""

    lease_id: str
    issued_at_ms: int
    expires_at_ms: int
    shard: int
    epoch: int
    amount: BudgetAmount = NOTHING
    """What it may cost, where that is less than the crawl spec allows."""


def fetch_request(entry: EntryRecorded, spec: CrawlSpecDeclared, lease: RequestLease) -> FetchRequested:
    """Make the request for an entry, or for the robots.txt that goes before one."""
    is_robots = entry.kind == RequestKind.ROBOTS
    names = _header_names(entry, spec)
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
        deadline_ms=lease.amount.ms or round(spec.request_timeout_seconds * 1000),
        max_body_bytes=lease.amount.bytes or spec.max_body_bytes,
        etag=entry.etag,
        last_modified=entry.last_modified,
        header_names=names,
        header_values=tuple(spec.headers[name] for name in names),
        user_agent=spec.user_agent,
        cookie_jar=entry.execution_id if spec.use_cookies and not is_robots else "",
        insecure_tls=host_of(entry.url) in spec.insecure_tls_hosts,
        earlier_error=entry.error_class if entry.tries else "",
    )


def _header_names(entry: EntryRecorded, spec: CrawlSpecDeclared) -> tuple[str, ...]:
    if is_at_home(entry, spec):
        return tuple(spec.headers)
    return tuple(name for name in spec.headers if not is_sensitive_header(name))


def is_at_home(entry: EntryRecorded, spec: CrawlSpecDeclared) -> bool:
    """Say whether an entry belongs to the sites that a crawl is about, and may see its credentials.

    A scope with bounds leads nowhere else. Without bounds anybody's link leads anywhere: then only start
    URLs are known to be meant, as long as no redirect takes them to another host, and what the spec names.
    """
    if spec.scope != Scope.ANY:
        return True
    name = host_of(entry.url)
    if name in spec.hosts or registrable_domain(name) in spec.domains:
        return True
    return entry.is_start and all(host_of(url) == name for url in entry.redirect_chain)
