"""Lookups of a shard during concurrent decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from strider.contracts.generated.events import EntryRecorded, HostRecorded
from strider.frontier.memory.frontier import MemoryFrontier
from strider.frontier.models import EntryLookupResult
from strider.messaging.inprocess import EventLoopClock, simulate
from strider.messaging.ports import RawRecord
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.shard.shard import OwnedShard
from strider.scheduler.shard.shard_clock import ShardClock
from strider.scheduler.shard.store_mapping import accepted_entry, entry_lookup
from tests.unit.scheduler.builders import an_entry


class HeldBack(MemoryFrontier):
    """A working set that a test may have answer late."""

    may_answer: asyncio.Event | None = None

    async def lookup(self, *args: Any) -> Sequence[EntryLookupResult]:
        answer = await super().lookup(*args)
        if self.may_answer is not None:
            await self.may_answer.wait()
        return answer


class AcceptingLog:
    """A frontier log that accepts everything."""

    epoch = 1

    def encode_entry(self, entry: EntryRecorded) -> RawRecord:
        return RawRecord(entry.url_key.encode(), entry.state.encode())

    def __init__(self) -> None:
        self.log: list[RawRecord] = []

    def encode_host(self, host: HostRecorded) -> RawRecord:
        return RawRecord(host.group.encode(), host.kind.encode())

    def tombstone(self, _job_id: str, url_key: str) -> RawRecord:
        return RawRecord(url_key.encode(), None)

    async def write(self, entries: Sequence[RawRecord], *_args: Any, **_settings: Any) -> None:
        self.log += entries
        await asyncio.sleep(0.01)


async def a_shard(working_set: MemoryFrontier) -> OwnedShard:
    clock = EventLoopClock()
    await working_set.take_over(0, 1)
    await working_set.begin_rebuild(0, 1)
    await working_set.finish_rebuild(0, 1, groups=[], sequence=0)
    time = ShardClock(clock, 1)
    shard = OwnedShard(
        0, cast("Any", AcceptingLog()), working_set, options=SchedulerOptions(shards=1), clock=time
    )
    shard.is_ready = True
    return shard


def test_a_lookup_that_a_final_decision_has_overtaken_is_repeated() -> None:
    """Else the entry would seem open to the caller, and be put back into the pipeline for ever."""

    async def scenario() -> None:
        working_set = HeldBack(EventLoopClock())
        shard = await a_shard(working_set)
        entry = an_entry()
        await shard.accept([accepted_entry(entry)], [], {})
        question = entry_lookup(entry.job_id, entry.url_key, entry.crawl_spec_id)
        working_set.may_answer = asyncio.Event()
        looking = asyncio.create_task(shard.load_entries([question]))
        await asyncio.sleep(0.1)
        closed = replace(entry, state="completed", reason="settled", closed_at_ms=1)
        await shard.commit_decisions([shard.begin_decision(closed, before=entry, cause="settled 1")])
        working_set.may_answer.set()
        (known,) = await looking

        assert known.entry is None
        assert shard.decisions.latest_entry(known, "ended 1") is None

    simulate(scenario())


def test_a_lookup_is_not_repeated_for_decisions_about_other_entries() -> None:
    async def scenario() -> None:
        working_set = HeldBack(EventLoopClock())
        shard = await a_shard(working_set)
        entry, other = an_entry(), an_entry(url_key="f" * 64)
        await shard.accept([accepted_entry(entry), accepted_entry(other)], [], {})
        question = entry_lookup(entry.job_id, entry.url_key, entry.crawl_spec_id)
        working_set.may_answer = asyncio.Event()
        looking = asyncio.create_task(shard.load_entries([question]))
        await asyncio.sleep(0.1)
        closed = replace(other, state="completed", reason="settled", closed_at_ms=1)
        await shard.commit_decisions([shard.begin_decision(closed, before=other, cause="settled 1")])
        working_set.may_answer.set()
        (known,) = await looking

        assert known.entry is not None

    simulate(scenario())


def test_only_what_may_make_something_releasable_wakes_the_release() -> None:
    """Each look costs the store a call, and most of what a page goes through frees nothing."""

    async def scenario() -> None:
        shard = await a_shard(MemoryFrontier(EventLoopClock()))
        entry = an_entry()
        woken = []
        await shard.accept([accepted_entry(entry)], [], {})
        for state, reason, wants_room in (
            ("in_progress", "fetched", False),
            ("pending", "retry", False),
            ("completed", "settled", False),
            ("completed", "settled", True),
        ):
            shard.wake.clear()
            shard.is_at_capacity = wants_room
            told = replace(entry, state=state, reason=reason)
            await shard.commit_decisions(
                [shard.begin_decision(told, before=entry, cause=f"{state} {wants_room}")]
            )
            woken.append(shard.wake.is_set())

        assert woken == [False, True, False, True]

    simulate(scenario())


def test_no_tombstone_lies_on_what_was_written_while_the_log_was_read() -> None:
    """Neither on what was on its way into the log before the reading began; later words lie above it."""

    async def scenario() -> None:
        shard = await a_shard(MemoryFrontier(EventLoopClock()))
        entries = {name: an_entry(url_key=name * 64) for name in "abcd"}
        records = {name: shard.log.encode_entry(entry) for name, entry in entries.items()}

        underway = asyncio.create_task(shard.write_log([records["a"]]))
        await asyncio.sleep(0)
        with shard.keys_in_progress.watch():
            await underway
            await shard.write_log([records["b"]])
            digging = asyncio.create_task(shard.write_tombstones([("job", name * 64) for name in "abcd"]))
            await asyncio.sleep(0)
            await shard.write_log([records["d"]])
            buried = await digging

        log = cast("Any", shard.log).log
        last = {record.key.decode()[0]: record.value for record in log}
        assert buried == 2
        assert {name for name, value in last.items() if value is None} == {"c"}

    simulate(scenario())
