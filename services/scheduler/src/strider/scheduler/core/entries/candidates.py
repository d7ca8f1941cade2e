"""Parse links-discovered messages into candidates: one value per URL, with all its fields.

Reads the parallel arrays of a message and assigns each URL its host group. Decides nothing about a URL;
arrays of unequal length are a bad message and raise ValueError.

The seeds that opened an entry are compared and merged as seed tokens. A token is the position of a seed:
topic, partition and offset. Offsets of different partitions cannot be compared, so an entry keeps the latest
of each partition it was opened from, separated by spaces. The target of a redirect is opened on behalf of the
seed behind it, ordered by time: a seed accepted after the target was last opened reaches it again, and a
thousand seeds that all redirect to one page fetch it once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, TypeVar

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import LinksDiscovered
from strider.contracts.ids import entry_id, seen_scope
from strider.urls import host_group_of

REDIRECT_PARTITION: Final = ".moved/0"
"""Pseudo-partition of redirects; its offsets are milliseconds of the server's clock."""

MAX_PARTITIONS: Final = 16
"""Partitions that an entry keeps, of both topics of seeds; the oldest is dropped first. A sender that has a
key for its seeds uses one of each topic.
"""


def is_newer(token: str, than: str) -> bool:
    """Whether a token is newer than another; a redelivered token is not newer than itself."""
    if not token or token == than:
        return False
    offsets = _parse_token(than)
    return any(offset > offsets.get(place, -1) for place, offset in _parse_token(token).items())


def merge_tokens(token: str, before: str) -> str:
    """Return both tokens as one."""
    if not before or not token:
        return token or before
    offsets = dict(_parse_token(before))
    for place, offset in _parse_token(token).items():
        offsets[place] = max(offset, offsets.pop(place, -1))
    return _format_token(offsets)


def redirect_token(taken_at_ms: int) -> str:
    """Return the token of a seed's redirect: the time at which the seed was accepted."""
    return f"{REDIRECT_PARTITION}/{taken_at_ms}"


def opening_token(token: str, now_ms: int) -> str:
    """Return the token to open an entry with: a redirect target counts from now."""
    if REDIRECT_PARTITION not in token:
        return token
    places = _parse_token(token)
    return _format_token({**places, REDIRECT_PARTITION: max(now_ms, places[REDIRECT_PARTITION])})


def _format_token(offsets: Mapping[str, int]) -> str:
    latest = list(offsets.items())[-MAX_PARTITIONS:]
    return " ".join(f"{partition}/{offset}" for partition, offset in latest)


def _parse_token(token: str) -> Mapping[str, int]:
    parts = (each.rpartition("/") for each in token.split())
    return {partition: int(offset) for partition, _, offset in parts}


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


def _tokens(event: LinksDiscovered) -> Sequence[str]:
    if not event.seed_topics:
        return ("",) * len(event.urls)
    places = zip(event.seed_topics, event.seed_partitions, event.seed_offsets, strict=True)
    return [f"{topic}/{partition}/{offset}" if topic else "" for topic, partition, offset in places]


def _column_or_default(column: Sequence[T], default: T, count: int) -> Sequence[T]:
    return column or (default,) * count
