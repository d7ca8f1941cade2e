"""How redirect targets are told to whoever has their shard: as links are, in as few messages.

Each target comes from a URL of its own, so the arrays of origins are as long as those of URLs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from strider.contracts.generated.events import LinksDiscovered
from strider.contracts.partitioning import shard_of_host
from strider.urls import host_of

from .candidates import Candidate

MAX_URLS: Final = 500
MAX_CHARACTERS: Final = 128 * 1024
"""Of URLs, chains and attachments in one message; half of what its topic takes, for what is not ASCII."""


def redirect_messages(targets: Iterable[Candidate], *, shards: int, now_ms: int) -> Iterator[LinksDiscovered]:
    """Make messages of redirect targets, by shard."""
    by_shard: dict[int, list[Candidate]] = {}
    for target in targets:
        by_shard.setdefault(shard_of_host(host_of(target.url), shards), []).append(target)
    for shard, gathered in by_shard.items():
        for part in _parts(gathered):
            yield _message(part, shard=shard, shards=shards, now_ms=now_ms)


def _parts(targets: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    part: list[Candidate] = []
    characters = 0
    for target in targets:
        size = _size(target)
        if part and (len(part) == MAX_URLS or characters + size > MAX_CHARACTERS):
            yield part
            part, characters = [], 0
        part.append(target)
        characters += size
    if part:
        yield part


def _size(target: Candidate) -> int:
    origin = target.origin
    told = (target.url, target.url_key, target.seed_token, *target.redirect_chain)
    about = (origin.url, origin.url_key, origin.job_id, origin.execution_id, origin.crawl_spec_id)
    attached = (text for pair in target.metadata.items() for text in pair)
    return sum(map(len, (*told, *about, *attached)))


def _message(targets: Sequence[Candidate], *, shard: int, shards: int, now_ms: int) -> LinksDiscovered:
    origins = [target.origin for target in targets]
    tokens = [_token(target.seed_token) for target in targets]
    return LinksDiscovered(
        shard=shard,
        shards=shards,
        urls=tuple(target.url for target in targets),
        url_keys=tuple(target.url_key for target in targets),
        from_at=tuple(range(len(targets))),
        from_vias=tuple(origin.via for origin in origins),
        from_urls=tuple(origin.url for origin in origins),
        from_url_keys=tuple(origin.url_key for origin in origins),
        from_job_ids=tuple(origin.job_id for origin in origins),
        from_execution_ids=tuple(origin.execution_id for origin in origins),
        from_crawl_spec_ids=tuple(origin.crawl_spec_id for origin in origins),
        from_fetch_sequences=(0,) * len(targets),
        depths=tuple(target.depth for target in targets),
        priorities=tuple(target.priority for target in targets),
        hops=tuple(target.hop for target in targets),
        kinds=tuple(target.kind for target in targets),
        start_flags=tuple(target.is_start for target in targets),
        seed_topics=tuple(topic for topic, _, _ in tokens),
        seed_partitions=tuple(partition for _, partition, _ in tokens),
        seed_offsets=tuple(offset for _, _, offset in tokens),
        redirect_chains=tuple(target.redirect_chain for target in targets),
        attachments=tuple(target.metadata for target in targets),
        spoken_at_ms=now_ms,
    )


def _token(token: str) -> tuple[str, int, int]:
    if not token:
        return "", 0, 0
    topic, partition, offset = token.rsplit("/", 2)
    return topic, int(partition), int(offset)
