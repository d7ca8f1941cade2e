"""Batches of links: one message per shard and poll batch, split where it grows too large.

Decides what a message contains and how large it may be. Sizes are counted as an upper bound while links are
added, so that nothing is encoded twice. Knows nothing of how links were found.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import LinksDiscovered

MAX_URLS: Final = 500
"""URLs in one message."""

MAX_BYTES: Final = 250_000
"""Size of one message: the limit of its topic, less room for the framing."""

_MESSAGE_BYTES: Final = 256
_URL_BYTES: Final = 128
"""Bytes of a link besides its URL and attachment: its key, and numbers of variable length in Avro."""
_ORIGIN_BYTES: Final = 64


class LinkOrigin(NamedTuple):
    """Origin of links: one page and one source, or the seeds of one run."""

    via: str
    url: str
    url_key: str
    job_id: str
    execution_id: str
    crawl_spec_id: str
    fetch_sequence: int


class SeedPosition(NamedTuple):
    """Position of a seed in its log: a later one re-opens its entry."""

    topic: str
    partition: int
    offset: int


NO_SEED: Final = SeedPosition("", 0, 0)
_NO_ATTACHMENT: Final[Mapping[str, str]] = MappingProxyType({})


class LinkItem(NamedTuple):
    """One link with its attributes."""

    url: str
    url_key: str
    depth: int
    priority: int
    kind: str = RequestKind.PAGE
    lastmod_ms: int = -1
    is_start: bool = False
    is_fresh: bool = False
    seed: SeedPosition = NO_SEED
    attachment: Mapping[str, str] = _NO_ATTACHMENT


class LinkBatches:
    """Collects the links of a batch by shard."""

    def __init__(self, shards: int, *, spoken_at_ms: int) -> None:
        self._shards = shards
        self._spoken_at_ms = spoken_at_ms
        self._open: dict[int, _LinkBatch] = {}
        self._full: list[_LinkBatch] = []

    def add(self, shard: int, item: LinkItem, origin: LinkOrigin) -> None:
        """Add a link."""
        batch = self._open.get(shard)
        if batch is None or not batch.add(item, origin):
            if batch is not None:
                self._full.append(batch)
            batch = self._open[shard] = _LinkBatch(shard)
            batch.add(item, origin)

    def events(self) -> list[LinksDiscovered]:
        """Return the messages of all batches, in the order in which they were filled."""
        return [
            batch.event(shards=self._shards, spoken_at_ms=self._spoken_at_ms)
            for batch in (*self._full, *self._open.values())
        ]


class _LinkBatch:
    """The links of one message."""

    def __init__(self, shard: int) -> None:
        self._shard = shard
        self._items: list[LinkItem] = []
        self._from_at: list[int] = []
        self._origins: dict[LinkOrigin, int] = {}
        self._size_bytes = _MESSAGE_BYTES

    def add(self, item: LinkItem, origin: LinkOrigin) -> bool:
        """Add a link; False where it no longer fits. An empty batch accepts any link."""
        size_bytes = self._size_bytes + _size_of(item)
        at = self._origins.get(origin)
        if at is None:
            size_bytes += _size_of_origin(origin)
        if self._items and (size_bytes > MAX_BYTES or len(self._items) >= MAX_URLS):
            return False
        if at is None:
            at = self._origins[origin] = len(self._origins)
        self._items.append(item)
        self._from_at.append(at)
        self._size_bytes = size_bytes
        return True

    def event(self, *, shards: int, spoken_at_ms: int) -> LinksDiscovered:
        """Return the event. An attribute that no link has is an empty list, which costs a byte."""
        items, origins = self._items, self._origins
        has_kinds = any(item.kind != RequestKind.PAGE for item in items)
        has_seeds = any(item.seed is not NO_SEED for item in items)
        return LinksDiscovered(
            shard=self._shard,
            shards=shards,
            urls=tuple(item.url for item in items),
            url_keys=tuple(item.url_key for item in items),
            from_at=tuple(self._from_at),
            from_vias=tuple(origin.via for origin in origins),
            from_urls=tuple(origin.url for origin in origins),
            from_url_keys=tuple(origin.url_key for origin in origins),
            from_job_ids=tuple(origin.job_id for origin in origins),
            from_execution_ids=tuple(origin.execution_id for origin in origins),
            from_crawl_spec_ids=tuple(origin.crawl_spec_id for origin in origins),
            from_fetch_sequences=tuple(origin.fetch_sequence for origin in origins),
            depths=tuple(item.depth for item in items),
            priorities=tuple(item.priority for item in items),
            kinds=tuple(item.kind for item in items) if has_kinds else (),
            start_flags=_flags([item.is_start for item in items]),
            fresh_flags=_flags([item.is_fresh for item in items]),
            lastmods_ms=_lastmods([item.lastmod_ms for item in items]),
            seed_topics=tuple(item.seed.topic for item in items) if has_seeds else (),
            seed_partitions=tuple(item.seed.partition for item in items) if has_seeds else (),
            seed_offsets=tuple(item.seed.offset for item in items) if has_seeds else (),
            attachments=_attachments([item.attachment for item in items]),
            spoken_at_ms=spoken_at_ms,
        )


def _flags(flags: list[bool]) -> tuple[bool, ...]:
    return tuple(flags) if any(flags) else ()


def _lastmods(lastmods_ms: list[int]) -> tuple[int, ...]:
    return tuple(lastmods_ms) if any(lastmod >= 0 for lastmod in lastmods_ms) else ()


def _attachments(attachments: list[Mapping[str, str]]) -> tuple[Mapping[str, str], ...]:
    return tuple(attachments) if any(attachments) else ()


def _size_of(item: LinkItem) -> int:
    size_bytes = _URL_BYTES + len(item.url) + len(item.kind) + len(item.seed.topic)
    for name, text in item.attachment.items():
        size_bytes += len(name.encode("utf-8", "replace")) + len(text.encode("utf-8", "replace")) + 8
    return size_bytes


def _size_of_origin(origin: LinkOrigin) -> int:
    return _ORIGIN_BYTES + sum(len(part.encode("utf-8", "replace")) for part in origin[:-1])
