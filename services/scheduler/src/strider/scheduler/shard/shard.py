"""One shard in hand: its truth, its part of the working set, and what memory adds to them.

The only place that knows both epoch and working set. A working set that turns out to be gone makes
the shard unready: whoever meets that waits (Unavailable), until the shard is rebuilt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.events import EntryRecorded, HostRecorded
from strider.contracts.ids import entry_id
from strider.frontier.models import (
    AcceptedEntry,
    EndedRequest,
    EntryConclusion,
    EntryLocation,
    EntryLookup,
    EntryLookupResult,
    EntryScan,
    Lease,
    LeaseSwap,
    LogPassPart,
    OutcomeStatus,
    RefusedUrl,
    ReleaseResult,
    ShardStats,
)
from strider.frontier.ports import ShardNotReady, WorkingSet
from strider.messaging.errors import Unavailable
from strider.messaging.ports import RawRecord
from strider.scheduler.core import Fate, RunControl, SourceOverrides, apply_run_state, disposition_of
from strider.scheduler.ports import FrontierLog, SchedulerOptions

from .host_cache import HostGroupCache, RobotsCache
from .lease_expiry_guard import LeaseExpiryGuard
from .shard_clock import ShardClock
from .store_mapping import entry_conclusion, remembered_entry

_OPEN_DISPOSITIONS: Final = frozenset({Fate.QUEUE, Fate.RING})

READINESS_NAME: Final = "frontier"
"""What readiness calls the working set while it is being rebuilt."""


@fast_dataclass(frozen=True, slots=True)
class Decided:
    """A decision about an open entry that is neither written down nor told yet."""

    entry: EntryRecorded
    record: RawRecord
    lease_id: str = ""

    @property
    def entry_id(self) -> str:
        """Name of the entry."""
        return entry_id(self.entry.job_id, self.entry.url_key)


@fast_dataclass(frozen=True, slots=True)
class DecisionInProgress:
    """A decision on its way into the log."""

    entry: EntryRecorded
    before: EntryRecorded
    cause: str
    """What it follows from: a handler that is called again with the same must come to the same."""


class OwnedShard:
    """A shard whose one writer is this process."""

    def __init__(
        self,
        number: int,
        log: FrontierLog,
        working_set: WorkingSet,
        *,
        options: SchedulerOptions,
        clock: ShardClock,
        orders: RunControl | None = None,
        sources: SourceOverrides | None = None,
    ) -> None:
        self.number = number
        self._orders = orders or RunControl()
        self.log = log
        self.clock = clock
        self.working_set = working_set
        self.options = options
        self.host_groups = HostGroupCache(
            delay_seconds=options.delay_seconds, most=options.max_cached_groups, sources=sources
        )
        self.robots = RobotsCache(most_characters=options.robots_cache_characters)
        self.hindsight = LeaseExpiryGuard(taken_at=clock.monotonic())
        self.wake = asyncio.Event()
        """Something may be releasable that was not before."""
        self.max_fetch_sequence = 0
        """Greatest fetch sequence that was met; what was fetched before has none above it."""
        self.rebuilt_at_ms = 0
        """When the working set was rebuilt here; a group not known then may have been asked just before."""
        self.is_ready = False
        self.is_leaving = False
        self.waits_for = ""
        """Why nothing is released; empty where all goes well."""
        self.wants_room = False
        """Nothing is released because too much is under way: what closes makes room."""
        self.needs_sweep = False
        """A wish about runs was heard, or something was queued against one: what waits is to be swept."""
        self.refill_requested = asyncio.Event()
        """The same, of what waits in the log alone."""
        self.last_figures: ShardStats | None = None
        """How full it was when that was asked last."""
        self._written: set[bytes] | None = None
        self._writing: list[set[bytes]] = []
        self._in_progress: dict[str, DecisionInProgress] = {}
        """The last decision about each entry, until it is written down: the next one goes on from there."""
        self._concluding: list[set[str]] = []

    @property
    def epoch(self) -> int:
        """Epoch of its owner."""
        return self.log.epoch

    async def load_entries(self, lookups: Sequence[EntryLookup]) -> Sequence[EntryLookupResult]:
        """Say what is known of entries.

        An answer may be overtaken on its way here by the last word of a decision, which is then forgotten:
        whoever went by the answer would decide once more about what is closed. So it is asked for again.
        """
        if not lookups:
            return ()
        names = {question.entry_id for question in lookups}
        while True:
            with self.watch_conclusions() as concluded, self.require_ready():
                known = await self.working_set.lookup(self.number, self.epoch, lookups)
            if concluded.isdisjoint(names):
                return known

    @contextmanager
    def watch_conclusions(self) -> Iterator[set[str]]:
        """Gather the names of entries about which decisions are carried out, and forgotten, meanwhile."""
        concluded: set[str] = set()
        self._concluding.append(concluded)
        try:
            yield concluded
        finally:
            self._concluding = [each for each in self._concluding if each is not concluded]

    async def accept(self, accepted: Sequence[AcceptedEntry], seen: Sequence[RefusedUrl]) -> None:
        """Queue entries, remember refusals."""
        if accepted or seen:
            with self.require_ready():
                await self.working_set.accept(self.number, self.epoch, accepted, refused=seen)
            self._request_sweep_if_needed(each.entry for each in accepted)
            self.wake.set()

    async def record_joined_seeds(self, joined: Sequence[EntryRecorded]) -> None:
        """Remember the seeds of entries that are open already; should they be closed by now, they stay so."""
        if joined:
            told = [remembered_entry(entry) for entry in joined]
            with self.require_ready():
                await self.working_set.record_seen(self.number, self.epoch, told)

    async def lease_due_entries(self, *, limit: int) -> ReleaseResult:
        """Write leases for what is due."""
        with self.require_ready():
            release = await self.working_set.release(
                self.number, self.epoch, limit=limit, lease_ms=self.options.lease_ms
            )
        self.clock.synchronize(release.now_ms)
        for lease in release.leases:
            self.note_fetch_sequence(lease.entry.fetch_sequence)
        return release

    async def swap_leases(self, swaps: Sequence[LeaseSwap]) -> Sequence[Lease | None]:
        """Issue leases for other requests in place of these."""
        with self.require_ready():
            return await self.working_set.swap(self.number, self.epoch, swaps, lease_ms=self.options.lease_ms)

    async def free_leases(self, freed: Sequence[EndedRequest]) -> Sequence[OutcomeStatus]:
        """End requests: their groups may have the next ones."""
        with self.require_ready():
            endings = await self.working_set.end_requests(self.number, self.epoch, freed)
        self.wake.set()
        return endings

    async def conclude(self, conclusions: Sequence[EntryConclusion]) -> None:
        """Give entries their fates."""
        if conclusions:
            with self.require_ready():
                await self.working_set.conclude(self.number, self.epoch, conclusions)
            self._request_sweep_if_needed(each.entry for each in conclusions)
            # Nothing else makes anything releasable: groups are free from the outcome on.
            if self.wants_room or any(each.disposition.value == Fate.QUEUE.value for each in conclusions):
                self.wake.set()

    async def refill(self, entries: Sequence[EntryRecorded], *, part: LogPassPart) -> int:
        """Queue those of these that are parked and have room; gives how many."""
        with self.require_ready():
            opened = await self.working_set.refill(self.number, self.epoch, entries, part=part)
        if opened:
            self._request_sweep_if_needed(entries)
            self.wake.set()
        return opened

    async def figures(self) -> ShardStats:
        """Say how full the shard is."""
        with self.require_ready():
            figures = await self.working_set.stats(self.number, self.epoch)
        self.clock.synchronize(figures.now_ms)
        self.last_figures = figures
        return figures

    async def scan(self, *, cursor: int, limit: int, place: EntryLocation | None = None) -> EntryScan:
        """Show open entries."""
        with self.require_ready():
            return await self.working_set.scan(
                self.number, self.epoch, cursor=cursor, limit=limit, location=place
            )

    async def sync_host_groups(self, names: Iterable[str]) -> None:
        """Have the working set know these groups as they are now."""
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
        """Write entries, origins, and these groups where they have changed, in one transaction."""
        names = list(groups)
        changed = self.host_groups.records_to_write(names, now_ms=self.clock.now_ms(), epoch=self.epoch)
        if entries or hosts or changed:
            with self._noted(entries):
                await self.log.write(entries, [*hosts, *changed], at_once=at_once)
            self.host_groups.mark_recorded(record.group for record in changed)

    async def write_tombstones(self, closed: Iterable[tuple[str, str]]) -> int:
        """Forget entries that were read as closed, by job and URL key: but none that was written since.

        Only while the log is `watched`. Nothing is waited for between looking and writing, so whoever opens
        one of them again does so behind its tombstone.
        """
        assert self._written is not None
        graves = [
            tombstone for each in closed if (tombstone := self.log.tombstone(*each)).key not in self._written
        ]
        if graves:
            await self.log.write(graves)
        return len(graves)

    def latest_entry(self, known: EntryLookupResult, cause: str) -> EntryRecorded | None:
        """Give an entry as it was decided last; None where it is not open, or will not be in a moment."""
        if known.entry is None:
            return None
        entry = known.entry
        last = self._in_progress.get(entry_id(entry.job_id, entry.url_key))
        if last is not None and last.entry.fetch_sequence >= entry.fetch_sequence:
            entry = last.before if last.cause == cause else last.entry
        if disposition_of(entry) not in _OPEN_DISPOSITIONS:
            return None
        return replace_fields(entry, seed_token=known.seed_token or entry.seed_token)

    def decide(
        self, entry: EntryRecorded, *, before: EntryRecorded, cause: str, lease_id: str = ""
    ) -> Decided:
        """Take a decision; `settle` writes it down and tells the working set."""
        decided = Decided(entry, self.log.encode_entry(entry), lease_id)
        self._in_progress[decided.entry_id] = DecisionInProgress(entry, before, cause)
        return decided

    async def commit_decisions(
        self,
        pending: Sequence[Decided],
        *,
        more: Sequence[EntryConclusion] = (),
        hosts: Sequence[HostRecorded] = (),
        groups: Iterable[str] = (),
        at_once: bool = False,
    ) -> None:
        """Write decisions down, then tell the working set.

        Outcome and settlement of one page come on two topics, so decisions about one entry may overtake
        each other on their way here. What has been overtaken is not written, and puts nothing back into
        a queue: the last record of an entry must be its last decision.
        """
        records = [each.record for each in pending if self._is_latest(each)]
        await self.write_log(records, hosts, groups=groups, at_once=at_once)
        told = [
            each for each in pending if self._is_latest(each) or disposition_of(each.entry) is not Fate.QUEUE
        ]
        await self.conclude([*more, *(entry_conclusion(each.entry, each.lease_id) for each in told)])
        for each in pending:
            if self._is_latest(each):
                del self._in_progress[each.entry_id]
                for concluded in self._concluding:
                    concluded.add(each.entry_id)

    def note_outcomes_read(self, as_of: float) -> None:
        """Take note that all outcomes that had come by then are decided about."""
        if self.hindsight.note_outcomes_read(as_of):
            self.wake.set()

    def has_pending_decision(self, name: str) -> bool:
        """Say whether a decision about an entry is on its way into the log."""
        return name in self._in_progress

    def has_other_decision(self, entry: EntryRecorded, *, other_than: str) -> bool:
        """Say whether something else is being decided about an entry, in this life of it."""
        last = self._in_progress.get(entry_id(entry.job_id, entry.url_key))
        return (
            last is not None
            and last.cause != other_than
            and last.entry.fetch_sequence >= entry.fetch_sequence
        )

    def _is_latest(self, decided: Decided) -> bool:
        last = self._in_progress.get(decided.entry_id)
        return last is not None and last.entry is decided.entry

    def _request_sweep_if_needed(self, entries: Iterable[EntryRecorded]) -> None:
        """Have the queues swept where something was put there that a wish, heard meanwhile, keeps out.

        Its turn would come, but in a group that rests not for an hour.
        """
        if self._orders.has_any and not self.needs_sweep:
            now_ms = self.clock.now_ms()
            self.needs_sweep = any(
                apply_run_state(entry, self._orders.directive_for(entry.job_id, entry.execution_id), now_ms)
                is not None
                for entry in entries
                if disposition_of(entry) is Fate.QUEUE
            )

    def note_fetch_sequence(self, fetch_sequence: int) -> None:
        """Take note of a fetch sequence."""
        self.max_fetch_sequence = max(self.max_fetch_sequence, fetch_sequence)

    @contextmanager
    def _noted(self, entries: Sequence[RawRecord]) -> Iterator[None]:
        """Have whoever watches know of keys before they are written."""
        keys = {record.key for record in entries if record.key is not None}
        if self._written is not None:
            self._written |= keys
        self._writing.append(keys)
        try:
            yield
        finally:
            self._writing = [each for each in self._writing if each is not keys]

    @contextmanager
    def watched(self) -> Iterator[set[bytes]]:
        """Gather the keys of entries that are written down meanwhile.

        Whoever reads the log meanwhile may have read an older word about them. They are noted before they
        are written: what the working set knows of an entry is either in that log, or its key is here.
        """
        self._written = written = {key for keys in self._writing for key in keys}
        try:
            yield written
        finally:
            self._written = None

    @contextmanager
    def require_ready(self) -> Iterator[None]:
        """Do something with the working set, as long as there is one."""
        if not self.is_ready:
            raise Unavailable(READINESS_NAME, f"the working set of shard {self.number} is being rebuilt")
        try:
            yield
        except ShardNotReady as failure:
            self.is_ready = False
            self.wake.set()
            raise Unavailable(READINESS_NAME, str(failure)) from failure
