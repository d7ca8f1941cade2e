"""End runs: publish counts, prove that nothing is open, publish `run_completed` once.

One loop for all owned shards, which does nothing while no run is to end. Each shard publishes its count of
such a run once it has nothing open, and again in each round that is wanted (`core/runs/ending_runs.py`). The
owner of the proving shard follows the proof (`core/runs/run_proof.py`).

`run_completed` is written in the transactions of the proving shard. An earlier owner is fenced, so what it
has published is in the log before the new owner reads that to its end, and nothing of it comes later: there
is one event for each run, whatever was killed.

A pass waits mostly for others (working set, broker), so it is allowed a larger part of the time than reading
the log, which costs CPU for each entry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_COMMANDS, JOB_EVENTS
from strider.contracts.seed_names import is_raw_name
from strider.crawl.runs.commands import command_record
from strider.crawl.runs.control import RunControl
from strider.messaging.effects import Publish
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock, epoch_ms
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler import log_events
from strider.scheduler.core.runs.completion import ShardRunCount
from strider.scheduler.core.runs.ending_runs import (
    NO_ROUND,
    NO_TALLY,
    CountRound,
    EndingRun,
    EndingRuns,
    RunFact,
    RunTally,
    fact_event,
    proving_shard,
    round_event,
)
from strider.scheduler.core.runs.run_proof import RunProof, completion_event
from strider.scheduler.loops.duty_cycle import DUTY_CYCLE_DIVISOR
from strider.scheduler.ports import CompletionOffsetSource, FrontierLogReader, SchedulerMeter
from strider.scheduler.shard.run_counts import count_runs, tally_runs
from strider.scheduler.shard.shard import OwnedShard

INTERVAL_SECONDS: Final = 1.0

RAW_RUNS_PER_SECOND: Final = 20
"""Counts of raw runs that a shard publishes, and rounds that begin for them, for each second of time.

A stranger may close any number of runs, each of which costs messages of every shard. Runs of owners are not
limited. On a busy machine passes are rare, and each may do as much more.
"""

MAX_RAW_RUNS_PER_PASS: Final = 400

FACTS_PER_PUBLISH: Final = 200
"""Counts that are encoded at a time: other tasks run in between, however many runs end."""

PASS_DIVISOR: Final = 4
"""At most one part in this many of the time is spent on passes."""

MAX_STEPS: Final = 6
"""Steps of a proof in one pass: one for each phase."""

_log = logger("scheduler")


class RunEndingLoop:
    """Ends runs, as far as their shards are owned here."""

    def __init__(
        self,
        ending_runs: EndingRuns,
        run_control: RunControl,
        offsets: CompletionOffsetSource | None,
        *,
        owned_shards: Callable[[], Sequence[OwnedShard]],
        catch_up: Callable[[], Awaitable[None]],
        shards: int,
        log_reader: FrontierLogReader,
        log_lock: asyncio.Lock,
        publisher: EventPublisher,
        meter: SchedulerMeter,
        clock: Clock,
    ) -> None:
        """Create the loop; `catch_up` applies all job events up to now. Without offsets no run ends here."""
        self._ending_runs = ending_runs
        self._run_control = run_control
        self._offsets = offsets
        self._owned_shards = owned_shards
        self._catch_up = catch_up
        self._shards = shards
        self._log_reader = log_reader
        self._log_lock = log_lock
        self._publisher = publisher
        self._meter = meter
        self._clock = clock
        self._published: dict[tuple[str, int], RunFact] = {}
        """Last fact of a run and shard from here: it is read back from the log a moment later."""
        self._proofs: dict[str, tuple[OwnedShard, RunProof]] = {}
        self._rounds = 0
        """Number of the last round: no two of this process are equal."""
        self._pass_began_at = clock.monotonic()
        self._max_raw_runs = 0
        """Raw runs that this pass may count in a shard."""
        self._log_seconds = 0.0
        """Time for which this pass has read the log."""

    async def run(self) -> None:
        """Run at intervals until cancelled."""
        wait_seconds = INTERVAL_SECONDS
        while True:
            await self._clock.sleep(wait_seconds)
            began = self._clock.monotonic()
            try:
                await self.run_once()
            except Unavailable as failure:
                _log.emit(log_events.RUN_COMPLETION_PAUSED, why=str(failure))
            took_seconds = self._clock.monotonic() - began
            wait_seconds = max(
                INTERVAL_SECONDS,
                took_seconds * (PASS_DIVISOR - 1),
                self._log_seconds * (DUTY_CYCLE_DIVISOR - 1),
            )

    async def run_once(self) -> None:
        """Publish the counts that are due, then advance the proofs of this process."""
        if self._offsets is None:
            return
        now = self._clock.monotonic()
        since_last = max(INTERVAL_SECONDS, now - self._pass_began_at)
        self._max_raw_runs = min(MAX_RAW_RUNS_PER_PASS, round(since_last * RAW_RUNS_PER_SECOND))
        self._pass_began_at, self._log_seconds = now, 0.0
        names = self._ending_runs.names()
        self._published = {key: fact for key, fact in self._published.items() if key[0] in names}
        counts = (self._publish_counts(shard) for shard in self._owned_shards())
        for failure in await asyncio.gather(*counts, return_exceptions=True):
            if failure is not None:
                raise failure
        await self._prove(self._offsets)

    async def _publish_counts(self, shard: OwnedShard) -> None:
        due = {
            run.execution_id: run
            for run in self._ending_runs.all()
            if run.needs_fact(shard.number, self._published.get((run.execution_id, shard.number)))
        }
        if not due:
            return
        rounds = {name: run.wanted_round for name, run in due.items()}
        counts = await count_runs(shard, due)
        quiet = self._within_limit([name for name, count in counts.items() if _is_quiet(count)])
        counted = {name for name in quiet if counts[name].accepted and rounds[name] != NO_ROUND}
        tallies = await self._tally(shard, counted)
        if tallies:  # what was tallied is final where the count afterwards equals an earlier one
            counts = await count_runs(shard, quiet)
        facts = {
            name: RunFact(counts[name], rounds[name], tallies.get(name, NO_TALLY))
            for name in quiet
            if _is_quiet(counts[name])
        }
        now_ms, names = epoch_ms(self._clock), list(facts)
        for first in range(0, len(names), FACTS_PER_PUBLISH):
            part = names[first : first + FACTS_PER_PUBLISH]
            events = [fact_event(due[name], shard.number, facts[name], now_ms=now_ms) for name in part]
            await self._publisher.publish([Publish(JOB_EVENTS, event) for event in events])
            self._published |= {(name, shard.number): facts[name] for name in part}

    async def _tally(self, shard: OwnedShard, runs: AbstractSet[str]) -> Mapping[str, RunTally]:
        if not runs:
            return {}
        async with self._log_lock:
            began = self._clock.monotonic()
            tallies = await tally_runs(self._log_reader, shard.number, runs)
            self._log_seconds += self._clock.monotonic() - began
        return tallies

    async def _prove(self, source: CompletionOffsetSource) -> None:
        owned = {shard.number: shard for shard in self._owned_shards()}
        own = [
            (run, owned[number])
            for run in self._ending_runs.all()
            if (number := proving_shard(run.execution_id, self._shards)) in owned
        ]
        self._meter.set_ending_runs(len(own))
        names = {run.execution_id for run, _ in own}
        self._proofs = {name: proof for name, proof in self._proofs.items() if name in names}
        for _ in range(MAX_STEPS if own else 0):
            offsets = await source.read_completion_offsets()
            steps = [
                self._proof_of(run, shard, offsets.seeds_end).advance(run, offsets) for run, shard in own
            ]
            if not any(steps):
                break
        await self._request_counts(own)
        complete = [(run, shard) for run, shard in own if self._proofs[run.execution_id][1].is_complete]
        if complete:
            await self._complete(complete)

    def _proof_of(self, run: EndingRun, shard: OwnedShard, seeds_end: Mapping[object, int]) -> RunProof:
        """Return the proof in progress; one of an earlier time of the shard here is begun again."""
        owner, proof = self._proofs.get(run.execution_id, (None, None))
        if proof is None or owner is not shard:
            proof = RunProof(self._shards, seeds_end)
            self._proofs[run.execution_id] = shard, proof
        return proof

    async def _request_counts(self, own: Sequence[tuple[EndingRun, OwnedShard]]) -> None:
        now, now_ms = self._clock.monotonic(), epoch_ms(self._clock)
        shards = {run.execution_id: shard for run, shard in own}
        asked: list[tuple[RunProof, CountRound]] = []
        events = []
        for name in self._within_limit([name for name in shards if self._proofs[name][1].needs_round(now)]):
            self._rounds += 1
            wanted = CountRound(shards[name].epoch, self._rounds)
            asked.append((self._proofs[name][1], wanted))
            events.append(Publish(JOB_EVENTS, round_event(name, wanted, now_ms=now_ms)))
        await self._publisher.publish(events)
        for proof, wanted in asked:
            proof.note_round(wanted, now)

    async def _complete(self, complete: Sequence[tuple[EndingRun, OwnedShard]]) -> None:
        """Publish the ends of runs, unless they are published already."""
        epochs = {shard.number: shard.epoch for _, shard in complete}
        await self._catch_up()
        by_shard: dict[int, list[EndingRun]] = {}
        for run, shard in complete:
            by_shard.setdefault(shard.number, []).append(run)
        ended: list[JobEvent] = []
        for shard in {shard.number: shard for _, shard in complete}.values():
            # A commit of unknown outcome is decided before the shard gets its next epoch.
            if shard in self._owned_shards() and shard.epoch == epochs[shard.number]:
                ended += await self._publish_ends(shard, by_shard[shard.number])
        # Retention deletes them from job-events.
        await self._publisher.publish([Publish(JOB_COMMANDS, command_record(each)) for each in ended])
        await self._catch_up()

    async def _publish_ends(self, shard: OwnedShard, runs: Iterable[EndingRun]) -> Sequence[JobEvent]:
        """Publish the ends of runs in the transactions of their shard; return those that were published."""
        now_ms = epoch_ms(self._clock)
        ended = [
            completion_event(run, self._run_control, now_ms=now_ms)
            for run in runs
            if not self._run_control.is_completed(run.execution_id)
        ]
        try:
            await shard.log.publish_facts(ended)
        except ShardFenced:
            return ()  # the shard has a newer owner, which proves the ends again
        for each in ended:
            self._meter.count_completed_run()
            names = {"job_id": each.job_id, "execution_id": each.execution_id}
            ending = {"state": each.state_after, "by": each.by}
            if each.reason:
                ending["reason"] = each.reason
            sizes = {"pages": each.pages, "seconds": each.seconds}
            _log.emit(log_events.RUN_COMPLETED, **names, **ending, **sizes, counts=dict(each.counts))
        return ended

    def _within_limit(self, runs: Sequence[str]) -> list[str]:
        """Return all runs of owners, and the first ones of raw senders."""
        raw = [run for run in runs if is_raw_name(run)]
        return [*(run for run in runs if not is_raw_name(run)), *raw[: self._max_raw_runs]]


def _is_quiet(count: ShardRunCount) -> bool:
    return count.is_ready and count.open == 0
