"""States and ends of runs, by job-commands and job-events, which the API follows whole.

The counts of runs that have not ended are those of the working set in Redis, a second old at most: many
clients that wait for a run cost no more than one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Final

from strider.api import log_events
from strider.api.core import FrontierRun, RunRecord, ended_run, is_known, open_run
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_COMMANDS
from strider.crawl.feeds import JobCommandFeed, JobEventFeed
from strider.crawl.runs.commands import command_record
from strider.crawl.runs.control import RunControl, RunDirective
from strider.crawl.topic_follower import TopicFollower
from strider.frontier.redis.inspection import RunsSnapshot, ShardInspector
from strider.messaging.effects import Publish
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Bus, Clock, Randomness, epoch_ms
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher
from strider.runtime.retry import Backoff

SNAPSHOT_SECONDS: Final = 1.0

_log = logger("api")


class FollowedRuns:
    """States of all runs, and commands about them."""

    def __init__(
        self,
        bus: Bus,
        codec: Codec,
        inspector: ShardInspector,
        publisher: EventPublisher,
        *,
        shards: int,
        timeout_seconds: float,
        clock: Clock,
        chance: Randomness,
    ) -> None:
        """Create it; `run` reads the topics."""
        self._inspector = inspector
        self._publisher = publisher
        self._shards = shards
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._backoff = Backoff(clock=clock, chance=chance)
        self._event_feed, self._command_feed = JobEventFeed(bus, codec), JobCommandFeed(bus, codec)
        paused = log_events.RUN_STATES_PAUSED
        self._events = TopicFollower(
            self._event_feed, self._apply_events, paused_event=paused, clock=clock, chance=chance
        )
        self._commands = TopicFollower(
            self._command_feed, self._apply_records, paused_event=paused, clock=clock, chance=chance
        )
        self._control = RunControl()
        self._records: dict[str, JobEvent] = {}
        """Records of job-commands by key: what a tombstone deletes is undone."""
        self._ends: dict[str, JobEvent] = {}
        self._is_caught_up = False
        self._snapshot: tuple[float, RunsSnapshot] | None = None
        self._reading = asyncio.Lock()

    async def run(self) -> None:
        """Read both topics whole, then follow them, until cancelled."""
        await self._backoff.until_available(self._catch_up, on_failure=self._report)
        self._is_caught_up = True
        async with asyncio.TaskGroup() as together:
            together.create_task(self._events.run(), name="follow job-events")
            together.create_task(self._commands.run(), name="follow job-commands")

    async def find(self, execution_id: str) -> RunRecord | None:
        """Return a run; None where nothing is known of it. Raises Unavailable."""
        self._require_states()
        if (end := self._ends.get(execution_id)) is not None:
            return ended_run(end)
        snapshot = await self._read_snapshot()
        found = snapshot.runs.get(execution_id)
        if found is None and not is_known(self._control, execution_id):
            if snapshot.unready_shards:
                raise Unavailable("scheduler", f"shards {list(snapshot.unready_shards)} are not ready")
            return None
        about = (
            FrontierRun()
            if found is None
            else FrontierRun(found.job_id, found.open, found.accepted, found.crawl_spec_ids)
        )
        return open_run(execution_id, about, self._control)

    async def publish(self, command: JobEvent) -> None:
        """Publish a command, and apply it here at once. Raises Unavailable."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._publisher.publish([Publish(JOB_COMMANDS, command)])
        except TimeoutError as failure:
            raise Unavailable("kafka", f"not acknowledged within {self._timeout_seconds:g} s") from failure
        self._control.apply(command)

    def cancelled_urls(self) -> int:
        """Return how many URLs are cancelled in runs of their own. Raises Unavailable."""
        self._require_states()
        return self._control.cancelled_urls

    def url_cancellation(self, execution_id: str, url_key: str) -> RunDirective | None:
        """Return who has cancelled a URL in a run; None where it is not cancelled. Raises Unavailable."""
        self._require_states()
        return self._control.url_directive(execution_id, url_key)

    async def places(self, shard: int, entry_ids: Sequence[str]) -> Sequence[str]:
        """Return where the working set has entries; empty for one that is not open. Raises Unavailable."""
        return await self._inspector.locations(shard, entry_ids)

    async def state_counts(self) -> dict[str, int]:
        """Return the number of runs in each state, and of those whose end is known. Raises Unavailable."""
        self._require_states()
        snapshot = await self._read_snapshot()
        counts = Counter(
            open_run(name, FrontierRun(found.job_id), self._control).state
            for name, found in snapshot.runs.items()
            if name not in self._ends
        )
        return {**counts, "ended": len(self._ends)}

    def now_ms(self) -> int:
        """Return the time of a command."""
        return epoch_ms(self._clock)

    async def close(self) -> None:
        """Close the readers."""
        await self._event_feed.close()
        await self._command_feed.close()

    def _require_states(self) -> None:
        if not self._is_caught_up:
            raise Unavailable("kafka", "the states of runs have not been read since the start")

    async def _catch_up(self) -> None:
        await self._events.catch_up()
        await self._commands.catch_up()

    async def _read_snapshot(self) -> RunsSnapshot:
        async with self._reading:
            now = self._clock.monotonic()
            if self._snapshot is None or now - self._snapshot[0] >= SNAPSHOT_SECONDS:
                self._snapshot = now, await self._inspector.runs(range(self._shards))
            return self._snapshot[1]

    async def _apply_events(self, events: Sequence[JobEvent]) -> None:
        for event in events:
            self._apply(event)

    async def _apply_records(self, records: Sequence[tuple[str, JobEvent | None]]) -> None:
        for key, event in records:
            before = self._records.pop(key, None)
            if event is not None:
                self._records[key] = event
                self._apply(event)
            elif before is not None:
                self._control.forget(before)
                if before.what == JobEventKind.RUN_COMPLETED:
                    self._ends.pop(before.execution_id, None)

    def _apply(self, event: JobEvent) -> None:
        self._control.apply(event)
        if event.what == JobEventKind.RUN_COMPLETED:
            self._ends.setdefault(event.execution_id, command_record(event))

    @staticmethod
    def _report(failure: Unavailable) -> None:
        _log.emit(log_events.RUN_STATES_PAUSED, why=str(failure))
