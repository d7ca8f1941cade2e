"""From a message of links to candidates: one value for each URL, with all that is known of it.

Takes the parallel arrays apart and says whose group each URL is. Decides nothing about what a URL
deserves; arrays that do not fit each other are a bad message and raise ValueError.
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
class Origin:
    """What a URL came from: a page, a seed, a URL that redirected."""

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
    origin: Origin
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
        """Name of the entry that it is, or would be."""
        return entry_id(self.origin.job_id, self.url_key)

    @property
    def seen_scope(self) -> str:
        """Whose seen-set it is looked up in."""
        return seen_scope(self.origin.job_id, self.origin.crawl_spec_id)


def candidates(event: LinksDiscovered, *, by_domain: bool) -> Iterator[Candidate]:
    """Take a message apart."""
    origins = _origins(event)
    for url, key, at, depth, priority, hop, kind, is_start, is_fresh, token, chain, attached in _rows(event):
        if not 0 <= at < len(origins):
            raise ValueError(f"a URL comes from place {at} of {len(origins)}")
        yield Candidate(
            url,
            key,
            origins[at],
            depth,
            priority,
            group_of(url, by_domain=by_domain),
            hop=hop,
            kind=kind,
            is_start=is_start,
            is_fresh=is_fresh,
            seed_token=token,
            redirect_chain=tuple(chain),
            metadata=attached,
        )


def _origins(event: LinksDiscovered) -> list[Origin]:
    columns = (
        event.from_vias,
        event.from_urls,
        event.from_url_keys,
        event.from_job_ids,
        event.from_execution_ids,
        event.from_crawl_spec_ids,
    )
    return [Origin(*each) for each in zip(*columns, strict=True)]


def _rows(event: LinksDiscovered) -> Iterator[tuple[Any, ...]]:
    """Give the columns of one URL after the other, with the defaults of those that were left out."""
    count = len(event.urls)
    return zip(
        event.urls,
        event.url_keys,
        event.from_at,
        event.depths,
        event.priorities,
        _full(event.hops, 0, count),
        _full(event.kinds, RequestKind.PAGE.value, count),
        _full(event.start_flags, False, count),  # noqa: FBT003  # a column's default
        _full(event.fresh_flags, False, count),  # noqa: FBT003  # same
        _tokens(event),
        _full(event.redirect_chains, (), count),
        _full(event.attachments, NO_METADATA, count),
        strict=True,
    )


def group_of(url: str, *, by_domain: bool) -> str:
    """Say what politeness is about for a URL as found. Not taken from the message: one rule, one place."""
    name = host_of(url)
    return registrable_domain(name) if by_domain else name


def _tokens(event: LinksDiscovered) -> Sequence[str]:
    if not event.seed_topics:
        return ("",) * len(event.urls)
    places = zip(event.seed_topics, event.seed_partitions, event.seed_offsets, strict=True)
    return [f"{topic}/{partition}/{offset}" if topic else "" for topic, partition, offset in places]


def _full(column: Sequence[T], default: T, count: int) -> Sequence[T]:
    return column or (default,) * count
