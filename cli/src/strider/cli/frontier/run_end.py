"""Wait for the ends of runs, as the topic job-events has them, and show their progress.

Reads topics only: a run continues when the wait is interrupted. Redis shows progress, where there is one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from strider.cli.connections import REDIS, BrokerTarget, MissingTopic, find_address, open_redis
from strider.cli.exit_codes import CommandExit
from strider.cli.output import ProgressLine, counted, print_status, print_text, warn
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.enums import JobState
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_COMMANDS, JOB_EVENTS
from strider.crawl.feeds import JobCommandFeed, JobEventFeed
from strider.crawl.runs.control import RunControl
from strider.frontier.redis.inspection import ShardInspector
from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.ports import Bus
from strider.scheduler.core.runs.ending_runs import ACCEPTED_COUNT

RETRY_SECONDS: Final = 1.0
PROGRESS_SECONDS: Final = 2.0


class RunEndReader:
    """Reads job-commands and job-events until the ends of some runs are there."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        codec = Codec(SchemaStore.bundled())
        self._events, self._commands = JobEventFeed(bus, codec), JobCommandFeed(bus, codec)
        self._ends: dict[str, JobEvent] = {}
        self.run_control = RunControl()

    async def read_to_end(self) -> None:
        """Read both topics to their ends. Raises Unavailable, MissingTopic."""
        for topic in (JOB_EVENTS, JOB_COMMANDS):
            if not await self._bus.partition_count(topic.name):
                raise MissingTopic(topic.name)
        # Commands are kept for longer, events are complete: together they have every end.
        self._apply(event for _, event in await self._commands.read_to_end() if event is not None)
        self._apply(await self._events.read_to_end())

    async def wait_for(self, runs: Collection[str]) -> Mapping[str, JobEvent]:
        """Return the ends of these runs once all are there; an outage of the broker is waited out."""
        is_away = False
        while missing := set(runs) - self._ends.keys():
            try:
                self._apply(await self._events.poll())
                is_away = False
            except Unavailable as failure:
                if not is_away:
                    warn(
                        f"Kafka is unavailable: {failure.detail}; waiting for {_names(missing)} all the same"
                    )
                is_away = True
                await asyncio.sleep(RETRY_SECONDS)
        return {run: self._ends[run] for run in runs}

    async def close(self) -> None:
        """Close the readers."""
        await self._events.close()
        await self._commands.close()

    def _apply(self, events: Iterable[JobEvent]) -> None:
        for event in events:
            self.run_control.apply(event)
            if event.what == JobEventKind.RUN_COMPLETED:
                self._ends.setdefault(event.execution_id, event)


async def wait_for_runs(
    target: BrokerTarget, bus: Bus, runs: Collection[str], *, warns_if_open: bool = False
) -> Mapping[str, JobEvent]:
    """Wait for the ends of runs; `warns_if_open` names those that were not closed, as they do not end."""
    reader = RunEndReader(bus)
    try:
        await reader.read_to_end()
        control = reader.run_control
        unclosed = [run for run in runs if not (control.is_ending(run) or control.is_completed(run))]
        if warns_if_open:
            await _report_unclosed(target, unclosed)
        async with _progress(target, runs):
            return await reader.wait_for(runs)
    except asyncio.CancelledError:
        print_status(f"{_names(runs)} continues; wait for its end with: strider runs wait {min(runs)}")
        raise
    finally:
        await reader.close()


async def _report_unclosed(target: BrokerTarget, runs: Sequence[str]) -> None:
    """Name the runs that do not end by themselves: those that are not closed, and those that do not exist."""
    known = await _accepted_runs(target)
    for run in runs:
        if known is not None and run not in known:
            print_status(f"no URL of a run {run} was accepted yet: check its name with: strider runs list")
        else:
            print_status(f"{run} is not closed; it ends after: strider runs close {run}")


async def _accepted_runs(target: BrokerTarget) -> Collection[str] | None:
    """Return the runs that have URLs in the frontier; None where it cannot be read."""
    if not (address := find_address(REDIS)):
        return None
    with suppress(Unavailable, StartRefused):
        async with open_redis(address) as redis:
            return (await ShardInspector(redis).runs(range(target.shards))).runs.keys()
    return None


@asynccontextmanager
async def _progress(target: BrokerTarget, runs: Collection[str]) -> AsyncIterator[None]:
    """Show open and accepted entries on a terminal meanwhile."""
    line = ProgressLine()
    showing = asyncio.create_task(_show_progress(target, runs, line))
    try:
        yield
    finally:
        showing.cancel()
        with suppress(asyncio.CancelledError):
            await showing
        line.clear()


async def _show_progress(target: BrokerTarget, runs: Collection[str], line: ProgressLine) -> None:
    if not (address := find_address(REDIS)):
        return
    with suppress(Unavailable, StartRefused):
        async with open_redis(address) as redis:
            inspector = ShardInspector(redis)
            while True:
                found = (await inspector.runs(range(target.shards))).runs
                own = [found[run] for run in runs if run in found]
                open_entries, accepted = (sum(run.open for run in own), sum(run.accepted for run in own))
                line.show(f"{accepted - open_entries} of {counted(accepted, 'URL')} done")
                await asyncio.sleep(PROGRESS_SECONDS)


def end_exit_code(ends: Mapping[str, JobEvent]) -> CommandExit:
    """Return FAILED where a run was cancelled, or no URL of it was accepted."""
    failed = any(
        end.state_after == JobState.CANCELLED or not end.counts.get(ACCEPTED_COUNT) for end in ends.values()
    )
    return CommandExit.FAILED if failed else CommandExit.DONE


def end_fields(end: JobEvent) -> dict[str, Any]:
    """Return the end of a run as its JSON output has it."""
    outcomes = {name: count for name, count in end.counts.items() if name != ACCEPTED_COUNT}
    return {
        "execution_id": end.execution_id,
        "job_id": end.job_id,
        "state": end.state_after,
        "ended_at_ms": end.at_ms,
        "by": end.by,
        "reason": end.reason,
        "accepted": end.counts.get(ACCEPTED_COUNT, 0),
        "pages": end.pages,
        "bytes": end.bytes,
        "seconds": end.seconds,
        "outcomes": outcomes,
    }


def print_end(end: JobEvent) -> None:
    """Print the end of a run on one line."""
    fields = end_fields(end)
    sizes = f"{counted(end.pages, 'page')}, {end.bytes} bytes, {end.seconds} s"
    outcomes = ", ".join(f"{count} {name}" for name, count in fields["outcomes"].items())
    nothing = "no URL was accepted (strider why URL)"
    print_text(f"{end.execution_id} {end.state_after}: {sizes}; {outcomes or nothing}")


def _names(runs: Iterable[str]) -> str:
    return ", ".join(sorted(runs))
