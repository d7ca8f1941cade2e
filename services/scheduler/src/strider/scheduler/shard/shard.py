"""An owned shard: its frontier log, its part of the working set, and its state in memory.

The only module that passes the epoch to the working set. A working set that turns out to be lost makes the
shard unready: every caller gets Unavailable until the shard is rebuilt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, HostRecorded
from strider.crawl.runs.control import RunControl
from strider.frontier.models import (
    AcceptedEntry,
    EndedRequest,
    EntryConclusion,
    EntryDisposition,
    EntryLocation,
    EntryLookup,
    EntryLookupResult,
    EntryScan,
    HostPace,
    Lease,
    LeaseSwap,
    LogPassPart,
    OutcomeStatus,
    RefusedFingerprint,
    ReleaseResult,
    ShardStats,
)
from strider.frontier.ports import ShardNotReady, WorkingSet
from strider.messaging.errors import Unavailable
from strider.messaging.ports import RawRecord
from strider.scheduler.core.entries.state import disposition_of
from strider.scheduler.core.hosts.host_state import pace_of
from strider.scheduler.core.hosts.overrides import SourceOverrides
from strider.scheduler.core.hosts.run_hosts import RunHosts
from strider.scheduler.core.release.decision import apply_run_state
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import FrontierLog

from .host_cache import HostGroupCache, RobotsCache
from .in_progress import DecisionsInProgress, KeysInProgress, PendingDecision
from .lease_expiry_guard import LeaseExpiryGuard
from .robots_queries import RobotsQueries
from .shard_clock import ShardClock
from .store_mapping import entry_conclusion, returns_to_queue, seen_entry_of

READINESS_NAME: Final = "frontier"
"""Name of the working set in readiness checks while it is rebuilt."""


class SweepRequests:
    """Requests to apply the states of runs to entries that are not due, after a change of either."""

    def __init__(self, run_control: RunControl, clock: ShardClock) -> None:
        self._run_control = run_control
        self._clock = clock
        self.for_queues = False
        """The queues have to be swept."""
        self.for_parked = asyncio.Event()
        """Entries that are only in the log have to be read."""

    def add_if_needed(self, entries: Iterable[EntryRecorded]) -> None:
        """Request a sweep of the queues where an entry was queued against the state of its run.

        It would be decided about when due, but in a blocked host group that may take an hour.
        """
        if self._run_control.has_any and not self.for_queues:
            now_ms = self._clock.now_ms()
            self.for_queues = any(
                apply_run_state(entry, self._run_control.directive_of(entry), now_ms) is not None
                for entry in entries
                if disposition_of(entry) is EntryDisposition.QUEUE
            )


class OwnedShard:
    """A shard whose only writer is this process."""

    def __init__(
        self,
        number: int,
        log: FrontierLog,
        working_set: WorkingSet,
        *,
        options: SchedulerOptions,
        clock: ShardClock,
        run_control: RunControl | None = None,
        sources: SourceOverrides | None = None,
    ) -> None:
        self.number = number
        self.log = log
        self.clock = clock
        self.working_set = working_set
        self.options = options
        self.robots = RobotsCache(most_characters=options.robots_cache_characters)
        self.host_groups = self._new_host_groups(sources)
        self.robots_queries = RobotsQueries()
        self.run_hosts = RunHosts(options.max_hosts_per_domain)
        self.expiry_guard = LeaseExpiryGuard(taken_at=clock.monotonic())
        self.wake = asyncio.Event()
        """Set when something may be releasable that was not before."""
        self.max_fetch_sequence = 0
        """Greatest fetch sequence seen; no earlier fetch has a greater one."""
        self.rebuilt_at_ms = 0
        """When the working set was rebuilt; a group unknown then may have had a request just before."""
        self.is_ready = False
        self.is_stopping = False
        self.unavailable_reason = ""
        """Why nothing is released; empty where all is well."""
        self.is_at_capacity = False
        """Nothing is released because too much is in flight: each closing makes room."""
        self.last_figures: ShardStats | None = None
        """Fullness at the last count."""
        self.sweep_requests = SweepRequests(run_control or RunControl(), clock)
        self.decisions = DecisionsInProgress()
        self.keys_in_progress = KeysInProgress()

    def _new_host_groups(self, sources: SourceOverrides | None) -> HostGroupCache:
        return HostGroupCache(
            delay_seconds=self.options.delay_seconds,
            most=self.options.max_cached_groups,
            sources=sources,
            now_ms=self.clock.now_ms,
            on_evicted=self.robots.discard,
        )

    @property
    def epoch(self) -> int:
        """Epoch of the owner."""
        return self.log.epoch

    async def load_entries(self, lookups: Sequence[EntryLookup]) -> Sequence[EntryLookupResult]:
        """Return what the working set knows of entries.

        While its response is on the way here, a decision about one of the entries may be concluded and
        dropped from memory; a caller using the response would decide about a closed entry again. Then the
        lookup is repeated.
        """
        if not lookups:
            return ()
        names = {question.entry_id for question in lookups}
        while True:
            with self.decisions.watch_conclusions() as concluded, self.require_ready():
                known = await self.working_set.lookup(self.number, self.epoch, lookups)
            if concluded.isdisjoint(names):
                return known

    def paces_of(
        self, entries: Iterable[EntryRecorded], specs: Mapping[str, CrawlSpecDeclared]
    ) -> Mapping[str, HostPace]:
        """Return the paces of these entries, by crawl spec."""
        longest = self.options.max_delay_seconds
        return {
            spec_id: pace_of(specs.get(spec_id), max_delay_seconds=longest)
            for spec_id in {entry.crawl_spec_id for entry in entries}
        }

    async def accept(
        self,
        accepted: Sequence[AcceptedEntry],
        seen: Sequence[RefusedFingerprint],
        specs: Mapping[str, CrawlSpecDeclared],
    ) -> None:
        """Queue new entries, and mark refused URLs as seen."""
        if accepted or seen:
            paces = self.paces_of((each.entry for each in accepted), specs)
            with self.require_ready():
                await self.working_set.accept(self.number, self.epoch, accepted, refused=seen, paces=paces)
            self.sweep_requests.add_if_needed(each.entry for each in accepted)
            self.wake.set()

    async def record_joined_seeds(self, joined: Sequence[EntryRecorded]) -> None:
        """Store the seed tokens of open entries; those that are closed by now remain closed."""
        if joined:
            remembered = [seen_entry_of(entry) for entry in joined]
            with self.require_ready():
                await self.working_set.record_seen(self.number, self.epoch, remembered)

    async def lease_due_entries(self, *, limit: int, reserved: int) -> ReleaseResult:
        """Write leases for due entries, as far as the clocks of their host groups allow."""
        with self.require_ready():
            release = await self.working_set.release(
                self.number,
                self.epoch,
                limit=limit,
                lease_ms=self.options.lease_ms,
                reserved=reserved,
            )
        self.clock.synchronize(release.now_ms)
        for lease in release.leases:
            self.note_fetch_sequence(lease.entry.fetch_sequence)
        return release

    async def swap_leases(self, swaps: Sequence[LeaseSwap]) -> Sequence[Lease | None]:
        """Replace leases by leases of other requests."""
        with self.require_ready():
            return await self.working_set.swap(self.number, self.epoch, swaps, lease_ms=self.options.lease_ms)

    async def free_leases(self, freed: Sequence[EndedRequest]) -> Sequence[OutcomeStatus]:
        """End requests: their host groups may have the next ones."""
        with self.require_ready():
            endings = await self.working_set.end_requests(self.number, self.epoch, freed)
        self.wake.set()
        return endings

    async def conclude(self, conclusions: Sequence[EntryConclusion]) -> None:
        """Move entries to their place in the working set."""
        if conclusions:
            with self.require_ready():
                await self.working_set.conclude(self.number, self.epoch, conclusions)
            self.sweep_requests.add_if_needed(each.entry for each in conclusions)
            # Nothing else makes anything releasable: groups are free once the outcome is applied.
            if self.is_at_capacity or any(map(returns_to_queue, conclusions)):
                self.wake.set()

    async def refill(
        self,
        entries: Sequence[EntryRecorded],
        specs: Mapping[str, CrawlSpecDeclared],
        *,
        part: LogPassPart,
    ) -> int:
        """Queue those of these entries that are parked and have room; return how many."""
        paces = self.paces_of(entries, specs)
        with self.require_ready():
            opened = await self.working_set.refill(self.number, self.epoch, entries, part=part, paces=paces)
        if opened:
            self.sweep_requests.add_if_needed(entries)
            self.wake.set()
        return opened

    async def figures(self) -> ShardStats:
        """Return how full the shard is."""
        with self.require_ready():
            figures = await self.working_set.stats(self.number, self.epoch)
        self.clock.synchronize(figures.now_ms)
        self.last_figures = figures
        return figures

    async def scan(self, *, cursor: int, limit: int, place: EntryLocation | None = None) -> EntryScan:
        """Return a part of the open entries."""
        with self.require_ready():
            return await self.working_set.scan(
                self.number, self.epoch, cursor=cursor, limit=limit, location=place
            )

    async def sync_host_groups(self, names: Iterable[str]) -> None:
        """Send the current state of these host groups to the working set: delay, concurrency, block."""
        now_ms = self.clock.now_ms()
        states = self.host_groups.states_to_sync(names, now_ms=now_ms, rebuilt_at_ms=self.rebuilt_at_ms)
        if states:
            with self.require_ready():
                await self.working_set.set_host_groups(self.number, self.epoch, states)
            self.host_groups.mark_synced(states)
            self.wake.set()

    async def write_log(
        self,
        entries: Sequence[RawRecord],
        hosts: Sequence[HostRecorded] = (),
        *,
        groups: Iterable[str] = (),
        at_once: bool = False,
    ) -> None:
        """Write entries, origins, and those of these host groups that have changed, in one transaction."""
        names = list(groups)
        changed = self.host_groups.records_to_write(names, now_ms=self.clock.now_ms(), epoch=self.epoch)
        if entries or hosts or changed:
            host_records = [self.log.encode_host(host) for host in (*hosts, *changed)]
            with self.keys_in_progress.announce([*entries, *host_records]):
                await self.log.write(entries, host_records, at_once=at_once)
            self.host_groups.mark_recorded(record.group for record in changed)

    async def write_tombstones(self, closed: Iterable[tuple[str, str]]) -> int:
        """Delete entries that were read as closed, by job and URL key, unless they were written since.

        Only within `keys_in_progress.watch`. No await lies between check and write, so a handler that reopens
        one of them writes its record behind the tombstone.
        """
        tombstones = self.keys_in_progress.unwritten([self.log.tombstone(*each) for each in closed])
        if tombstones:
            await self.log.write(tombstones)
        return len(tombstones)

    async def write_host_tombstones(self, names: Iterable[str]) -> int:
        """Delete the records of host groups and origins, unless they were written since they were read.

        Only within `keys_in_progress.watch`, as above. A group that is in memory is written again once it
        has a state.
        """
        tombstones = self.keys_in_progress.unwritten([self.log.host_tombstone(name) for name in names])
        if tombstones:
            self.host_groups.mark_unrecorded((record.key or b"").decode() for record in tombstones)
            await self.log.write((), tombstones)
        return len(tombstones)

    def begin_decision(
        self, entry: EntryRecorded, *, before: EntryRecorded, cause: str, lease_id: str = ""
    ) -> PendingDecision:
        """Begin a decision; `commit_decisions` writes it to the log and the working set."""
        decided = PendingDecision(entry, self.log.encode_entry(entry), lease_id)
        self.decisions.begin(decided, before=before, cause=cause)
        return decided

    async def commit_decisions(
        self,
        pending: Sequence[PendingDecision],
        *,
        more: Sequence[EntryConclusion] = (),
        hosts: Sequence[HostRecorded] = (),
        groups: Iterable[str] = (),
        at_once: bool = False,
    ) -> None:
        """Write decisions to the log, then to the working set.

        Outcome and settlement of one page arrive in two topics, so decisions about one entry may overtake
        each other here. An overtaken decision is not written and queues nothing: the last record of an entry
        must be its last decision.
        """
        records = [each.record for each in pending if self.decisions.is_latest(each)]
        await self.write_log(records, hosts, groups=groups, at_once=at_once)
        concluded_now = [
            each
            for each in pending
            if self.decisions.is_latest(each) or disposition_of(each.entry) is not EntryDisposition.QUEUE
        ]
        await self.conclude([*more, *(entry_conclusion(each.entry, each.lease_id) for each in concluded_now)])
        self.decisions.end(pending)

    def note_outcomes_read(self, as_of: float) -> None:
        """Record that all outcomes published by then are applied."""
        if self.expiry_guard.note_outcomes_read(as_of):
            self.wake.set()

    def note_fetch_sequence(self, fetch_sequence: int) -> None:
        """Keep the greatest fetch sequence."""
        self.max_fetch_sequence = max(self.max_fetch_sequence, fetch_sequence)

    @contextmanager
    def require_ready(self) -> Iterator[None]:
        """Require a ready working set; mark the shard unready where it turns out to be lost."""
        if not self.is_ready:
            raise Unavailable(READINESS_NAME, f"working set of shard {self.number} is being rebuilt")
        try:
            yield
        except ShardNotReady as failure:
            self.is_ready = False
            self.wake.set()
            raise Unavailable(READINESS_NAME, str(failure)) from failure
