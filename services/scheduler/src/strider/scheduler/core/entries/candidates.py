"""Parse links-discovered messages into candidates: one value per URL, with all its fields.

Reads the parallel arrays of a message and assigns each URL its host group. Decides nothing about a URL;
arrays of unequal length are a bad message and raise ValueError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeVar

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import LinksDiscovered
from strider.contracts.ids import entry_id, seen_scope
from strider.urls import host_of, registrable_domain

T = TypeVar("T")

NO_METADATA: Mapping[str, str] = {}


@fast_dataclass(frozen=True, slots=True)
class CandidateOrigin:
    """Source of a URL: a page, a seed, or a URL that redirected."""

    via: str
    url: str
    url_key: str
    job_id: str
    execution_id: str
    crawl_spec_id: str


@fast_dataclass(frozen=True, slots=True)
class Candidate:
    """A URL that may become an entry."""

    url: str
    url_key: str
    origin: CandidateOrigin
    depth: int
    priority: int
    group: str
    hop: int = 0
    kind: str = RequestKind.PAGE
    is_start: bool = False
    is_fresh: bool = False
    seed_token: str = ""
    """Topic, partition and offset of its seed; empty for links."""
    redirect_chain: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def entry_id(self) -> str:
        """Id of the entry that it is, or would become."""
        return entry_id(self.origin.job_id, self.url_key)

    @property
    def seen_scope(self) -> str:
        """Name of the seen-set in which it is looked up."""
        return seen_scope(self.origin.job_id, self.origin.crawl_spec_id)


def parse_candidates(event: LinksDiscovered, *, by_domain: bool) -> Iterator[Candidate]:
    """Parse a message into its candidates; raises ValueError for arrays that do not match."""
    origins = _origins(event)
    for url, key, source, depth, priority, hop, kind, is_start, is_fresh, token, chain, metadata in _rows(
        event
    ):
        if not 0 <= source < len(origins):
            raise ValueError(f"URL refers to source {source}, but the message has {len(origins)} sources")
        yield Candidate(
            url,
            key,
            origins[source],
            depth,
            priority,
            host_group_of(url, by_domain=by_domain),
            hop=hop,
            kind=kind,
            is_start=is_start,
            is_fresh=is_fresh,
            seed_token=token,
            redirect_chain=tuple(chain),
            metadata=metadata,
        )


def _origins(event: LinksDiscovered) -> list[CandidateOrigin]:
    columns = (
        event.from_vias,
        event.from_urls,
        event.from_url_keys,
        event.from_job_ids,
        event.from_execution_ids,
        event.from_crawl_spec_ids,
    )
    return [CandidateOrigin(*each) for each in zip(*columns, strict=True)]


def _rows(event: LinksDiscovered) -> Iterator[tuple[Any, ...]]:
    """Yield the columns of one URL after the other, with defaults for omitted columns."""
    count = len(event.urls)
    return zip(
        event.urls,
        event.url_keys,
        event.from_at,
        event.depths,
        event.priorities,
        _column_or_default(event.hops, 0, count),
        _column_or_default(event.kinds, RequestKind.PAGE.value, count),
        _column_or_default(event.start_flags, False, count),  # noqa: FBT003  # a column's default
        _column_or_default(event.fresh_flags, False, count),  # noqa: FBT003  # same
        _tokens(event),
        _column_or_default(event.redirect_chains, (), count),
        _column_or_default(event.attachments, NO_METADATA, count),
        strict=True,
    )


def host_group_of(url: str, *, by_domain: bool) -> str:
    """Return the host group of a wire URL: its host or its registrable domain. Never taken from a message."""
    name = host_of(url)
    return registrable_domain(name) if by_domain else name


def _tokens(event: LinksDiscovered) -> Sequence[str]:
    if not event.seed_topics:
        return ("",) * len(event.urls)
    places = zip(event.seed_topics, event.seed_partitions, event.seed_offsets, strict=True)
    return [f"{topic}/{partition}/{offset}" if topic else "" for topic, partition, offset in places]


def _column_or_default(column: Sequence[T], default: T, count: int) -> Sequence[T]:
    return column or (default,) * count
