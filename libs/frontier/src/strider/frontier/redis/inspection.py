"""Read-only view of the shards in Redis for people: runs, host groups, outstanding requests.

Never writes and takes no part in fencing: what it shows may be a moment old.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from strider.frontier.constants import VISITED_TTL_MS
from strider.frontier.entry_encoding import SHARED_FIELDS
from strider.frontier.models import HostPace
from strider.messaging.errors import Unavailable
from strider.storage.keys import FRONTIER_HEADER
from strider.storage.redis import Redis

from .call_encoding import NO_DELAY
from .function_library import frontier_function

_JOB: Final = SHARED_FIELDS.index("job_id")
_EXECUTION: Final = SHARED_FIELDS.index("execution_id")
_SPEC: Final = SHARED_FIELDS.index("crawl_spec_id")


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """A run, over all shards that are ready."""

    execution_id: str
    job_id: str
    crawl_spec_ids: tuple[str, ...]
    open: int
    accepted: int
    """Counted since its shards were rebuilt."""


@dataclass(frozen=True, slots=True)
class OutstandingRequests:
    """Requests that were issued and have not ended."""

    issued: int = 0
    """On the bus."""
    started: int = 0
    """At a fetcher."""


@dataclass(frozen=True, slots=True)
class HostGroupSnapshot:
    """A host group as its shard has it."""

    delay_ms: int
    places: int
    in_flight: int
    next_request_ms: int
    blocked_until_ms: int
    queued: int
    now_ms: int
    open_paces: tuple[tuple[HostPace, int], ...] = ()
    """Paces of crawl specs, each with the number of open entries under it."""
    crawl_spec_ids: tuple[str, ...] = ()
    """Crawl specs of entries in its shard."""
    raw_delay_ms: int = 0
    """Longest delay that raw seeds ask for: it holds for the requests of their own flow."""


@dataclass(frozen=True, slots=True)
class RunsSnapshot:
    """Runs by execution, and the shards that are missing in them."""

    runs: Mapping[str, RunSnapshot]
    unready_shards: tuple[int, ...]
    """Shards that are not ready."""


_LOCATIONS: Final = ("", "waiting", "issued", "started", "in_ring")


class ShardInspector:
    """Reads shards without owning them. Raises Unavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def runs(self, shards: Iterable[int]) -> RunsSnapshot:
        """Return all runs that the shards know."""
        listed = list(shards)
        answers = await asyncio.gather(*(self._inspect(shard) for shard in listed))
        runs: dict[str, RunSnapshot] = {}
        for answer in answers:
            if answer is not None:
                _add_shard(runs, counts=answer[1], shapes=answer[2])
        unready = tuple(shard for shard, answer in zip(listed, answers, strict=True) if answer is None)
        return RunsSnapshot(dict(sorted(runs.items())), unready)

    async def host_group(self, shard: int, name: str, *, default_delay_ms: int) -> HostGroupSnapshot | None:
        """Return a host group; None where its shard is not ready.

        `default_delay_ms` is the delay of a group without live state: idle, or never requested.
        """
        answer = await self._inspect(shard, name, default_delay_ms=default_delay_ms)
        if answer is None:
            return None
        now_ms, _, shapes, [(delay, places, flying, clock, blocked, paces, raw_delay, *queued)] = answer
        open_paces = tuple(
            (HostPace(None if pace[0] == NO_DELAY else pace[0], *pace[1:]), entries)
            for entries, *pace in paces
        )
        texts = [json.loads(text) for _, text in _pairs(shapes)]
        spec_ids = tuple(sorted({shape[_SPEC] for shape in texts if isinstance(shape, list)}))
        return HostGroupSnapshot(
            delay, places, flying, clock, blocked, sum(queued), now_ms, open_paces, spec_ids, raw_delay
        )

    async def outstanding_requests(self, shards: Iterable[int]) -> Mapping[str, OutstandingRequests]:
        """Return the outstanding requests by run; shards that are not ready are left out."""
        found: dict[str, OutstandingRequests] = {}
        for answer in await asyncio.gather(
            *(self._inspect(shard, script="inspect_requests") for shard in shards)
        ):
            if answer is None:
                continue
            numbers, shapes, _ = answer
            names = {int(number): json.loads(text) for number, text in _pairs(shapes)}
            for at in range(0, len(numbers), 3):
                run, issued, started = numbers[at : at + 3]
                before = found.get(names[run], OutstandingRequests())
                found[names[run]] = OutstandingRequests(before.issued + issued, before.started + started)
        return found

    async def locations(self, shard: int, entry_ids: Sequence[str]) -> Sequence[str]:
        """Return where entries are: waiting, issued, started, in_ring; empty for what is not open here."""
        answer = await self._inspect(shard, *map(bytes.fromhex, entry_ids), script="inspect_requests")
        return [""] * len(entry_ids) if answer is None else [_LOCATIONS[place] for place in answer[2]]

    async def _inspect(
        self, shard: int, *more: str | bytes, script: str = "inspect", default_delay_ms: int | None = None
    ) -> Sequence[Any] | None:
        delay = "" if default_delay_ms is None else default_delay_ms
        fixed: list[str | bytes | int] = ["", "", delay, VISITED_TTL_MS]
        reply = await self._redis.run(
            frontier_function(script), keys=[FRONTIER_HEADER(shard)], args=[*fixed, *more]
        )
        if not isinstance(reply, list) or not reply:
            raise Unavailable("redis", f"frontier_{script} returned {reply!r}")
        return reply[1:] if reply[0] == 0 else None


def _add_shard(runs: dict[str, RunSnapshot], *, counts: Sequence[bytes], shapes: Sequence[bytes]) -> None:
    """Add the runs of one shard."""
    texts = {int(number): json.loads(text) for number, text in _pairs(shapes)}
    found = {field.decode(): int(count) for field, count in _pairs(counts)}
    owners: dict[str, tuple[str, set[str]]] = {}
    for shape in texts.values():
        if isinstance(shape, list):
            job, specs = owners.setdefault(shape[_EXECUTION], (shape[_JOB], set()))
            specs.add(shape[_SPEC])
            if job.startswith("."):  # a robots.txt request belongs to the run that asked for it
                owners[shape[_EXECUTION]] = shape[_JOB], specs
    for number in {int(field[1:]) for field in found}:
        name = texts[number]
        job, specs = owners.get(name, ("", set()))
        before = runs.get(name, RunSnapshot(name, "", (), 0, 0))
        runs[name] = RunSnapshot(
            name,
            before.job_id or job,
            tuple(sorted({*before.crawl_spec_ids, *specs})),
            before.open + found.get(f"o{number}", 0),
            before.accepted + found.get(f"a{number}", 0),
        )


def _pairs(flat: Sequence[bytes]) -> Iterable[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)
