"""Event classes: one frozen dataclass for each event and each record within one.

Generated from `schemas/` by `python -m strider.contracts.codegen`; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Final, Self

from strider.contracts.fast_dataclass import fast_dataclass


@fast_dataclass(frozen=True, slots=True)
class AdaptiveRecorded:
    """Change rate and recrawl interval of a source: the latest state, by source."""

    SCHEMA_NAME: ClassVar[str] = "adaptive-recorded.v1"
    source_id: str
    """The source."""
    unchanged_count: int
    """Runs without change, in a row."""
    current_interval_seconds: int
    """The current interval."""
    updated_at_ms: int
    """When this was recorded, in milliseconds since 1970."""
    last_hash: str = ""
    """The hash of the latest comparison, over all start URLs; empty before the first."""
    last_change_at_ms: int = 0
    """When a start URL changed last, in milliseconds since 1970; 0 for never."""
    baseline_interval_seconds: int = 0
    """The source's own interval: the lower bound."""
    cap_seconds: int = 86400
    """The upper bound."""
    change_basis: str = "text"
    """Which hash decides about a change."""
    url_keys: tuple[str, ...] = ()
    """Keys of the start URLs."""
    raw_hashes: tuple[str, ...] = ()
    """Latest hash of each start URL's body."""
    text_hashes: tuple[str, ...] = ()
    """Latest hash of each start URL's text."""
    last_execution_id: str = ""
    """The run that was compared last."""
    next_run_at_ms: int = 0
    """When the source is due, in milliseconds since 1970."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "source_id": self.source_id,
            "unchanged_count": self.unchanged_count,
            "current_interval_seconds": self.current_interval_seconds,
            "updated_at_ms": self.updated_at_ms,
            "last_hash": self.last_hash,
            "last_change_at_ms": self.last_change_at_ms,
            "baseline_interval_seconds": self.baseline_interval_seconds,
            "cap_seconds": self.cap_seconds,
            "change_basis": self.change_basis,
            "url_keys": self.url_keys,
            "raw_hashes": self.raw_hashes,
            "text_hashes": self.text_hashes,
            "last_execution_id": self.last_execution_id,
            "next_run_at_ms": self.next_run_at_ms,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["source_id"],
            record["unchanged_count"],
            record["current_interval_seconds"],
            record["updated_at_ms"],
            record["last_hash"],
            record["last_change_at_ms"],
            record["baseline_interval_seconds"],
            record["cap_seconds"],
            record["change_basis"],
            tuple(record["url_keys"]),
            tuple(record["raw_hashes"]),
            tuple(record["text_hashes"]),
            record["last_execution_id"],
            record["next_run_at_ms"],
        )


@fast_dataclass(frozen=True, slots=True)
class CrawlSpecDeclared:
    """The settings of a run. Content-addressed, so it never changes: published and acknowledged before the
    first event that names it."""

    SCHEMA_NAME: ClassVar[str] = "crawl-spec-declared.v3"
    crawl_spec_id: str
    """SHA-256, in lower-case hex, of the settings below in their canonical form."""
    scope: str = "host"
    """How far links may lead from a seed."""
    hosts: tuple[str, ...] = ()
    """Hosts in scope besides those of the seeds."""
    domains: tuple[str, ...] = ()
    """Registrable domains in scope besides those of the seeds."""
    path_prefixes: tuple[str, ...] = ()
    """Paths that the scope is restricted to; empty means all."""
    include: tuple[str, ...] = ()
    """Only URLs that match one of these patterns are followed; empty means all in scope."""
    exclude: tuple[str, ...] = ()
    """URLs that match one of these patterns are not followed."""
    schemes: tuple[str, ...] = ()
    """Schemes that may be followed; empty means http and https."""
    allowed_ports: tuple[int, ...] = ()
    """Ports that may be followed; empty means the deployment's list."""
    refused_file_types: tuple[str, ...] = ()
    """Endings of paths that are not fetched; empty means the default list."""
    max_depth: int = 3
    """How many links to follow from a seed."""
    max_hops: int = 5
    """How many redirects to follow."""
    max_links_per_page: int = 1000
    """How many links of one page are accepted."""
    max_url_bytes: int = 2048
    """Longer URLs are refused."""
    max_pages: int = 0
    """Pages in a run; 0 means the configured budget."""
    max_bytes: int = 0
    """Bytes in a run; 0 means the configured budget."""
    max_seconds: int = 0
    """Seconds of a run; 0 means the configured budget."""
    max_pages_per_host: int = 0
    """Pages of one host; 0 means the configured budget."""
    max_pages_per_domain: int = 0
    """Pages of one registrable domain; 0 means the configured budget."""
    max_bytes_per_host: int = 0
    """Bytes of one host; 0 means the configured budget."""
    max_bytes_per_domain: int = 0
    """Bytes of one registrable domain; 0 means the configured budget."""
    max_seconds_per_host: int = 0
    """Seconds spent with one host; 0 means the configured budget."""
    max_seconds_per_domain: int = 0
    """Seconds spent with one registrable domain; 0 means the configured budget."""
    max_body_bytes: int = 10485760
    """A longer decoded page is refused."""
    priority: int = 1
    """Priority of links: 3 high, 2 medium, 1 low, 0 discovery."""
    delay_seconds: float | None = None
    """Seconds between two requests to a group; null means the configured delay."""
    max_in_flight_per_group: int = 1
    """Requests in flight to a group."""
    request_timeout_seconds: float = 30.0
    """Deadline of a request."""
    host_patience_seconds: int = 86400
    """An entry whose group stays unreachable longer than this is closed."""
    max_tries: int = 3
    """How often a request is tried again after it has failed: 3 means four requests at most."""
    respect_robots: bool = True
    """Whether robots.txt is obeyed."""
    respect_nofollow: bool = True
    """Whether links and pages marked nofollow are not followed."""
    respect_noindex: bool = True
    """Whether pages marked noindex are kept out of the stores."""
    use_cookies: bool = False
    """Whether the run has a cookie jar."""
    use_sitemaps: bool = True
    """Whether sitemaps are read."""
    use_feeds: bool = False
    """Whether the feeds of start pages are read."""
    feed_poll_seconds: int | None = None
    """Seconds between two polls of a feed; 0: feeds are not polled; null: as configured."""
    use_archives: bool = False
    """Whether archive paths are tried where little else is left."""
    predict_pagination: bool = True
    """Whether the next page of a list is tried before it is linked."""
    rendering: str = "never"
    """When a browser runs the page."""
    extraction: str = "main"
    """How much is extracted."""
    with_markdown: bool = False
    """Whether main text comes as Markdown too."""
    parser: str = ""
    """A site parser to use; empty means the one that knows the domain."""
    validation_rules: str = ""
    """Rule set of the validator; empty means the default."""
    continuous: bool = False
    """Whether entries are crawled again by themselves."""
    recrawl_seconds: int = 86400
    """Baseline between two fetches of an entry in a continuous crawl."""
    recrawl_cap_seconds: int = 86400
    """What the adaptive interval never exceeds."""
    adaptive: bool = True
    """Whether intervals follow how often pages change."""
    change_basis: str = "text"
    """Which hash decides whether a page has changed."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Request headers to add."""
    user_agent: str = ""
    """User-Agent to send; empty means the configured one."""
    accept_language: str = ""
    """Accept-Language to send; empty means none."""
    insecure_tls_hosts: tuple[str, ...] = ()
    """Hosts whose certificates need not verify."""
    archive_bodies: bool = False
    """Whether bodies are kept in the object store."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Free text by name; not part of the hash."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "crawl_spec_id": self.crawl_spec_id,
            "scope": self.scope,
            "hosts": self.hosts,
            "domains": self.domains,
            "path_prefixes": self.path_prefixes,
            "include": self.include,
            "exclude": self.exclude,
            "schemes": self.schemes,
            "allowed_ports": self.allowed_ports,
            "refused_file_types": self.refused_file_types,
            "max_depth": self.max_depth,
            "max_hops": self.max_hops,
            "max_links_per_page": self.max_links_per_page,
            "max_url_bytes": self.max_url_bytes,
            "max_pages": self.max_pages,
            "max_bytes": self.max_bytes,
            "max_seconds": self.max_seconds,
            "max_pages_per_host": self.max_pages_per_host,
            "max_pages_per_domain": self.max_pages_per_domain,
            "max_bytes_per_host": self.max_bytes_per_host,
            "max_bytes_per_domain": self.max_bytes_per_domain,
            "max_seconds_per_host": self.max_seconds_per_host,
            "max_seconds_per_domain": self.max_seconds_per_domain,
            "max_body_bytes": self.max_body_bytes,
            "priority": self.priority,
            "delay_seconds": self.delay_seconds,
            "max_in_flight_per_group": self.max_in_flight_per_group,
            "request_timeout_seconds": self.request_timeout_seconds,
            "host_patience_seconds": self.host_patience_seconds,
            "max_tries": self.max_tries,
            "respect_robots": self.respect_robots,
            "respect_nofollow": self.respect_nofollow,
            "respect_noindex": self.respect_noindex,
            "use_cookies": self.use_cookies,
            "use_sitemaps": self.use_sitemaps,
            "use_feeds": self.use_feeds,
            "feed_poll_seconds": self.feed_poll_seconds,
            "use_archives": self.use_archives,
            "predict_pagination": self.predict_pagination,
            "rendering": self.rendering,
            "extraction": self.extraction,
            "with_markdown": self.with_markdown,
            "parser": self.parser,
            "validation_rules": self.validation_rules,
            "continuous": self.continuous,
            "recrawl_seconds": self.recrawl_seconds,
            "recrawl_cap_seconds": self.recrawl_cap_seconds,
            "adaptive": self.adaptive,
            "change_basis": self.change_basis,
            "headers": self.headers,
            "user_agent": self.user_agent,
            "accept_language": self.accept_language,
            "insecure_tls_hosts": self.insecure_tls_hosts,
            "archive_bodies": self.archive_bodies,
            "labels": self.labels,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["crawl_spec_id"],
            record["scope"],
            tuple(record["hosts"]),
            tuple(record["domains"]),
            tuple(record["path_prefixes"]),
            tuple(record["include"]),
            tuple(record["exclude"]),
            tuple(record["schemes"]),
            tuple(record["allowed_ports"]),
            tuple(record["refused_file_types"]),
            record["max_depth"],
            record["max_hops"],
            record["max_links_per_page"],
            record["max_url_bytes"],
            record["max_pages"],
            record["max_bytes"],
            record["max_seconds"],
            record["max_pages_per_host"],
            record["max_pages_per_domain"],
            record["max_bytes_per_host"],
            record["max_bytes_per_domain"],
            record["max_seconds_per_host"],
            record["max_seconds_per_domain"],
            record["max_body_bytes"],
            record["priority"],
            record["delay_seconds"],
            record["max_in_flight_per_group"],
            record["request_timeout_seconds"],
            record["host_patience_seconds"],
            record["max_tries"],
            record["respect_robots"],
            record["respect_nofollow"],
            record["respect_noindex"],
            record["use_cookies"],
            record["use_sitemaps"],
            record["use_feeds"],
            record["feed_poll_seconds"],
            record["use_archives"],
            record["predict_pagination"],
            record["rendering"],
            record["extraction"],
            record["with_markdown"],
            record["parser"],
            record["validation_rules"],
            record["continuous"],
            record["recrawl_seconds"],
            record["recrawl_cap_seconds"],
            record["adaptive"],
            record["change_basis"],
            record["headers"],
            record["user_agent"],
            record["accept_language"],
            tuple(record["insecure_tls_hosts"]),
            record["archive_bodies"],
            record["labels"],
        )


@fast_dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that could not be handled, with all that is needed to look at it and to send it again; or
    a range of messages that was lost unread."""

    SCHEMA_NAME: ClassVar[str] = "dead-letter.v1"
    service: str
    """The service that could not handle it."""
    group: str
    """Its consumer group."""
    topic: str
    """The topic it was read from."""
    partition: int
    """The partition it was read from."""
    offset: int
    """Its offset; for a loss, the first that is gone."""
    reason: str
    """Why it could not be handled."""
    category: str
    """The kind of error."""
    occurred_at_ms: int
    """When, in milliseconds since 1970."""
    timestamp_ms: int = -1
    """The message's own timestamp, in milliseconds since 1970; -1 for a loss."""
    key: bytes | None = None
    """Its key, byte for byte."""
    value: bytes | None = None
    """Its value, byte for byte; null for a tombstone, for a loss, and where it is in the object store."""
    value_object: str = ""
    """Key of the value in the object store; empty where it is inline."""
    value_bytes: int = 0
    """Size of the value."""
    value_sha256: str = ""
    """SHA-256, in lower-case hex, of the value; empty without one."""
    header_names: tuple[str, ...] = ()
    """Names of its headers, in order."""
    header_values: tuple[bytes, ...] = ()
    """Their values, byte for byte."""
    task_id: str = ""
    """What it was about: job and URL key of the entry, where the headers or the value say so."""
    execution_id: str = ""
    """The run, where the headers or the value say so."""
    error_class: str = ""
    """The exception's class; empty where nothing was raised."""
    error_message: str = ""
    """The exception's message, or what was wrong with the bytes."""
    stack_trace: str = ""
    """The traceback, with secrets removed and clipped."""
    trace_id: str = ""
    """The trace that the message belongs to; empty for none."""
    attempts: int = 1
    """How often it was tried."""
    service_version: str = ""
    """Version of the service."""
    worker_id: str = ""
    """The process."""
    lost_from: int = -1
    """For a loss: first offset that is gone unread; else -1."""
    lost_to: int = -1
    """For a loss: last offset that is gone unread; else -1."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "service": self.service,
            "group": self.group,
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
            "reason": self.reason,
            "category": self.category,
            "occurred_at_ms": self.occurred_at_ms,
            "timestamp_ms": self.timestamp_ms,
            "key": self.key,
            "value": self.value,
            "value_object": self.value_object,
            "value_bytes": self.value_bytes,
            "value_sha256": self.value_sha256,
            "header_names": self.header_names,
            "header_values": self.header_values,
            "task_id": self.task_id,
            "execution_id": self.execution_id,
            "error_class": self.error_class,
            "error_message": self.error_message,
            "stack_trace": self.stack_trace,
            "trace_id": self.trace_id,
            "attempts": self.attempts,
            "service_version": self.service_version,
            "worker_id": self.worker_id,
            "lost_from": self.lost_from,
            "lost_to": self.lost_to,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["service"],
            record["group"],
            record["topic"],
            record["partition"],
            record["offset"],
            record["reason"],
            record["category"],
            record["occurred_at_ms"],
            record["timestamp_ms"],
            record["key"],
            record["value"],
            record["value_object"],
            record["value_bytes"],
            record["value_sha256"],
            tuple(record["header_names"]),
            tuple(record["header_values"]),
            record["task_id"],
            record["execution_id"],
            record["error_class"],
            record["error_message"],
            record["stack_trace"],
            record["trace_id"],
            record["attempts"],
            record["service_version"],
            record["worker_id"],
            record["lost_from"],
            record["lost_to"],
        )


@fast_dataclass(frozen=True, slots=True)
class EchoRequested:
    """A request for an echo. The smallest event; the examples use it."""

    SCHEMA_NAME: ClassVar[str] = "echo-requested.v1"
    request_id: str
    """Chosen by the sender; an echo repeats it."""
    host: str
    """The host that the request is about; key and shard follow from it."""
    text: str
    """The text to echo."""
    sent_at_ms: int = 0
    """When it was sent, in milliseconds since 1970; 0 where the sender did not set it."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "request_id": self.request_id,
            "host": self.host,
            "text": self.text,
            "sent_at_ms": self.sent_at_ms,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["request_id"],
            record["host"],
            record["text"],
            record["sent_at_ms"],
        )


@fast_dataclass(frozen=True, slots=True)
class Echoed:
    """The echo of one request."""

    SCHEMA_NAME: ClassVar[str] = "echoed.v1"
    request_id: str
    """That of the request."""
    host: str
    """That of the request."""
    outcome: str
    """Outcome of the request."""
    text: str = ""
    """The echo; empty where the request was refused."""
    requested_at_ms: int = 0
    """When it was sent, in milliseconds since 1970."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "request_id": self.request_id,
            "host": self.host,
            "outcome": self.outcome,
            "text": self.text,
            "requested_at_ms": self.requested_at_ms,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["request_id"],
            record["host"],
            record["outcome"],
            record["text"],
            record["requested_at_ms"],
        )


@fast_dataclass(frozen=True, slots=True)
class EntryRecorded:
    """Latest state of one URL of one job in the frontier. Working sets are rebuilt from it. A tombstone
    deletes it."""

    SCHEMA_NAME: ClassVar[str] = "entry-recorded.v2"
    job_id: str
    """The job."""
    url_key: str
    """SHA-256, in lower-case hex, of the URL's normal form."""
    url: str
    """The URL in wire form, or the target of a redirect to the same key."""
    group: str
    """The host group: the unit of politeness."""
    state: str
    """Its state."""
    execution_id: str
    """The run that it was last accepted for."""
    crawl_spec_id: str
    """The crawl spec of that run."""
    fetch_sequence: int
    """Number of its latest fetch; 0 before the first."""
    updated_at_ms: int
    """When this was recorded, in Redis time, milliseconds since 1970."""
    reason: str = ""
    """Why it is in this state."""
    body_bytes: int = 0
    """Bytes of bodies that were read for it in this run, failed tries included."""
    busy_ms: int = 0
    """Time that its requests took in this run, in milliseconds; 0 where no outcome was counted."""
    kind: str = "page"
    """The expected kind of document."""
    hop: int = 0
    """How many redirects led here from the URL that was found."""
    depth: int = 0
    """How many links led here from a seed; that of the first acceptance."""
    priority: int = 1
    """3 high, 2 medium, 1 low, 0 discovery."""
    is_start: bool = False
    """Whether this is a start URL of its job, whose changes set the recrawl interval."""
    referrer: str = ""
    """The page that the URL was found on; empty for a seed."""
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected here, oldest first; empty without redirects."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Attached by the seed's sender; passed on, never interpreted."""
    tries: int = 0
    """Tries of the latest fetch that failed."""
    error_count: int = 0
    """Fetches that failed, in a row."""
    error_class: str = ""
    """How the latest try failed; empty where it did not."""
    status: int = 0
    """HTTP status of the latest response; 0 for none."""
    discovered_at_ms: int = 0
    """When it was accepted first, in milliseconds since 1970."""
    due_at_ms: int = 0
    """Not to be fetched earlier, in milliseconds since 1970."""
    fetched_at_ms: int = 0
    """When it was fetched last, in milliseconds since 1970; 0 for never."""
    closed_at_ms: int = 0
    """When it was closed, in milliseconds since 1970; 0 while it is open."""
    next_crawl_at_ms: int = 0
    """When it is crawled again by itself, in milliseconds since 1970; 0 for never."""
    interval_seconds: int = 0
    """The interval behind that time; 0 for none."""
    changed_at_ms: int = 0
    """When its content changed last, in milliseconds since 1970; 0 where unknown."""
    unchanged_count: int = 0
    """Fetches without change, in a row."""
    losses: int = 0
    """Pages of it that were published and never settled, since it was settled last."""
    raw_hash: str = ""
    """SHA-256, in lower-case hex, of the body; empty where unknown."""
    text_hash: str = ""
    """SHA-256, in lower-case hex, of the text; empty where unknown."""
    etag: str = ""
    """Validator for the next fetch."""
    last_modified: str = ""
    """Validator for the next fetch."""
    needs_rendering: bool = False
    """Whether only a browser can fetch it."""
    redirect_target: str = ""
    """Where it redirects to; empty for none."""
    seed_token: str = ""
    """Topic, partition and offset, joined by /, of the seed that opened it; of each place the latest,
    joined by blanks; empty for a link. Only a larger offset, or another place, re-opens the entry."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "job_id": self.job_id,
            "url_key": self.url_key,
            "url": self.url,
            "group": self.group,
            "state": self.state,
            "execution_id": self.execution_id,
            "crawl_spec_id": self.crawl_spec_id,
            "fetch_sequence": self.fetch_sequence,
            "updated_at_ms": self.updated_at_ms,
            "reason": self.reason,
            "body_bytes": self.body_bytes,
            "busy_ms": self.busy_ms,
            "kind": self.kind,
            "hop": self.hop,
            "depth": self.depth,
            "priority": self.priority,
            "is_start": self.is_start,
            "referrer": self.referrer,
            "redirect_chain": self.redirect_chain,
            "metadata": self.metadata,
            "tries": self.tries,
            "error_count": self.error_count,
            "error_class": self.error_class,
            "status": self.status,
            "discovered_at_ms": self.discovered_at_ms,
            "due_at_ms": self.due_at_ms,
            "fetched_at_ms": self.fetched_at_ms,
            "closed_at_ms": self.closed_at_ms,
            "next_crawl_at_ms": self.next_crawl_at_ms,
            "interval_seconds": self.interval_seconds,
            "changed_at_ms": self.changed_at_ms,
            "unchanged_count": self.unchanged_count,
            "losses": self.losses,
            "raw_hash": self.raw_hash,
            "text_hash": self.text_hash,
            "etag": self.etag,
            "last_modified": self.last_modified,
            "needs_rendering": self.needs_rendering,
            "redirect_target": self.redirect_target,
            "seed_token": self.seed_token,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["job_id"],
            record["url_key"],
            record["url"],
            record["group"],
            record["state"],
            record["execution_id"],
            record["crawl_spec_id"],
            record["fetch_sequence"],
            record["updated_at_ms"],
            record["reason"],
            record["body_bytes"],
            record["busy_ms"],
            record["kind"],
            record["hop"],
            record["depth"],
            record["priority"],
            record["is_start"],
            record["referrer"],
            tuple(record["redirect_chain"]),
            record["metadata"],
            record["tries"],
            record["error_count"],
            record["error_class"],
            record["status"],
            record["discovered_at_ms"],
            record["due_at_ms"],
            record["fetched_at_ms"],
            record["closed_at_ms"],
            record["next_crawl_at_ms"],
            record["interval_seconds"],
            record["changed_at_ms"],
            record["unchanged_count"],
            record["losses"],
            record["raw_hash"],
            record["text_hash"],
            record["etag"],
            record["last_modified"],
            record["needs_rendering"],
            record["redirect_target"],
            record["seed_token"],
        )


@fast_dataclass(frozen=True, slots=True)
class FetchCompleted:
    """Outcome of a request: for every marked request, what the scheduler needs for its next decision.
    Published after the page."""

    SCHEMA_NAME: ClassVar[str] = "fetch-completed.v1"
    url: str
    """The URL in wire form: WHATWG, without fragment, userinfo and well-known tracking parameters. This is
    what is fetched."""
    url_key: str
    """SHA-256, in lower-case hex, of the URL's normal form. The identity of entries."""
    origin: str
    """Scheme, host and port of the URL; robots.txt is fetched per origin."""
    group: str
    """The host group, the unit of politeness: the host name, or its registrable domain where the
    deployment is configured so."""
    job_id: str
    """The job that the entry belongs to; `adhoc` for seeds without one."""
    execution_id: str
    """The run of the job."""
    crawl_spec_id: str
    """Hash of the run's crawl spec."""
    fetch_sequence: int
    """Number of this fetch among all fetches of the entry; settlements and writes to stores name it."""
    lease_id: str
    """The lease that this outcome ends."""
    try_number: int
    """1 for the first try of this fetch."""
    outcome: str
    """Its outcome."""
    completed_at_ms: int
    """When it ended, in milliseconds since 1970."""
    kind: str = "page"
    """The expected kind of document."""
    hop: int = 0
    """How many redirects led here from the URL that was found."""
    depth: int = 0
    """How many links led here from a seed; that of the first acceptance."""
    priority: int = 1
    """3 high, 2 medium, 1 low, 0 discovery."""
    is_start: bool = False
    """Whether this is a start URL of its job, whose changes set the recrawl interval."""
    referrer: str = ""
    """The page that the URL was found on; empty for a seed."""
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected here, oldest first; empty without redirects."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Attached by the seed's sender; passed on, never interpreted."""
    error_class: str = ""
    """The error; empty where there was none."""
    error_category: str = ""
    """The kind of error; empty where there was none."""
    error_message: str = ""
    """The same as a sentence, for people."""
    before_connect: bool = False
    """Whether it ended before anything was sent, so that the group's delay is not used up."""
    has_page: bool = False
    """Whether a page was published, so that the entry stays open until it is settled."""
    status: int = 0
    """HTTP status; 0 where there was no response."""
    http_version: str = ""
    """HTTP version, such as 1.1; empty where there was no response."""
    content_type: str = ""
    """Content-Type as the server sent it; empty if it did not."""
    content_length: int = -1
    """Content-Length as the server sent it; -1 if it did not."""
    etag: str = ""
    """ETag of the response; empty if there was none."""
    last_modified: str = ""
    """Last-Modified of the response, as text; empty if there was none."""
    remote_address: str = ""
    """Address and port of the actual connection."""
    proxy: str = ""
    """The proxy that was used, without credentials; empty for none."""
    connection_reused: bool = False
    """Whether the connection was open before."""
    tls_verified: bool = True
    """Whether certificates were verified; false only where the host's own settings say so."""
    rendered: bool = False
    """Whether a browser ran the page."""
    user_agent: str = ""
    """The User-Agent that was sent."""
    worker_id: str = ""
    """The process that made the request."""
    started_at_us: int = 0
    """When the head was written, in Redis time, microseconds since 1970; 0 where it was not."""
    marked_at_us: int = 0
    """When the lease was marked as started, in Redis time, microseconds since 1970."""
    dns_us: int = 0
    """Time to resolve the name, in microseconds; 0 where it was not needed."""
    connect_us: int = 0
    """Time to connect, in microseconds; 0 on a connection that was open."""
    tls_us: int = 0
    """Time of the TLS handshake, in microseconds; 0 where there was none."""
    ttfb_us: int = 0
    """Time from the head written to the first byte of the response, in microseconds."""
    total_us: int = 0
    """Time from the start to the end of the response, in microseconds."""
    body_bytes: int = 0
    """Bytes of the body that were read."""
    raw_hash: str = ""
    """SHA-256, in lower-case hex, of the body as sent; empty without one."""
    truncated: bool = False
    """Whether the body was cut at a limit."""
    redirect_target: str = ""
    """Where a redirect points, resolved; empty for none."""
    redirect_target_key: str = ""
    """The key of that URL."""
    redirect_refused: str = ""
    """Why the target is refused; empty where it is allowed."""
    retry_after_seconds: float = -1.0
    """Value of Retry-After; -1 where it was not sent or is invalid."""
    robots_text: str = ""
    """For a robots.txt with a response: its text, at most 500 KiB."""
    robots_truncated: bool = False
    """Whether the text was cut at 500 KiB."""
    robots_url: str = ""
    """For a robots.txt: the URL of the final response."""
    robots_hops: int = 0
    """For a robots.txt: redirects that were followed."""
    crawl_delay_seconds: float = -1.0
    """For a robots.txt: its crawl delay, clamped; -1 for none."""
    sitemap_urls: tuple[str, ...] = ()
    """For a robots.txt: the sitemaps it names."""
    cookies_changed: bool = False
    """Whether the response changed the run's cookie jar."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "url": self.url,
            "url_key": self.url_key,
            "origin": self.origin,
            "group": self.group,
            "job_id": self.job_id,
            "execution_id": self.execution_id,
            "crawl_spec_id": self.crawl_spec_id,
            "fetch_sequence": self.fetch_sequence,
            "lease_id": self.lease_id,
            "try_number": self.try_number,
            "outcome": self.outcome,
            "completed_at_ms": self.completed_at_ms,
            "kind": self.kind,
            "hop": self.hop,
            "depth": self.depth,
            "priority": self.priority,
            "is_start": self.is_start,
            "referrer": self.referrer,
            "redirect_chain": self.redirect_chain,
            "metadata": self.metadata,
            "error_class": self.error_class,
            "error_category": self.error_category,
            "error_message": self.error_message,
            "before_connect": self.before_connect,
            "has_page": self.has_page,
            "status": self.status,
            "http_version": self.http_version,
            "content_type": self.content_type,
            "content_length": self.content_length,
            "etag": self.etag,
            "last_modified": self.last_modified,
            "remote_address": self.remote_address,
            "proxy": self.proxy,
            "connection_reused": self.connection_reused,
            "tls_verified": self.tls_verified,
            "rendered": self.rendered,
            "user_agent": self.user_agent,
            "worker_id": self.worker_id,
            "started_at_us": self.started_at_us,
            "marked_at_us": self.marked_at_us,
            "dns_us": self.dns_us,
            "connect_us": self.connect_us,
            "tls_us": self.tls_us,
            "ttfb_us": self.ttfb_us,
            "total_us": self.total_us,
            "body_bytes": self.body_bytes,
            "raw_hash": self.raw_hash,
            "truncated": self.truncated,
            "redirect_target": self.redirect_target,
            "redirect_target_key": self.redirect_target_key,
            "redirect_refused": self.redirect_refused,
            "retry_after_seconds": self.retry_after_seconds,
            "robots_text": self.robots_text,
            "robots_truncated": self.robots_truncated,
            "robots_url": self.robots_url,
            "robots_hops": self.robots_hops,
            "crawl_delay_seconds": self.crawl_delay_seconds,
            "sitemap_urls": self.sitemap_urls,
            "cookies_changed": self.cookies_changed,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["url"],
            record["url_key"],
            record["origin"],
            record["group"],
            record["job_id"],
            record["execution_id"],
            record["crawl_spec_id"],
            record["fetch_sequence"],
            record["lease_id"],
            record["try_number"],
            record["outcome"],
            record["completed_at_ms"],
            record["kind"],
            record["hop"],
            record["depth"],
            record["priority"],
            record["is_start"],
            record["referrer"],
            tuple(record["redirect_chain"]),
            record["metadata"],
            record["error_class"],
            record["error_category"],
            record["error_message"],
            record["before_connect"],
            record["has_page"],
            record["status"],
            record["http_version"],
            record["content_type"],
            record["content_length"],
            record["etag"],
            record["last_modified"],
            record["remote_address"],
            record["proxy"],
            record["connection_reused"],
            record["tls_verified"],
            record["rendered"],
            record["user_agent"],
            record["worker_id"],
            record["started_at_us"],
            record["marked_at_us"],
            record["dns_us"],
            record["connect_us"],
            record["tls_us"],
            record["ttfb_us"],
            record["total_us"],
            record["body_bytes"],
            record["raw_hash"],
            record["truncated"],
            record["redirect_target"],
            record["redirect_target_key"],
            record["redirect_refused"],
            record["retry_after_seconds"],
            record["robots_text"],
            record["robots_truncated"],
            record["robots_url"],
            record["robots_hops"],
            record["crawl_delay_seconds"],
            tuple(record["sitemap_urls"]),
            record["cookies_changed"],
        )


@fast_dataclass(frozen=True, slots=True)
class FetchRequested:
    """One request to be made now, under a lease. For pages and robots.txt alike, and for the renderer."""

    SCHEMA_NAME: ClassVar[str] = "fetch-requested.v1"
    url: str
    """The URL in wire form: WHATWG, without fragment, userinfo and well-known tracking parameters. This is
    what is fetched."""
    url_key: str
    """SHA-256, in lower-case hex, of the URL's normal form. The identity of entries."""
    origin: str
    """Scheme, host and port of the URL; robots.txt is fetched per origin."""
    group: str
    """The host group, the unit of politeness: the host name, or its registrable domain where the
    deployment is configured so."""
    job_id: str
    """The job that the entry belongs to; `adhoc` for seeds without one."""
    execution_id: str
    """The run of the job."""
    crawl_spec_id: str
    """Hash of the run's crawl spec."""
    fetch_sequence: int
    """Number of this fetch among all fetches of the entry; settlements and writes to stores name it."""
    lease_id: str
    """The lease of this request; the fetcher marks it as started before it connects."""
    try_number: int
    """1 for the first try of this fetch."""
    issued_at_ms: int
    """When it was released, in Redis time, milliseconds since 1970."""
    lease_expires_at_ms: int
    """When an unmarked lease ends, in Redis time, milliseconds since 1970."""
    kind: str = "page"
    """The expected kind of document."""
    hop: int = 0
    """How many redirects led here from the URL that was found."""
    depth: int = 0
    """How many links led here from a seed; that of the first acceptance."""
    priority: int = 1
    """3 high, 2 medium, 1 low, 0 discovery."""
    is_start: bool = False
    """Whether this is a start URL of its job, whose changes set the recrawl interval."""
    referrer: str = ""
    """The page that the URL was found on; empty for a seed."""
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected here, oldest first; empty without redirects."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Attached by the seed's sender; passed on, never interpreted."""
    shard: int = 0
    """The shard that released it."""
    epoch: int = 0
    """Epoch of the shard's owner when it released it."""
    deadline_ms: int = 30000
    """How long the request may take, in milliseconds."""
    max_body_bytes: int = 10485760
    """A longer body is an outcome of its own."""
    etag: str = ""
    """Validator to send as If-None-Match; empty for none."""
    last_modified: str = ""
    """Validator to send as If-Modified-Since; empty for none."""
    header_names: tuple[str, ...] = ()
    """Request headers to add."""
    header_values: tuple[str, ...] = ()
    """Their values."""
    user_agent: str = ""
    """User-Agent to send; empty means the configured one."""
    cookie_jar: str = ""
    """The cookie jar to use; empty for none."""
    insecure_tls: bool = False
    """Whether a certificate that does not verify is accepted."""
    earlier_error: str = ""
    """Error of the previous try, where there was one."""
    earlier_proxy: str = ""
    """Proxy of the previous try, so that another may be used."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "url": self.url,
            "url_key": self.url_key,
            "origin": self.origin,
            "group": self.group,
            "job_id": self.job_id,
            "execution_id": self.execution_id,
            "crawl_spec_id": self.crawl_spec_id,
            "fetch_sequence": self.fetch_sequence,
            "lease_id": self.lease_id,
            "try_number": self.try_number,
            "issued_at_ms": self.issued_at_ms,
            "lease_expires_at_ms": self.lease_expires_at_ms,
            "kind": self.kind,
            "hop": self.hop,
            "depth": self.depth,
            "priority": self.priority,
            "is_start": self.is_start,
            "referrer": self.referrer,
            "redirect_chain": self.redirect_chain,
            "metadata": self.metadata,
            "shard": self.shard,
            "epoch": self.epoch,
            "deadline_ms": self.deadline_ms,
            "max_body_bytes": self.max_body_bytes,
            "etag": self.etag,
            "last_modified": self.last_modified,
            "header_names": self.header_names,
            "header_values": self.header_values,
            "user_agent": self.user_agent,
            "cookie_jar": self.cookie_jar,
            "insecure_tls": self.insecure_tls,
            "earlier_error": self.earlier_error,
            "earlier_proxy": self.earlier_proxy,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["url"],
            record["url_key"],
            record["origin"],
            record["group"],
            record["job_id"],
            record["execution_id"],
            record["crawl_spec_id"],
            record["fetch_sequence"],
            record["lease_id"],
            record["try_number"],
            record["issued_at_ms"],
            record["lease_expires_at_ms"],
            record["kind"],
            record["hop"],
            record["depth"],
            record["priority"],
            record["is_start"],
            record["referrer"],
            tuple(record["redirect_chain"]),
            record["metadata"],
            record["shard"],
            record["epoch"],
            record["deadline_ms"],
            record["max_body_bytes"],
            record["etag"],
            record["last_modified"],
            tuple(record["header_names"]),
            tuple(record["header_values"]),
            record["user_agent"],
            record["cookie_jar"],
            record["insecure_tls"],
            record["earlier_error"],
            record["earlier_proxy"],
        )


@fast_dataclass(frozen=True, slots=True)
class HostRecorded:
    """State of a group (clock, blocks and circuit breaker), or of one origin's robots.txt under a key of
    its own. It survives restarts."""

    SCHEMA_NAME: ClassVar[str] = "host-recorded.v1"
    kind: str
    """Whether this is a group's state or an origin's robots rules."""
    group: str
    """The host group: the unit of politeness."""
    updated_at_ms: int
    """When this was recorded, in Redis time, milliseconds since 1970."""
    origin: str = ""
    """For robots rules: their origin; empty for a group's state."""
    hosts: tuple[str, ...] = ()
    """Host names seen in the group."""
    next_request_at_ms: int = 0
    """The clock: no request before, in Redis time, milliseconds since 1970."""
    last_request_at_ms: int = 0
    """When the latest request started, in Redis time, milliseconds since 1970."""
    delay_seconds: float = 0.0
    """The effective delay: the largest of those below."""
    configured_delay_seconds: float = 0.0
    """The delay of settings and crawl specs."""
    robots_delay_seconds: float = 0.0
    """The crawl delay of robots.txt, clamped; 0 for none."""
    max_in_flight: int = 1
    """Requests in flight."""
    is_active: bool = True
    """Whether the group may be crawled at all."""
    blocked_until_ms: int = 0
    """No request before, in Redis time, milliseconds since 1970; 0 for no block."""
    block_reason: str = ""
    """Why its responses blocked it; empty for no block."""
    barred_until_ms: int = 0
    """End of an operator's block, in Redis time, milliseconds since 1970; 0 for none."""
    barred_since_ms: int = 0
    """When an operator blocked it, in milliseconds since 1970."""
    block_detail: str = ""
    """Reason of the operator's block, as a sentence."""
    blocked_by: str = ""
    """Who blocked it."""
    back_off_seconds: float = 0.0
    """The latest backoff, which doubles; 0 after it was reset."""
    back_off_count: int = 0
    """Backoffs in a row."""
    breaker: str = "closed"
    """The circuit breaker."""
    breaker_changed_at_ms: int = 0
    """When the breaker changed last, in Redis time, milliseconds since 1970."""
    failures: int = 0
    """Failures in a row."""
    blocks_seen: int = 0
    """Responses of 403 and 429 in a row."""
    half_open_successes: int = 0
    """Successes since the breaker went half-open."""
    unreachable_since_ms: int = 0
    """Since when it does not respond, in milliseconds since 1970; 0 while it does."""
    last_success_at_ms: int = 0
    """When a request succeeded last, in milliseconds since 1970; 0 for never."""
    last_error_class: str = ""
    """Error class of the latest failure; empty for none."""
    pages_fetched: int = 0
    """Pages fetched."""
    requests_failed: int = 0
    """Requests that failed."""
    bytes_fetched: int = 0
    """Bytes fetched."""
    robots_state: str = "unknown"
    """What the rules are based on."""
    robots_text: str = ""
    """The latest successfully fetched robots.txt; of one beyond 16 KiB an excerpt that allows no more."""
    robots_hash: str = ""
    """SHA-256, in lower-case hex, of that text."""
    robots_status: int = 0
    """HTTP status of the latest response; 0 for none."""
    robots_url: str = ""
    """The URL that answered in the end."""
    robots_asked_at_ms: int = 0
    """When it was requested last, in milliseconds since 1970."""
    robots_fetched_at_ms: int = 0
    """When the text was fetched, in milliseconds since 1970."""
    robots_expires_at_ms: int = 0
    """When it is requested again, in milliseconds since 1970."""
    robots_failures: int = 0
    """Failures to fetch it, in a row."""
    sitemap_urls: tuple[str, ...] = ()
    """Sitemaps that robots.txt names."""
    archive_checked_at_ms: int = 0
    """When archive paths were tried last, in milliseconds since 1970; 0 for never."""
    archive_patterns: tuple[str, ...] = ()
    """Path patterns that led to archives."""
    pagination_patterns: tuple[str, ...] = ()
    """URL patterns with {N} that led to further pages."""
    dead_pagination_patterns: tuple[str, ...] = ()
    """URL patterns with {N} that ended."""
    epoch: int = 0
    """Epoch of the shard's owner that recorded this."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "kind": self.kind,
            "group": self.group,
            "updated_at_ms": self.updated_at_ms,
            "origin": self.origin,
            "hosts": self.hosts,
            "next_request_at_ms": self.next_request_at_ms,
            "last_request_at_ms": self.last_request_at_ms,
            "delay_seconds": self.delay_seconds,
            "configured_delay_seconds": self.configured_delay_seconds,
            "robots_delay_seconds": self.robots_delay_seconds,
            "max_in_flight": self.max_in_flight,
            "is_active": self.is_active,
            "blocked_until_ms": self.blocked_until_ms,
            "block_reason": self.block_reason,
            "barred_until_ms": self.barred_until_ms,
            "barred_since_ms": self.barred_since_ms,
            "block_detail": self.block_detail,
            "blocked_by": self.blocked_by,
            "back_off_seconds": self.back_off_seconds,
            "back_off_count": self.back_off_count,
            "breaker": self.breaker,
            "breaker_changed_at_ms": self.breaker_changed_at_ms,
            "failures": self.failures,
            "blocks_seen": self.blocks_seen,
            "half_open_successes": self.half_open_successes,
            "unreachable_since_ms": self.unreachable_since_ms,
            "last_success_at_ms": self.last_success_at_ms,
            "last_error_class": self.last_error_class,
            "pages_fetched": self.pages_fetched,
            "requests_failed": self.requests_failed,
            "bytes_fetched": self.bytes_fetched,
            "robots_state": self.robots_state,
            "robots_text": self.robots_text,
            "robots_hash": self.robots_hash,
            "robots_status": self.robots_status,
            "robots_url": self.robots_url,
            "robots_asked_at_ms": self.robots_asked_at_ms,
            "robots_fetched_at_ms": self.robots_fetched_at_ms,
            "robots_expires_at_ms": self.robots_expires_at_ms,
            "robots_failures": self.robots_failures,
            "sitemap_urls": self.sitemap_urls,
            "archive_checked_at_ms": self.archive_checked_at_ms,
            "archive_patterns": self.archive_patterns,
            "pagination_patterns": self.pagination_patterns,
            "dead_pagination_patterns": self.dead_pagination_patterns,
            "epoch": self.epoch,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["kind"],
            record["group"],
            record["updated_at_ms"],
            record["origin"],
            tuple(record["hosts"]),
            record["next_request_at_ms"],
            record["last_request_at_ms"],
            record["delay_seconds"],
            record["configured_delay_seconds"],
            record["robots_delay_seconds"],
            record["max_in_flight"],
            record["is_active"],
            record["blocked_until_ms"],
            record["block_reason"],
            record["barred_until_ms"],
            record["barred_since_ms"],
            record["block_detail"],
            record["blocked_by"],
            record["back_off_seconds"],
            record["back_off_count"],
            record["breaker"],
            record["breaker_changed_at_ms"],
            record["failures"],
            record["blocks_seen"],
            record["half_open_successes"],
            record["unreachable_since_ms"],
            record["last_success_at_ms"],
            record["last_error_class"],
            record["pages_fetched"],
            record["requests_failed"],
            record["bytes_fetched"],
            record["robots_state"],
            record["robots_text"],
            record["robots_hash"],
            record["robots_status"],
            record["robots_url"],
            record["robots_asked_at_ms"],
            record["robots_fetched_at_ms"],
            record["robots_expires_at_ms"],
            record["robots_failures"],
            tuple(record["sitemap_urls"]),
            record["archive_checked_at_ms"],
            tuple(record["archive_patterns"]),
            tuple(record["pagination_patterns"]),
            tuple(record["dead_pagination_patterns"]),
            record["epoch"],
        )


@fast_dataclass(frozen=True, slots=True)
class JobEvent:
    """A command about a job, a run or a host, or a fact about it. Every scheduler reads all of them."""

    SCHEMA_NAME: ClassVar[str] = "job-event.v3"
    event_id: str
    """Derived from the content, so that a repeat is recognised."""
    what: str
    """The command or fact."""
    is_wish: bool
    """Whether it is a command rather than a fact."""
    at_ms: int
    """When, in milliseconds since 1970."""
    by: str
    """The publisher: a user, or a service."""
    job_id: str = ""
    """The job; empty where it is about a host."""
    execution_id: str = ""
    """The run; empty where it is about all of the job, or about a host."""
    source_id: str = ""
    """The source; empty where none is meant."""
    group: str = ""
    """The group of a command about a host; empty where it is about a job."""
    shard: int = -1
    """The shard that it is about; -1 for all."""
    crawl_spec_id: str = ""
    """The crawl spec of a launched run."""
    reason: str = ""
    """The reason, as a sentence."""
    until_ms: int = 0
    """Until when a block holds, in milliseconds since 1970; 0 for ever."""
    state_before: str = ""
    """The state that a job left; empty where none changed."""
    state_after: str = ""
    """The state that a job entered; empty where none changed."""
    seeds: int = 0
    """Seeds of a launched run."""
    pages: int = 0
    """Pages of a run so far, or a shard's part of its budget."""
    bytes: int = 0
    """Bytes of a run so far, or of a granted quota."""
    seconds: int = 0
    """Seconds of a run so far, or of a granted quota."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Further counts by name, such as entries by outcome."""
    error_message: str = ""
    """The error; empty where there was none."""
    stack_trace: str = ""
    """The traceback; empty where there was no error."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Free text by name."""
    start_pages: int = 0
    """Start pages of a run that were fetched and settled; 0 where none was, or the event is of an earlier
    version."""
    start_url_keys: tuple[str, ...] = ()
    """Their URL keys, in ascending order; of more than 64 start pages one key, derived from all."""
    start_raw_hashes: tuple[str, ...] = ()
    """SHA-256 of the body of each, empty where unknown; of more than 64 one hash, derived from all."""
    start_text_hashes: tuple[str, ...] = ()
    """SHA-256 of the text of each, empty where unknown; of more than 64 one hash, derived from all."""
    url_key: str = ""
    """Key of the URL of a command about one URL of a run; empty where it is about more."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "event_id": self.event_id,
            "what": self.what,
            "is_wish": self.is_wish,
            "at_ms": self.at_ms,
            "by": self.by,
            "job_id": self.job_id,
            "execution_id": self.execution_id,
            "source_id": self.source_id,
            "group": self.group,
            "shard": self.shard,
            "crawl_spec_id": self.crawl_spec_id,
            "reason": self.reason,
            "until_ms": self.until_ms,
            "state_before": self.state_before,
            "state_after": self.state_after,
            "seeds": self.seeds,
            "pages": self.pages,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "counts": self.counts,
            "error_message": self.error_message,
            "stack_trace": self.stack_trace,
            "metadata": self.metadata,
            "start_pages": self.start_pages,
            "start_url_keys": self.start_url_keys,
            "start_raw_hashes": self.start_raw_hashes,
            "start_text_hashes": self.start_text_hashes,
            "url_key": self.url_key,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["event_id"],
            record["what"],
            record["is_wish"],
            record["at_ms"],
            record["by"],
            record["job_id"],
            record["execution_id"],
            record["source_id"],
            record["group"],
            record["shard"],
            record["crawl_spec_id"],
            record["reason"],
            record["until_ms"],
            record["state_before"],
            record["state_after"],
            record["seeds"],
            record["pages"],
            record["bytes"],
            record["seconds"],
            record["counts"],
            record["error_message"],
            record["stack_trace"],
            record["metadata"],
            record["start_pages"],
            tuple(record["start_url_keys"]),
            tuple(record["start_raw_hashes"]),
            tuple(record["start_text_hashes"]),
            record["url_key"],
        )


@fast_dataclass(frozen=True, slots=True)
class LinksDiscovered:
    """URLs for the frontier, for one shard: the accepted links of all pages of a poll batch. Parallel
    arrays: one item a link in `urls` and its companions, one item a page (or seed, or redirect) in those
    named `from_…`."""

    SCHEMA_NAME: ClassVar[str] = "links-discovered.v1"
    shard: int
    """The shard of all these URLs, which is their partition."""
    shards: int
    """Number of shards that it was computed with; another number is refused."""
    urls: tuple[str, ...]
    """The URLs as found."""
    url_keys: tuple[str, ...]
    """SHA-256, in lower-case hex, of each URL's normal form."""
    from_at: tuple[int, ...]
    """For each URL, the position in the `from_…` arrays of what it came from."""
    from_vias: tuple[str, ...]
    """How the URLs were discovered."""
    from_urls: tuple[str, ...]
    """The page they were found on, or the URL that redirected; empty for seeds."""
    from_url_keys: tuple[str, ...]
    """The key of that URL; empty for seeds."""
    from_job_ids: tuple[str, ...]
    """The job."""
    from_execution_ids: tuple[str, ...]
    """The run."""
    from_crawl_spec_ids: tuple[str, ...]
    """The crawl spec."""
    from_fetch_sequences: tuple[int, ...]
    """The fetch that showed them; 0 for seeds."""
    depths: tuple[int, ...]
    """For each URL, links from a seed."""
    priorities: tuple[int, ...]
    """For each URL: 3 high, 2 medium, 1 low, 0 discovery."""
    group_at: tuple[int, ...] = ()
    """For each URL, the position of its group in `groups`; empty where the reader computes it."""
    groups: tuple[str, ...] = ()
    """The groups that occur."""
    hops: tuple[int, ...] = ()
    """For each URL, redirects that led to it; empty means none has any."""
    kinds: tuple[str, ...] = ()
    """For each URL, the expected kind of document; empty means pages."""
    start_flags: tuple[bool, ...] = ()
    """For each URL, whether it is a start URL of its job; empty means none is."""
    fresh_flags: tuple[bool, ...] = ()
    """For each URL, whether it is fetched even where it is known; empty means none is."""
    lastmods_ms: tuple[int, ...] = ()
    """For each URL, its time of change in a sitemap or feed, in milliseconds since 1970, -1 unknown; empty
    means none is known."""
    seed_topics: tuple[str, ...] = ()
    """For each URL, the topic of its seed, empty for a link; an empty array means that none is a seed."""
    seed_partitions: tuple[int, ...] = ()
    """With `seed_topics`: the seed's partition."""
    seed_offsets: tuple[int, ...] = ()
    """With `seed_topics`: the seed's offset. A larger one re-opens a closed entry."""
    redirect_chains: tuple[tuple[str, ...], ...] = ()
    """For each URL, the URLs that redirected to it, oldest first; empty means that none is a redirect
    target."""
    attachments: tuple[Mapping[str, str], ...] = ()
    """For each URL, what its seed's sender attached; empty means nothing."""
    spoken_at_ms: int = 0
    """When the batch was made, in milliseconds since 1970."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "shard": self.shard,
            "shards": self.shards,
            "urls": self.urls,
            "url_keys": self.url_keys,
            "from_at": self.from_at,
            "from_vias": self.from_vias,
            "from_urls": self.from_urls,
            "from_url_keys": self.from_url_keys,
            "from_job_ids": self.from_job_ids,
            "from_execution_ids": self.from_execution_ids,
            "from_crawl_spec_ids": self.from_crawl_spec_ids,
            "from_fetch_sequences": self.from_fetch_sequences,
            "depths": self.depths,
            "priorities": self.priorities,
            "group_at": self.group_at,
            "groups": self.groups,
            "hops": self.hops,
            "kinds": self.kinds,
            "start_flags": self.start_flags,
            "fresh_flags": self.fresh_flags,
            "lastmods_ms": self.lastmods_ms,
            "seed_topics": self.seed_topics,
            "seed_partitions": self.seed_partitions,
            "seed_offsets": self.seed_offsets,
            "redirect_chains": self.redirect_chains,
            "attachments": self.attachments,
            "spoken_at_ms": self.spoken_at_ms,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["shard"],
            record["shards"],
            tuple(record["urls"]),
            tuple(record["url_keys"]),
            tuple(record["from_at"]),
            tuple(record["from_vias"]),
            tuple(record["from_urls"]),
            tuple(record["from_url_keys"]),
            tuple(record["from_job_ids"]),
            tuple(record["from_execution_ids"]),
            tuple(record["from_crawl_spec_ids"]),
            tuple(record["from_fetch_sequences"]),
            tuple(record["depths"]),
            tuple(record["priorities"]),
            tuple(record["group_at"]),
            tuple(record["groups"]),
            tuple(record["hops"]),
            tuple(record["kinds"]),
            tuple(record["start_flags"]),
            tuple(record["fresh_flags"]),
            tuple(record["lastmods_ms"]),
            tuple(record["seed_topics"]),
            tuple(record["seed_partitions"]),
            tuple(record["seed_offsets"]),
            tuple(map(tuple, record["redirect_chains"])),
            tuple(record["attachments"]),
            record["spoken_at_ms"],
        )


@fast_dataclass(frozen=True, slots=True)
class PageFetched:
    """A response with a body, as received. Inline where the event stays within 512 KiB, else by reference
    into the object store."""

    SCHEMA_NAME: ClassVar[str] = "page-fetched.v1"
    url: str
    """The URL in wire form: WHATWG, without fragment, userinfo and well-known tracking parameters. This is
    what is fetched."""
    url_key: str
    """SHA-256, in lower-case hex, of the URL's normal form. The identity of entries."""
    origin: str
    """Scheme, host and port of the URL; robots.txt is fetched per origin."""
    group: str
    """The host group, the unit of politeness: the host name, or its registrable domain where the
    deployment is configured so."""
    job_id: str
    """The job that the entry belongs to; `adhoc` for seeds without one."""
    execution_id: str
    """The run of the job."""
    crawl_spec_id: str
    """Hash of the run's crawl spec."""
    fetch_sequence: int
    """Number of this fetch among all fetches of the entry; settlements and writes to stores name it."""
    lease_id: str
    """The lease of the request."""
    try_number: int
    """1 for the first try of this fetch."""
    fetched_at_ms: int
    """When the response was complete, in milliseconds since 1970."""
    kind: str = "page"
    """The expected kind of document."""
    hop: int = 0
    """How many redirects led here from the URL that was found."""
    depth: int = 0
    """How many links led here from a seed; that of the first acceptance."""
    priority: int = 1
    """3 high, 2 medium, 1 low, 0 discovery."""
    is_start: bool = False
    """Whether this is a start URL of its job, whose changes set the recrawl interval."""
    referrer: str = ""
    """The page that the URL was found on; empty for a seed."""
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected here, oldest first; empty without redirects."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Attached by the seed's sender; passed on, never interpreted."""
    status: int = 0
    """HTTP status; 0 where there was no response."""
    http_version: str = ""
    """HTTP version, such as 1.1; empty where there was no response."""
    content_type: str = ""
    """Content-Type as the server sent it; empty if it did not."""
    content_length: int = -1
    """Content-Length as the server sent it; -1 if it did not."""
    etag: str = ""
    """ETag of the response; empty if there was none."""
    last_modified: str = ""
    """Last-Modified of the response, as text; empty if there was none."""
    remote_address: str = ""
    """Address and port of the actual connection."""
    proxy: str = ""
    """The proxy that was used, without credentials; empty for none."""
    connection_reused: bool = False
    """Whether the connection was open before."""
    tls_verified: bool = True
    """Whether certificates were verified; false only where the host's own settings say so."""
    rendered: bool = False
    """Whether a browser ran the page."""
    user_agent: str = ""
    """The User-Agent that was sent."""
    worker_id: str = ""
    """The process that made the request."""
    started_at_us: int = 0
    """When the head was written, in Redis time, microseconds since 1970."""
    dns_us: int = 0
    """Time to resolve the name, in microseconds; 0 where it was not needed."""
    connect_us: int = 0
    """Time to connect, in microseconds; 0 on a connection that was open."""
    tls_us: int = 0
    """Time of the TLS handshake, in microseconds; 0 where there was none."""
    ttfb_us: int = 0
    """Time from the head written to the first byte of the response, in microseconds."""
    total_us: int = 0
    """Time from the start to the end of the response, in microseconds."""
    header_names: tuple[str, ...] = ()
    """Names of the response headers, in order, as sent."""
    header_values: tuple[str, ...] = ()
    """Their values."""
    content_encoding: str = ""
    """Encodings that the body still carries, in order; empty for none."""
    body: bytes = b""
    """The body as the server sent it, still compressed; empty where it is in the object store."""
    body_object: str = ""
    """Key of the body in the object store; empty where it is inline."""
    body_bytes: int = 0
    """Size of the body as sent."""
    body_sha256: str = ""
    """SHA-256, in lower-case hex, of the body as sent."""
    truncated: bool = False
    """Whether the body was cut at a limit."""
    not_modified: bool = False
    """Whether the server responded that nothing changed; there is no body then."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "url": self.url,
            "url_key": self.url_key,
            "origin": self.origin,
            "group": self.group,
            "job_id": self.job_id,
            "execution_id": self.execution_id,
            "crawl_spec_id": self.crawl_spec_id,
            "fetch_sequence": self.fetch_sequence,
            "lease_id": self.lease_id,
            "try_number": self.try_number,
            "fetched_at_ms": self.fetched_at_ms,
            "kind": self.kind,
            "hop": self.hop,
            "depth": self.depth,
            "priority": self.priority,
            "is_start": self.is_start,
            "referrer": self.referrer,
            "redirect_chain": self.redirect_chain,
            "metadata": self.metadata,
            "status": self.status,
            "http_version": self.http_version,
            "content_type": self.content_type,
            "content_length": self.content_length,
            "etag": self.etag,
            "last_modified": self.last_modified,
            "remote_address": self.remote_address,
            "proxy": self.proxy,
            "connection_reused": self.connection_reused,
            "tls_verified": self.tls_verified,
            "rendered": self.rendered,
            "user_agent": self.user_agent,
            "worker_id": self.worker_id,
            "started_at_us": self.started_at_us,
            "dns_us": self.dns_us,
            "connect_us": self.connect_us,
            "tls_us": self.tls_us,
            "ttfb_us": self.ttfb_us,
            "total_us": self.total_us,
            "header_names": self.header_names,
            "header_values": self.header_values,
            "content_encoding": self.content_encoding,
            "body": self.body,
            "body_object": self.body_object,
            "body_bytes": self.body_bytes,
            "body_sha256": self.body_sha256,
            "truncated": self.truncated,
            "not_modified": self.not_modified,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["url"],
            record["url_key"],
            record["origin"],
            record["group"],
            record["job_id"],
            record["execution_id"],
            record["crawl_spec_id"],
            record["fetch_sequence"],
            record["lease_id"],
            record["try_number"],
            record["fetched_at_ms"],
            record["kind"],
            record["hop"],
            record["depth"],
            record["priority"],
            record["is_start"],
            record["referrer"],
            tuple(record["redirect_chain"]),
            record["metadata"],
            record["status"],
            record["http_version"],
            record["content_type"],
            record["content_length"],
            record["etag"],
            record["last_modified"],
            record["remote_address"],
            record["proxy"],
            record["connection_reused"],
            record["tls_verified"],
            record["rendered"],
            record["user_agent"],
            record["worker_id"],
            record["started_at_us"],
            record["dns_us"],
            record["connect_us"],
            record["tls_us"],
            record["ttfb_us"],
            record["total_us"],
            tuple(record["header_names"]),
            tuple(record["header_values"]),
            record["content_encoding"],
            record["body"],
            record["body_object"],
            record["body_bytes"],
            record["body_sha256"],
            record["truncated"],
            record["not_modified"],
        )


@fast_dataclass(frozen=True, slots=True)
class Product:
    """One product that a page offers. Each attribute's source and confidence stand in two maps by
    attribute name."""

    name: str = ""
    """Its name."""
    description: str = ""
    """Its description."""
    url: str = ""
    """Its own URL, where the page has several products."""
    price: str = ""
    """Price as a decimal number in text, such as 1234.56; empty where unknown."""
    currency: str = ""
    """ISO 4217 code; empty where unknown."""
    old_price: str = ""
    """Price before a reduction, as text."""
    price_low: str = ""
    """Lower end where the price is a range, as text."""
    price_high: str = ""
    """Upper end where the price is a range, as text."""
    availability: str = "unknown"
    """Whether it can be bought."""
    rating: float = -1.0
    """0 to 5; -1 where unknown."""
    review_count: int = -1
    """How many reviews; -1 where unknown."""
    brand: str = ""
    """Its brand."""
    category: str = ""
    """Its category, broad to narrow, joined by ' > '."""
    sku: str = ""
    """The shop's number."""
    gtin: str = ""
    """GTIN, EAN, UPC or ISBN, digits only."""
    mpn: str = ""
    """The maker's number."""
    condition: str = ""
    """New, used and the like, as on the page."""
    seller: str = ""
    """Its seller."""
    image_urls: tuple[str, ...] = ()
    """Its images."""
    image_kinds: tuple[str, ...] = ()
    """The kind of each image."""
    image_alts: tuple[str, ...] = ()
    """Alternative text of each image."""
    image_positions: tuple[int, ...] = ()
    """Position of each image, from 0."""
    image_widths: tuple[int, ...] = ()
    """Width in pixels; 0 where unknown."""
    image_heights: tuple[int, ...] = ()
    """Height in pixels; 0 where unknown."""
    image_bytes: tuple[int, ...] = ()
    """Size of the file; 0 where unknown."""
    content_hash: str = ""
    """SHA-256, in lower-case hex, of the attributes; it differs when the product changed."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where each attribute was found, by attribute name: a word of the list `attribute-source`."""
    confidences: Mapping[str, float] = field(default_factory=dict)
    """Confidence of each attribute, 0 to 1, by attribute name."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Further attributes, by name."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "name": self.name,
            "description": self.description,
            "url": self.url,
            "price": self.price,
            "currency": self.currency,
            "old_price": self.old_price,
            "price_low": self.price_low,
            "price_high": self.price_high,
            "availability": self.availability,
            "rating": self.rating,
            "review_count": self.review_count,
            "brand": self.brand,
            "category": self.category,
            "sku": self.sku,
            "gtin": self.gtin,
            "mpn": self.mpn,
            "condition": self.condition,
            "seller": self.seller,
            "image_urls": self.image_urls,
            "image_kinds": self.image_kinds,
            "image_alts": self.image_alts,
            "image_positions": self.image_positions,
            "image_widths": self.image_widths,
            "image_heights": self.image_heights,
            "image_bytes": self.image_bytes,
            "content_hash": self.content_hash,
            "sources": self.sources,
            "confidences": self.confidences,
            "extra": self.extra,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["name"],
            record["description"],
            record["url"],
            record["price"],
            record["currency"],
            record["old_price"],
            record["price_low"],
            record["price_high"],
            record["availability"],
            record["rating"],
            record["review_count"],
            record["brand"],
            record["category"],
            record["sku"],
            record["gtin"],
            record["mpn"],
            record["condition"],
            record["seller"],
            tuple(record["image_urls"]),
            tuple(record["image_kinds"]),
            tuple(record["image_alts"]),
            tuple(record["image_positions"]),
            tuple(record["image_widths"]),
            tuple(record["image_heights"]),
            tuple(record["image_bytes"]),
            record["content_hash"],
            record["sources"],
            record["confidences"],
            record["extra"],
        )


@fast_dataclass(frozen=True, slots=True)
class PageParsed:
    """The content of a document: text, metadata, links, records; or why there is none. Links and entries
    travel as parallel arrays."""

    SCHEMA_NAME: ClassVar[str] = "page-parsed.v1"
    url: str
    """The URL in wire form: WHATWG, without fragment, userinfo and well-known tracking parameters. This is
    what is fetched."""
    url_key: str
    """SHA-256, in lower-case hex, of the URL's normal form. The identity of entries."""
    origin: str
    """Scheme, host and port of the URL; robots.txt is fetched per origin."""
    group: str
    """The host group, the unit of politeness: the host name, or its registrable domain where the
    deployment is configured so."""
    job_id: str
    """The job that the entry belongs to; `adhoc` for seeds without one."""
    execution_id: str
    """The run of the job."""
    crawl_spec_id: str
    """Hash of the run's crawl spec."""
    fetch_sequence: int
    """Number of this fetch among all fetches of the entry; settlements and writes to stores name it."""
    outcome: str
    """Outcome of parsing."""
    parser: str
    """The parser that parsed it: `strider`, or the name of a site parser."""
    parser_version: str
    """Its version."""
    fetched_at_ms: int
    """When the response was complete, in milliseconds since 1970."""
    kind: str = "page"
    """The expected kind of document."""
    hop: int = 0
    """How many redirects led here from the URL that was found."""
    depth: int = 0
    """How many links led here from a seed; that of the first acceptance."""
    priority: int = 1
    """3 high, 2 medium, 1 low, 0 discovery."""
    is_start: bool = False
    """Whether this is a start URL of its job, whose changes set the recrawl interval."""
    referrer: str = ""
    """The page that the URL was found on; empty for a seed."""
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected here, oldest first; empty without redirects."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Attached by the seed's sender; passed on, never interpreted."""
    status: int = 0
    """HTTP status of the response."""
    content_type: str = ""
    """Content-Type as the server sent it."""
    content_language: str = ""
    """Content-Language as the server sent it; empty if it did not."""
    etag: str = ""
    """ETag of the response."""
    last_modified: str = ""
    """Last-Modified of the response, as text."""
    total_us: int = 0
    """How long the fetch took, in microseconds."""
    body_bytes: int = 0
    """Size of the body as sent."""
    decoded_bytes: int = 0
    """Size of the body after its encodings were undone."""
    body_object: str = ""
    """Key of the body in the object store; empty where it was inline."""
    rendered: bool = False
    """Whether a browser ran the page."""
    not_modified: bool = False
    """Whether the server responded that nothing changed; all below is empty then."""
    truncated: bool = False
    """Whether the body was cut at a limit."""
    error_class: str = ""
    """Why it could not be parsed; empty where it could."""
    error_message: str = ""
    """The same as a sentence, for people."""
    parse_us: int = 0
    """CPU time of parsing, in microseconds."""
    document_kind: str = "other"
    """What the bytes are, whatever their content type."""
    charset: str = ""
    """Character encoding that was used."""
    charset_evidence: str = ""
    """The evidence for it."""
    extraction: str = "main"
    """How much was extracted."""
    title: str = ""
    """Title."""
    title_source: str = ""
    """Where the title was found: title, og:title, h1."""
    description: str = ""
    """Meta description."""
    text: str = ""
    """Visible text; empty where it is in the object store."""
    main_text: str = ""
    """Main text, without navigation and the like; empty below the level `main`, or where it is in the
    object store."""
    markdown: str = ""
    """Main text as Markdown; empty unless requested."""
    texts_object: str = ""
    """Key in the object store of texts too long to travel: one JSON document with text, main_text and
    markdown."""
    text_chars: int = 0
    """Length of the visible text."""
    main_text_chars: int = 0
    """Length of the main text."""
    word_count: int = 0
    """Words of the main text, or of the visible text below the level `main`."""
    paragraph_count: int = 0
    """How many p elements there are."""
    script_count: int = 0
    """How many script elements there are."""
    form_count: int = 0
    """How many forms there are."""
    password_fields: int = 0
    """How many password fields there are."""
    noscript_text: str = ""
    """Content of noscript elements, clipped."""
    language: str = ""
    """Language as BCP 47; empty where unknown."""
    language_confidence: float = 0.0
    """Confidence of the language, 0 to 1."""
    author: str = ""
    """Author."""
    published_at: str = ""
    """Publication date as ISO 8601; empty where unknown."""
    published_evidence: str = ""
    """Where the publication date was found."""
    modified_at: str = ""
    """Modification date as ISO 8601; empty where unknown."""
    modified_evidence: str = ""
    """Where the modification date was found."""
    site_name: str = ""
    """The site's name for itself."""
    image_url: str = ""
    """The image that represents the page."""
    keywords: tuple[str, ...] = ()
    """Keywords and tags."""
    base_url: str = ""
    """What relative links were resolved against."""
    canonical_url: str = ""
    """The page's canonical URL, resolved; empty for none."""
    alternate_urls: tuple[str, ...] = ()
    """Alternates: other languages, feeds, other forms."""
    alternate_languages: tuple[str, ...] = ()
    """Language of each alternate, or empty."""
    alternate_types: tuple[str, ...] = ()
    """Content type of each alternate, or empty."""
    refresh_url: str = ""
    """Where a meta refresh points, resolved; empty for none."""
    refresh_seconds: float = -1.0
    """After how long; -1 without a refresh."""
    open_graph: Mapping[str, str] = field(default_factory=dict)
    """Open Graph properties."""
    twitter: Mapping[str, str] = field(default_factory=dict)
    """Twitter card properties."""
    meta: Mapping[str, str] = field(default_factory=dict)
    """Further meta tags by name, clipped."""
    robots_directives: tuple[str, ...] = ()
    """Directives for robots that apply to this crawler, from meta tags and X-Robots-Tag, lower case."""
    noindex: bool = False
    """Whether the page is marked noindex."""
    nofollow: bool = False
    """Whether the page is marked nofollow."""
    noarchive: bool = False
    """Whether the page is marked noarchive."""
    raw_hash: str = ""
    """SHA-256, in lower-case hex, of the decoded body."""
    text_hash: str = ""
    """SHA-256, in lower-case hex, of the text that decides about a change; empty where there is none."""
    simhash: int = 0
    """64-bit SimHash of the main text as a signed number; 0 where there is no text."""
    page_kind: str = "other"
    """What kind of page it is."""
    page_kind_confidence: float = 0.0
    """Confidence of the language, 0 to 1."""
    next_url: str = ""
    """The next page of a list; empty for none."""
    previous_url: str = ""
    """The previous page; empty for none."""
    page_urls: tuple[str, ...] = ()
    """Numbered pages that are linked."""
    pagination_style: str = "none"
    """How pages of the list are addressed."""
    pagination_pattern: str = ""
    """URL with {N} where the number goes; empty where unknown."""
    pagination_number: int = 0
    """Number of this page; 0 where unknown."""
    pagination_last: int = 0
    """Highest number that is linked; 0 where unknown."""
    no_results: bool = False
    """Whether the page states that it lists nothing."""
    link_urls: tuple[str, ...] = ()
    """Outlinks as found, without repeats, best first."""
    link_keys: tuple[str, ...] = ()
    """Key of each link; an empty array means that the reader computes them."""
    link_anchors: tuple[str, ...] = ()
    """Anchor text of each link, clipped."""
    link_rels: tuple[int, ...] = ()
    """Flags of each link: 1 nofollow, 2 ugc, 4 sponsored, 8 noopener, 16 next, 32 previous, 64 a frame."""
    link_regions: tuple[int, ...] = ()
    """Where on the page each link stands: 0 elsewhere, 1 main, 2 navigation, 3 header, 4 footer, 5 aside."""
    links_found: int = 0
    """How many links there were before the limit, with those that cannot be fetched."""
    links_dropped: int = 0
    """How many links the limit dropped, or cannot be fetched."""
    image_urls: tuple[str, ...] = ()
    """Images of the page."""
    image_alts: tuple[str, ...] = ()
    """Alternative text of each image."""
    feed_urls: tuple[str, ...] = ()
    """Feeds that the page declares."""
    entry_urls: tuple[str, ...] = ()
    """For a sitemap or feed: the URLs that it lists."""
    entry_lastmods_ms: tuple[int, ...] = ()
    """When each entry changed, in milliseconds since 1970; -1 where unknown."""
    entry_titles: tuple[str, ...] = ()
    """Title of each entry of a feed; an empty array for sitemaps."""
    entry_changefreqs: tuple[str, ...] = ()
    """changefreq of each entry; an empty array where all are unknown."""
    entry_priorities: tuple[float, ...] = ()
    """priority of each entry, -1 where unknown; an empty array where all are unknown."""
    entry_kinds: tuple[str, ...] = ()
    """The expected kind of document of each entry; an empty array means pages."""
    part: int = 1
    """Number of this part: a long sitemap travels in several events."""
    is_last_part: bool = True
    """Whether this is the last part."""
    structured_json: str = ""
    """JSON-LD, microdata and RDFa of the page as one JSON array; empty below the level `records`."""
    structured_formats: tuple[str, ...] = ()
    """Formats that were found."""
    structured_types: tuple[str, ...] = ()
    """Types that were found, such as Product or NewsArticle."""
    structured_errors: tuple[str, ...] = ()
    """What was broken in them, and whether it was repaired."""
    products: tuple[Product, ...] = ()
    """Products that the page offers."""
    records_json: str = ""
    """What a site parser extracted besides, as JSON; empty for none."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "url": self.url,
            "url_key": self.url_key,
            "origin": self.origin,
            "group": self.group,
            "job_id": self.job_id,
            "execution_id": self.execution_id,
            "crawl_spec_id": self.crawl_spec_id,
            "fetch_sequence": self.fetch_sequence,
            "outcome": self.outcome,
            "parser": self.parser,
            "parser_version": self.parser_version,
            "fetched_at_ms": self.fetched_at_ms,
            "kind": self.kind,
            "hop": self.hop,
            "depth": self.depth,
            "priority": self.priority,
            "is_start": self.is_start,
            "referrer": self.referrer,
            "redirect_chain": self.redirect_chain,
            "metadata": self.metadata,
            "status": self.status,
            "content_type": self.content_type,
            "content_language": self.content_language,
            "etag": self.etag,
            "last_modified": self.last_modified,
            "total_us": self.total_us,
            "body_bytes": self.body_bytes,
            "decoded_bytes": self.decoded_bytes,
            "body_object": self.body_object,
            "rendered": self.rendered,
            "not_modified": self.not_modified,
            "truncated": self.truncated,
            "error_class": self.error_class,
            "error_message": self.error_message,
            "parse_us": self.parse_us,
            "document_kind": self.document_kind,
            "charset": self.charset,
            "charset_evidence": self.charset_evidence,
            "extraction": self.extraction,
            "title": self.title,
            "title_source": self.title_source,
            "description": self.description,
            "text": self.text,
            "main_text": self.main_text,
            "markdown": self.markdown,
            "texts_object": self.texts_object,
            "text_chars": self.text_chars,
            "main_text_chars": self.main_text_chars,
            "word_count": self.word_count,
            "paragraph_count": self.paragraph_count,
            "script_count": self.script_count,
            "form_count": self.form_count,
            "password_fields": self.password_fields,
            "noscript_text": self.noscript_text,
            "language": self.language,
            "language_confidence": self.language_confidence,
            "author": self.author,
            "published_at": self.published_at,
            "published_evidence": self.published_evidence,
            "modified_at": self.modified_at,
            "modified_evidence": self.modified_evidence,
            "site_name": self.site_name,
            "image_url": self.image_url,
            "keywords": self.keywords,
            "base_url": self.base_url,
            "canonical_url": self.canonical_url,
            "alternate_urls": self.alternate_urls,
            "alternate_languages": self.alternate_languages,
            "alternate_types": self.alternate_types,
            "refresh_url": self.refresh_url,
            "refresh_seconds": self.refresh_seconds,
            "open_graph": self.open_graph,
            "twitter": self.twitter,
            "meta": self.meta,
            "robots_directives": self.robots_directives,
            "noindex": self.noindex,
            "nofollow": self.nofollow,
            "noarchive": self.noarchive,
            "raw_hash": self.raw_hash,
            "text_hash": self.text_hash,
            "simhash": self.simhash,
            "page_kind": self.page_kind,
            "page_kind_confidence": self.page_kind_confidence,
            "next_url": self.next_url,
            "previous_url": self.previous_url,
            "page_urls": self.page_urls,
            "pagination_style": self.pagination_style,
            "pagination_pattern": self.pagination_pattern,
            "pagination_number": self.pagination_number,
            "pagination_last": self.pagination_last,
            "no_results": self.no_results,
            "link_urls": self.link_urls,
            "link_keys": self.link_keys,
            "link_anchors": self.link_anchors,
            "link_rels": self.link_rels,
            "link_regions": self.link_regions,
            "links_found": self.links_found,
            "links_dropped": self.links_dropped,
            "image_urls": self.image_urls,
            "image_alts": self.image_alts,
            "feed_urls": self.feed_urls,
            "entry_urls": self.entry_urls,
            "entry_lastmods_ms": self.entry_lastmods_ms,
            "entry_titles": self.entry_titles,
            "entry_changefreqs": self.entry_changefreqs,
            "entry_priorities": self.entry_priorities,
            "entry_kinds": self.entry_kinds,
            "part": self.part,
            "is_last_part": self.is_last_part,
            "structured_json": self.structured_json,
            "structured_formats": self.structured_formats,
            "structured_types": self.structured_types,
            "structured_errors": self.structured_errors,
            "products": [item.to_record() for item in self.products],
            "records_json": self.records_json,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["url"],
            record["url_key"],
            record["origin"],
            record["group"],
            record["job_id"],
            record["execution_id"],
            record["crawl_spec_id"],
            record["fetch_sequence"],
            record["outcome"],
            record["parser"],
            record["parser_version"],
            record["fetched_at_ms"],
            record["kind"],
            record["hop"],
            record["depth"],
            record["priority"],
            record["is_start"],
            record["referrer"],
            tuple(record["redirect_chain"]),
            record["metadata"],
            record["status"],
            record["content_type"],
            record["content_language"],
            record["etag"],
            record["last_modified"],
            record["total_us"],
            record["body_bytes"],
            record["decoded_bytes"],
            record["body_object"],
            record["rendered"],
            record["not_modified"],
            record["truncated"],
            record["error_class"],
            record["error_message"],
            record["parse_us"],
            record["document_kind"],
            record["charset"],
            record["charset_evidence"],
            record["extraction"],
            record["title"],
            record["title_source"],
            record["description"],
            record["text"],
            record["main_text"],
            record["markdown"],
            record["texts_object"],
            record["text_chars"],
            record["main_text_chars"],
            record["word_count"],
            record["paragraph_count"],
            record["script_count"],
            record["form_count"],
            record["password_fields"],
            record["noscript_text"],
            record["language"],
            record["language_confidence"],
            record["author"],
            record["published_at"],
            record["published_evidence"],
            record["modified_at"],
            record["modified_evidence"],
            record["site_name"],
            record["image_url"],
            tuple(record["keywords"]),
            record["base_url"],
            record["canonical_url"],
            tuple(record["alternate_urls"]),
            tuple(record["alternate_languages"]),
            tuple(record["alternate_types"]),
            record["refresh_url"],
            record["refresh_seconds"],
            record["open_graph"],
            record["twitter"],
            record["meta"],
            tuple(record["robots_directives"]),
            record["noindex"],
            record["nofollow"],
            record["noarchive"],
            record["raw_hash"],
            record["text_hash"],
            record["simhash"],
            record["page_kind"],
            record["page_kind_confidence"],
            record["next_url"],
            record["previous_url"],
            tuple(record["page_urls"]),
            record["pagination_style"],
            record["pagination_pattern"],
            record["pagination_number"],
            record["pagination_last"],
            record["no_results"],
            tuple(record["link_urls"]),
            tuple(record["link_keys"]),
            tuple(record["link_anchors"]),
            tuple(record["link_rels"]),
            tuple(record["link_regions"]),
            record["links_found"],
            record["links_dropped"],
            tuple(record["image_urls"]),
            tuple(record["image_alts"]),
            tuple(record["feed_urls"]),
            tuple(record["entry_urls"]),
            tuple(record["entry_lastmods_ms"]),
            tuple(record["entry_titles"]),
            tuple(record["entry_changefreqs"]),
            tuple(record["entry_priorities"]),
            tuple(record["entry_kinds"]),
            record["part"],
            record["is_last_part"],
            record["structured_json"],
            tuple(record["structured_formats"]),
            tuple(record["structured_types"]),
            tuple(record["structured_errors"]),
            tuple([Product.from_record(item) for item in record["products"]]),
            record["records_json"],
        )


@fast_dataclass(frozen=True, slots=True)
class PageRejected:
    """A page that is not content, with the reason. Also published by a pipeline service that gives up a
    page, from the message's headers; fields that are not in them are empty then."""

    SCHEMA_NAME: ClassVar[str] = "page-rejected.v2"
    url_key: str
    """SHA-256, in lower-case hex, of the URL's normal form."""
    group: str
    """The host group: the unit of politeness."""
    job_id: str
    """The job."""
    execution_id: str
    """The run."""
    fetch_sequence: int
    """Number of this fetch among all fetches of the entry."""
    validation_status: str
    """Always a rejecting status."""
    rejection_reason: str
    """Why it was rejected."""
    rejection_kind: str
    """The consequence: none, a rendering fetch, a block of the group."""
    rejected_by: str
    """The service that rejected it."""
    rejected_at_ms: int
    """When, in milliseconds since 1970."""
    url: str = ""
    """The URL as found; empty where it could not be read."""
    origin: str = ""
    """Its origin; empty where it could not be read."""
    crawl_spec_id: str = ""
    """The crawl spec; empty where it could not be read."""
    kind: str = "page"
    """The expected kind of document."""
    hop: int = 0
    """How many redirects led here from the URL that was found."""
    depth: int = 0
    """How many links led here from a seed; that of the first acceptance."""
    priority: int = 1
    """3 high, 2 medium, 1 low, 0 discovery."""
    is_start: bool = False
    """Whether this is a start URL of its job, whose changes set the recrawl interval."""
    referrer: str = ""
    """The page that the URL was found on; empty for a seed."""
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected here, oldest first; empty without redirects."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Attached by the seed's sender; passed on, never interpreted."""
    detail: str = ""
    """Detail: the pattern that matched, the error, the limit."""
    rules_version: str = ""
    """Version of the validation rules."""
    status: int = 0
    """HTTP status of the response."""
    content_type: str = ""
    """Content-Type as the server sent it."""
    fetched_at_ms: int = 0
    """When the response was complete, in milliseconds since 1970; 0 where unknown."""
    parse_outcome: str = ""
    """Outcome of parsing."""
    parser: str = ""
    """The parser that parsed it."""
    parser_version: str = ""
    """Its version."""
    page_kind: str = "other"
    """What kind of page it is."""
    document_kind: str = "other"
    """What the bytes are."""
    title: str = ""
    """Title, for people who inspect rejections."""
    excerpt: str = ""
    """First words of the text, for people who inspect rejections."""
    text_chars: int = 0
    """Length of the visible text."""
    body_bytes: int = 0
    """Size of the body as sent."""
    body_object: str = ""
    """Key of the body in the object store; empty where it was inline."""
    raw_hash: str = ""
    """SHA-256, in lower-case hex, of the decoded body."""
    text_hash: str = ""
    """SHA-256, in lower-case hex, of the text."""
    simhash: int = 0
    """64-bit SimHash as a signed number; 0 where there is no text."""
    near_duplicate_of: str = ""
    """Key of an earlier URL with nearly the same text; empty for none."""
    near_duplicate_distance: int = -1
    """SimHash bits that differ; -1 for none."""
    rendered: bool = False
    """Whether a browser ran the page."""
    etag: str = ""
    """ETag of the response."""
    last_modified: str = ""
    """Last-Modified of the response, as text."""
    total_us: int = 0
    """How long the fetch took, in microseconds; 0 where unknown."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "url_key": self.url_key,
            "group": self.group,
            "job_id": self.job_id,
            "execution_id": self.execution_id,
            "fetch_sequence": self.fetch_sequence,
            "validation_status": self.validation_status,
            "rejection_reason": self.rejection_reason,
            "rejection_kind": self.rejection_kind,
            "rejected_by": self.rejected_by,
            "rejected_at_ms": self.rejected_at_ms,
            "url": self.url,
            "origin": self.origin,
            "crawl_spec_id": self.crawl_spec_id,
            "kind": self.kind,
            "hop": self.hop,
            "depth": self.depth,
            "priority": self.priority,
            "is_start": self.is_start,
            "referrer": self.referrer,
            "redirect_chain": self.redirect_chain,
            "metadata": self.metadata,
            "detail": self.detail,
            "rules_version": self.rules_version,
            "status": self.status,
            "content_type": self.content_type,
            "fetched_at_ms": self.fetched_at_ms,
            "parse_outcome": self.parse_outcome,
            "parser": self.parser,
            "parser_version": self.parser_version,
            "page_kind": self.page_kind,
            "document_kind": self.document_kind,
            "title": self.title,
            "excerpt": self.excerpt,
            "text_chars": self.text_chars,
            "body_bytes": self.body_bytes,
            "body_object": self.body_object,
            "raw_hash": self.raw_hash,
            "text_hash": self.text_hash,
            "simhash": self.simhash,
            "near_duplicate_of": self.near_duplicate_of,
            "near_duplicate_distance": self.near_duplicate_distance,
            "rendered": self.rendered,
            "etag": self.etag,
            "last_modified": self.last_modified,
            "total_us": self.total_us,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["url_key"],
            record["group"],
            record["job_id"],
            record["execution_id"],
            record["fetch_sequence"],
            record["validation_status"],
            record["rejection_reason"],
            record["rejection_kind"],
            record["rejected_by"],
            record["rejected_at_ms"],
            record["url"],
            record["origin"],
            record["crawl_spec_id"],
            record["kind"],
            record["hop"],
            record["depth"],
            record["priority"],
            record["is_start"],
            record["referrer"],
            tuple(record["redirect_chain"]),
            record["metadata"],
            record["detail"],
            record["rules_version"],
            record["status"],
            record["content_type"],
            record["fetched_at_ms"],
            record["parse_outcome"],
            record["parser"],
            record["parser_version"],
            record["page_kind"],
            record["document_kind"],
            record["title"],
            record["excerpt"],
            record["text_chars"],
            record["body_bytes"],
            record["body_object"],
            record["raw_hash"],
            record["text_hash"],
            record["simhash"],
            record["near_duplicate_of"],
            record["near_duplicate_distance"],
            record["rendered"],
            record["etag"],
            record["last_modified"],
            record["total_us"],
        )


@fast_dataclass(frozen=True, slots=True)
class PageSettled:
    """A page was processed by every service: its links are acknowledged by the broker. Closes the entry of
    the same execution and fetch sequence, and carries the input of recrawl decisions."""

    SCHEMA_NAME: ClassVar[str] = "page-settled.v2"
    url_key: str
    """SHA-256, in lower-case hex, of the URL's normal form."""
    group: str
    """The host group: the unit of politeness."""
    job_id: str
    """The job."""
    execution_id: str
    """The run."""
    fetch_sequence: int
    """The fetch that this settles."""
    verdict: str
    """The verdict on the page."""
    settled_at_ms: int
    """When, in milliseconds since 1970."""
    url: str = ""
    """The URL as found; empty where it could not be read."""
    reason: str = ""
    """Why the page was rejected; empty where it was not."""
    rejection_kind: str = ""
    """The consequence of a rejection; empty where there was none."""
    detail: str = ""
    """The same as a sentence, for people."""
    raw_hash: str = ""
    """SHA-256, in lower-case hex, of the decoded body; empty where unknown."""
    text_hash: str = ""
    """SHA-256, in lower-case hex, of the text; empty where unknown."""
    not_modified: bool = False
    """Whether the server responded that nothing changed."""
    page_kind: str = "other"
    """What kind of page it is."""
    document_kind: str = "other"
    """What the bytes are."""
    kind: str = "page"
    """The expected kind of document."""
    is_start: bool = False
    """Whether it is a start URL of its job."""
    links_found: int = 0
    """Links on the page."""
    links_taken: int = 0
    """Links accepted for the frontier."""
    links_seen: int = 0
    """Links left out as already seen."""
    links_refused: int = 0
    """Links refused, each with its reason on `urls-decided`."""
    pagination_pattern: str = ""
    """URL with {N} where the number goes; empty where unknown."""
    pagination_number: int = 0
    """Number of this page; 0 where unknown."""
    no_results: bool = False
    """Whether the page states that it lists nothing, so that its pattern ends here."""
    noindex: bool = False
    """Whether the page is marked noindex."""
    text_chars: int = 0
    """Length of the visible text."""
    status: int = 0
    """HTTP status of the response; 0 where unknown."""
    etag: str = ""
    """ETag of the response."""
    last_modified: str = ""
    """Last-Modified of the response, as text."""
    total_us: int = 0
    """How long the fetch took, in microseconds; 0 where the response is unknown."""
    body_bytes: int = 0
    """Size of the body as sent."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "url_key": self.url_key,
            "group": self.group,
            "job_id": self.job_id,
            "execution_id": self.execution_id,
            "fetch_sequence": self.fetch_sequence,
            "verdict": self.verdict,
            "settled_at_ms": self.settled_at_ms,
            "url": self.url,
            "reason": self.reason,
            "rejection_kind": self.rejection_kind,
            "detail": self.detail,
            "raw_hash": self.raw_hash,
            "text_hash": self.text_hash,
            "not_modified": self.not_modified,
            "page_kind": self.page_kind,
            "document_kind": self.document_kind,
            "kind": self.kind,
            "is_start": self.is_start,
            "links_found": self.links_found,
            "links_taken": self.links_taken,
            "links_seen": self.links_seen,
            "links_refused": self.links_refused,
            "pagination_pattern": self.pagination_pattern,
            "pagination_number": self.pagination_number,
            "no_results": self.no_results,
            "noindex": self.noindex,
            "text_chars": self.text_chars,
            "status": self.status,
            "etag": self.etag,
            "last_modified": self.last_modified,
            "total_us": self.total_us,
            "body_bytes": self.body_bytes,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["url_key"],
            record["group"],
            record["job_id"],
            record["execution_id"],
            record["fetch_sequence"],
            record["verdict"],
            record["settled_at_ms"],
            record["url"],
            record["reason"],
            record["rejection_kind"],
            record["detail"],
            record["raw_hash"],
            record["text_hash"],
            record["not_modified"],
            record["page_kind"],
            record["document_kind"],
            record["kind"],
            record["is_start"],
            record["links_found"],
            record["links_taken"],
            record["links_seen"],
            record["links_refused"],
            record["pagination_pattern"],
            record["pagination_number"],
            record["no_results"],
            record["noindex"],
            record["text_chars"],
            record["status"],
            record["etag"],
            record["last_modified"],
            record["total_us"],
            record["body_bytes"],
        )


@fast_dataclass(frozen=True, slots=True)
class Verdict:
    """The validator's verdict on a page: the second half of a validated page."""

    SCHEMA_NAME: ClassVar[str] = "verdict.v1"
    validation_status: str
    """Whether it is content."""
    rules_version: str
    """Version of the validation rules."""
    validated_at_ms: int
    """When, in milliseconds since 1970."""
    rejection_reason: str = ""
    """Why it was rejected; empty where it was not."""
    rejection_kind: str = ""
    """The consequence of the rejection; empty where it was not rejected."""
    quality: float = -1.0
    """Quality, 0 to 1; -1 where it was not computed."""
    warnings: tuple[str, ...] = ()
    """Findings that did not reject the page."""
    near_duplicate_of: str = ""
    """Key of an earlier URL with nearly the same text; empty for none."""
    near_duplicate_distance: int = -1
    """SimHash bits that differ; -1 for none."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "validation_status": self.validation_status,
            "rules_version": self.rules_version,
            "validated_at_ms": self.validated_at_ms,
            "rejection_reason": self.rejection_reason,
            "rejection_kind": self.rejection_kind,
            "quality": self.quality,
            "warnings": self.warnings,
            "near_duplicate_of": self.near_duplicate_of,
            "near_duplicate_distance": self.near_duplicate_distance,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["validation_status"],
            record["rules_version"],
            record["validated_at_ms"],
            record["rejection_reason"],
            record["rejection_kind"],
            record["quality"],
            tuple(record["warnings"]),
            record["near_duplicate_of"],
            record["near_duplicate_distance"],
        )


@fast_dataclass(frozen=True, slots=True)
class PageValidated:
    """A page that is content: the parsed page as it was written, then the verdict. Avro is plain
    concatenation, so the validator splices and never re-encodes; no third field may ever come between or
    before."""

    SCHEMA_NAME: ClassVar[str] = "page-validated.v1"
    page: PageParsed
    """The parsed page, byte for byte."""
    verdict: Verdict
    """The validator's verdict."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "page": self.page.to_record(),
            "verdict": self.verdict.to_record(),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            PageParsed.from_record(record["page"]),
            Verdict.from_record(record["verdict"]),
        )


@fast_dataclass(frozen=True, slots=True)
class SchemaDeclared:
    """A writer's schema; published and acknowledged before the first message with it."""

    SCHEMA_NAME: ClassVar[str] = "schema-declared.v1"
    fingerprint: str
    """CRC-64-AVRO fingerprint of the schema's canonical form, as 16 lower-case hex digits of its little-
    endian bytes, as in single-object encoding."""
    name: str
    """Name of the schema with its version, such as page-fetched.v1."""
    schema: str
    """The schema, self-contained, as JSON text."""
    declared_by: str = ""
    """The service that writes with it."""
    declared_at_ms: int = 0
    """When, in milliseconds since 1970."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "fingerprint": self.fingerprint,
            "name": self.name,
            "schema": self.schema,
            "declared_by": self.declared_by,
            "declared_at_ms": self.declared_at_ms,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["fingerprint"],
            record["name"],
            record["schema"],
            record["declared_by"],
            record["declared_at_ms"],
        )


@fast_dataclass(frozen=True, slots=True)
class SeedSubmitted:
    """A URL to crawl. The public way in: only `url` is required, and a plain JSON document will do."""

    SCHEMA_NAME: ClassVar[str] = "seed-submitted.v4"
    url: str
    """The URL to crawl; empty in a message that closes a run."""
    max_depth: int | None = None
    """How many links to follow from here; null or 0 means the default of 3, more than 10 is refused."""
    scope: str | None = None
    """How far links may lead; null means the crawl spec's, and without one `host`."""
    priority: int = 3
    """3 high, 2 medium, 1 low, 0 discovery."""
    job_id: str | None = None
    """The job it belongs to; null means the job `adhoc`."""
    delay: float | None = None
    """Seconds between two requests to a host; null means the configured delay. robots.txt may require
    more."""
    fresh: bool = False
    """Fetch it even where it is known, and unconditionally."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Free text by name; copied to each page result."""
    execution_id: str | None = None
    """The run it starts; null means the day's run of `adhoc`."""
    crawl_spec_id: str | None = None
    """A crawl spec that was declared before; null means one is made from this seed."""
    source_id: str | None = None
    """The source whose start URL it is."""
    seed_id: str | None = None
    """The same for a seed that is published again; null means that each message is a seed of its own."""
    kind: str = "page"
    """The expected kind of document."""
    include: tuple[str, ...] = ()
    """Only URLs that match one of these patterns are followed; empty means all in scope."""
    exclude: tuple[str, ...] = ()
    """URLs that match one of these patterns are not followed."""
    extraction: str | None = None
    """How much is extracted; null means the default."""
    max_pages: int | None = None
    """At most this many pages in the run; null means the configured budget."""
    max_bytes: int | None = None
    """At most this many bytes in the run; null means the configured budget."""
    max_seconds: int | None = None
    """The run ends after this many seconds; null means the configured budget."""
    max_pages_per_host: int | None = None
    """At most this many pages of one host in the run; null means the configured budget."""
    max_pages_per_domain: int | None = None
    """At most this many pages of one registrable domain in the run; null means the configured budget."""
    max_bytes_per_host: int | None = None
    """At most this many bytes of one host in the run; null means the configured budget."""
    max_bytes_per_domain: int | None = None
    """At most this many bytes of one registrable domain in the run; null means the configured budget."""
    max_seconds_per_host: int | None = None
    """At most this many seconds of requests of one host in the run; null means the configured budget."""
    max_seconds_per_domain: int | None = None
    """At most this many seconds of requests of one registrable domain in the run; null means the
    configured budget."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Request headers to add."""
    spec: str = ""
    """Further settings of the run: a JSON object with fields of a crawl spec; fields of the seed come
    first. Empty means none."""
    submitted_by: str = ""
    """Who sent it: a service, a user, a system."""
    submitted_at_ms: int = 0
    """When it was sent, in milliseconds since 1970; 0 where the sender did not set it."""
    close: bool = False
    """Whether it is no URL to crawl, but closes its run: no more seeds of it come. `url` is empty then."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "url": self.url,
            "max_depth": self.max_depth,
            "scope": self.scope,
            "priority": self.priority,
            "job_id": self.job_id,
            "delay": self.delay,
            "fresh": self.fresh,
            "metadata": self.metadata,
            "execution_id": self.execution_id,
            "crawl_spec_id": self.crawl_spec_id,
            "source_id": self.source_id,
            "seed_id": self.seed_id,
            "kind": self.kind,
            "include": self.include,
            "exclude": self.exclude,
            "extraction": self.extraction,
            "max_pages": self.max_pages,
            "max_bytes": self.max_bytes,
            "max_seconds": self.max_seconds,
            "max_pages_per_host": self.max_pages_per_host,
            "max_pages_per_domain": self.max_pages_per_domain,
            "max_bytes_per_host": self.max_bytes_per_host,
            "max_bytes_per_domain": self.max_bytes_per_domain,
            "max_seconds_per_host": self.max_seconds_per_host,
            "max_seconds_per_domain": self.max_seconds_per_domain,
            "headers": self.headers,
            "spec": self.spec,
            "submitted_by": self.submitted_by,
            "submitted_at_ms": self.submitted_at_ms,
            "close": self.close,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["url"],
            record["max_depth"],
            record["scope"],
            record["priority"],
            record["job_id"],
            record["delay"],
            record["fresh"],
            record["metadata"],
            record["execution_id"],
            record["crawl_spec_id"],
            record["source_id"],
            record["seed_id"],
            record["kind"],
            tuple(record["include"]),
            tuple(record["exclude"]),
            record["extraction"],
            record["max_pages"],
            record["max_bytes"],
            record["max_seconds"],
            record["max_pages_per_host"],
            record["max_pages_per_domain"],
            record["max_bytes_per_host"],
            record["max_bytes_per_domain"],
            record["max_seconds_per_host"],
            record["max_seconds_per_domain"],
            record["headers"],
            record["spec"],
            record["submitted_by"],
            record["submitted_at_ms"],
            record["close"],
        )


@fast_dataclass(frozen=True, slots=True)
class SourceSaved:
    """A website to watch: its latest state, by source id. A tombstone deletes it."""

    SCHEMA_NAME: ClassVar[str] = "source-saved.v3"
    source_id: str
    """Name of the source; never given twice."""
    name: str
    """Display name."""
    url: str
    """Its first start URL."""
    start_urls: tuple[str, ...] = ()
    """Further start URLs."""
    enabled: bool = True
    """Whether its jobs may run."""
    domains: tuple[str, ...] = ()
    """Hosts and domains that belong to it besides those of its start URLs."""
    max_depth: int = 0
    """How many links to follow; 0 means the default of 3."""
    scope: str = "host"
    """How far links may lead."""
    include: tuple[str, ...] = ()
    """Only URLs that match one of these patterns are followed."""
    exclude: tuple[str, ...] = ()
    """URLs that match one of these patterns are not followed."""
    priority: int = 2
    """3 high, 2 medium, 1 low, 0 discovery."""
    delay_seconds: float | None = None
    """Seconds between two requests to one of its hosts; null means the configured delay."""
    max_concurrent_requests: int = 1
    """Requests in flight to one of its hosts."""
    interval_minutes: int = 0
    """How often it is crawled; 0 means on command only."""
    crawl_frequency_seconds: int = 86400
    """How often its pages are crawled again in a continuous crawl."""
    adaptive_scheduling: bool = True
    """Whether the interval follows how often it changes."""
    change_basis: str = "text"
    """Which hash decides whether a page has changed."""
    extraction: str = "main"
    """How much is extracted."""
    parser: str = ""
    """A site parser to use; empty means the one that knows the domain."""
    feed_urls: tuple[str, ...] = ()
    """Feeds that each run reads."""
    feed_poll_seconds: int | None = None
    """Seconds between two polls of a feed; 0: feeds are not polled; null: as configured."""
    sitemap_urls: tuple[str, ...] = ()
    """Sitemaps to read."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Request headers to add."""
    insecure_tls: bool = False
    """Whether certificates that do not verify are accepted; recorded with each page."""
    max_pages: int = 0
    """At most this many pages a run; 0 means the configured budget."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Free text by name."""
    created_at_ms: int = 0
    """When it was saved first, in milliseconds since 1970."""
    updated_at_ms: int = 0
    """When it was saved last, in milliseconds since 1970."""
    updated_by: str = ""
    """Who saved it last."""
    version: int = 0
    """Counts its changes from 1: a record with a lower version than the one that is known is out of date.
    0 in records that were saved without it."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "source_id": self.source_id,
            "name": self.name,
            "url": self.url,
            "start_urls": self.start_urls,
            "enabled": self.enabled,
            "domains": self.domains,
            "max_depth": self.max_depth,
            "scope": self.scope,
            "include": self.include,
            "exclude": self.exclude,
            "priority": self.priority,
            "delay_seconds": self.delay_seconds,
            "max_concurrent_requests": self.max_concurrent_requests,
            "interval_minutes": self.interval_minutes,
            "crawl_frequency_seconds": self.crawl_frequency_seconds,
            "adaptive_scheduling": self.adaptive_scheduling,
            "change_basis": self.change_basis,
            "extraction": self.extraction,
            "parser": self.parser,
            "feed_urls": self.feed_urls,
            "feed_poll_seconds": self.feed_poll_seconds,
            "sitemap_urls": self.sitemap_urls,
            "headers": self.headers,
            "insecure_tls": self.insecure_tls,
            "max_pages": self.max_pages,
            "metadata": self.metadata,
            "created_at_ms": self.created_at_ms,
            "updated_at_ms": self.updated_at_ms,
            "updated_by": self.updated_by,
            "version": self.version,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["source_id"],
            record["name"],
            record["url"],
            tuple(record["start_urls"]),
            record["enabled"],
            tuple(record["domains"]),
            record["max_depth"],
            record["scope"],
            tuple(record["include"]),
            tuple(record["exclude"]),
            record["priority"],
            record["delay_seconds"],
            record["max_concurrent_requests"],
            record["interval_minutes"],
            record["crawl_frequency_seconds"],
            record["adaptive_scheduling"],
            record["change_basis"],
            record["extraction"],
            record["parser"],
            tuple(record["feed_urls"]),
            record["feed_poll_seconds"],
            tuple(record["sitemap_urls"]),
            record["headers"],
            record["insecure_tls"],
            record["max_pages"],
            record["metadata"],
            record["created_at_ms"],
            record["updated_at_ms"],
            record["updated_by"],
            record["version"],
        )


@fast_dataclass(frozen=True, slots=True)
class TallyKept:
    """How many echoes a host has had: the latest state, by host."""

    SCHEMA_NAME: ClassVar[str] = "tally-kept.v1"
    host: str
    """The host that is counted."""
    count: int
    """How many echoes were counted, refusals left out."""
    counted_offset: int
    """Offset in the host's partition of `echoes` up to which they are counted; repeats below it change
    nothing."""
    refused: int = 0
    """How many refusals were counted."""
    last_request_id: str = ""
    """The request that was counted last."""
    updated_at_ms: int = 0
    """Timestamp of the echo that was counted last, in milliseconds since 1970."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "host": self.host,
            "count": self.count,
            "counted_offset": self.counted_offset,
            "refused": self.refused,
            "last_request_id": self.last_request_id,
            "updated_at_ms": self.updated_at_ms,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["host"],
            record["count"],
            record["counted_offset"],
            record["refused"],
            record["last_request_id"],
            record["updated_at_ms"],
        )


@fast_dataclass(frozen=True, slots=True)
class UrlsDecided:
    """Why URLs were not crawled, or not stored: one message a page or batch, one item a URL in the
    parallel arrays."""

    SCHEMA_NAME: ClassVar[str] = "urls-decided.v1"
    url_key: str
    """The page that they were found on, or the one URL that this is about: the key of the message."""
    decided_by: str
    """The service that decided."""
    decided_at_ms: int
    """When, in milliseconds since 1970."""
    urls: tuple[str, ...]
    """The URLs in wire form, or the text where it is not a URL."""
    url_keys: tuple[str, ...]
    """Key of each URL; empty where it is not a URL."""
    decisions: tuple[str, ...]
    """What was decided about each."""
    reasons: tuple[str, ...]
    """Why."""
    details: tuple[str, ...] = ()
    """The rule, limit or error; an empty array where there is no detail."""
    page_url: str = ""
    """The page that they were found on; empty for seeds and entries."""
    job_id: str = ""
    """The job; empty where the URLs differ in it."""
    execution_id: str = ""
    """The run; empty where the URLs differ in it."""
    job_ids: tuple[str, ...] = ()
    """Job of each URL, where they differ."""
    execution_ids: tuple[str, ...] = ()
    """Run of each URL, where they differ."""
    crawl_spec_id: str = ""
    """The crawl spec; empty where the URLs differ in it."""
    fetch_sequences: tuple[int, ...] = ()
    """The fetch of each URL that was fetched; an empty array where none was."""
    depths: tuple[int, ...] = ()
    """Depth of each URL; an empty array where it plays no part."""
    statuses: tuple[int, ...] = ()
    """HTTP status of each URL, 0 for none; an empty array where none was requested."""
    redirect_targets: tuple[str, ...] = ()
    """Where each URL redirects to; an empty array where none does."""
    referrers: tuple[str, ...] = ()
    """For accepted entries: the page that each was found on; an empty array where `page_url` applies to
    all."""
    not_listed: int = 0
    """How many more were refused for the same reasons without being listed."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""
        return {
            "url_key": self.url_key,
            "decided_by": self.decided_by,
            "decided_at_ms": self.decided_at_ms,
            "urls": self.urls,
            "url_keys": self.url_keys,
            "decisions": self.decisions,
            "reasons": self.reasons,
            "details": self.details,
            "page_url": self.page_url,
            "job_id": self.job_id,
            "execution_id": self.execution_id,
            "job_ids": self.job_ids,
            "execution_ids": self.execution_ids,
            "crawl_spec_id": self.crawl_spec_id,
            "fetch_sequences": self.fetch_sequences,
            "depths": self.depths,
            "statuses": self.statuses,
            "redirect_targets": self.redirect_targets,
            "referrers": self.referrers,
            "not_listed": self.not_listed,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them; every field must be present."""
        return cls(
            record["url_key"],
            record["decided_by"],
            record["decided_at_ms"],
            tuple(record["urls"]),
            tuple(record["url_keys"]),
            tuple(record["decisions"]),
            tuple(record["reasons"]),
            tuple(record["details"]),
            record["page_url"],
            record["job_id"],
            record["execution_id"],
            tuple(record["job_ids"]),
            tuple(record["execution_ids"]),
            record["crawl_spec_id"],
            tuple(record["fetch_sequences"]),
            tuple(record["depths"]),
            tuple(record["statuses"]),
            tuple(record["redirect_targets"]),
            tuple(record["referrers"]),
            record["not_listed"],
        )


EVENTS: Final[Mapping[str, type[Any]]] = {
    "adaptive-recorded.v1": AdaptiveRecorded,
    "crawl-spec-declared.v3": CrawlSpecDeclared,
    "dead-letter.v1": DeadLetter,
    "echo-requested.v1": EchoRequested,
    "echoed.v1": Echoed,
    "entry-recorded.v2": EntryRecorded,
    "fetch-completed.v1": FetchCompleted,
    "fetch-requested.v1": FetchRequested,
    "host-recorded.v1": HostRecorded,
    "job-event.v3": JobEvent,
    "links-discovered.v1": LinksDiscovered,
    "page-fetched.v1": PageFetched,
    "page-parsed.v1": PageParsed,
    "page-rejected.v2": PageRejected,
    "page-settled.v2": PageSettled,
    "page-validated.v1": PageValidated,
    "schema-declared.v1": SchemaDeclared,
    "seed-submitted.v4": SeedSubmitted,
    "source-saved.v3": SourceSaved,
    "tally-kept.v1": TallyKept,
    "urls-decided.v1": UrlsDecided,
    "verdict.v1": Verdict,
}
"""Every class with a schema of its own, by schema name."""
