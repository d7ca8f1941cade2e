"""A working set told as simply as can be: lists that are searched, nothing that is fast.

It says what a frontier must answer; which of several equally good pages goes first is left open.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.models import EntryDisposition, Lease
from tests.contract.working_set.implementations.frontiers import MARGIN_MS, identity

GRACE_MS = 2_000


@dataclass
class Entry:
    entry: EntryRecorded
    where: str = "queued"
    held_by: int = 0
    ended: int = 0

    @property
    def sequence(self) -> int:
        return self.held_by or self.entry.fetch_sequence


@dataclass
class Request:
    """A lease, for as long as it is not concluded."""

    lease: Lease
    is_alone: bool = False
    is_running: bool = True
    is_expired: bool = False
    marked_ms: int = 0
    expires_ms: int = 0

    @property
    def sequence(self) -> int:
        return self.lease.entry.fetch_sequence


@dataclass
class Group:
    delay_ms: int
    places: int
    blocked_until_ms: int = 0
    clock_ms: int = 0


@dataclass
class Model:
    groups: dict[str, Group]
    entries: dict[str, Entry] = field(default_factory=dict)
    requests: dict[int, Request] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    accepted: int = 0

    def accept(self, entry: EntryRecorded) -> None:
        self.seen.add(identity(entry))
        if identity(entry) not in self.entries:
            self.entries[identity(entry)] = Entry(entry, ended=entry.fetch_sequence)
            self.accepted += 1

    def due(self, name: str, now_ms: int) -> list[int]:
        """Give the priorities of what may go out of a group now, best first."""
        group = self.groups[name]
        running = [each for each in self.requests.values() if each.is_running and _group(each) == name]
        # Without a delay there is nothing to keep from a request whose head is still to be written.
        marked = [each.marked_ms for each in running if each.marked_ms and group.delay_ms]
        late = [at_ms + GRACE_MS + group.delay_ms for at_ms in marked]
        if max(group.clock_ms, group.blocked_until_ms, *late) > now_ms or any(
            each.is_alone for each in running
        ):
            return []
        free = group.places - len(running)
        if group.delay_ms:
            free = min(free, 1) if all(each.marked_ms for each in running) else 0
        waiting = [
            each.entry.priority
            for each in self.entries.values()
            if each.where == "queued" and each.entry.group == name and each.entry.due_at_ms <= now_ms
        ]
        return sorted(waiting, reverse=True)[: max(free, 0)]

    def give(self, lease: Lease) -> None:
        held = self.entries[identity(lease.entry)]
        assert held.where == "queued"
        assert lease.entry == replace(held.entry, fetch_sequence=lease.entry.fetch_sequence)
        held.where, held.held_by = "leased", lease.entry.fetch_sequence
        self.requests[held.held_by] = Request(lease, expires_ms=lease.expires_at_ms)

    def expire(self, now_ms: int) -> None:
        for request in [each for each in self.requests.values() if each.is_running]:
            if request.expires_ms <= now_ms:
                self._end(request)
                held = self.entries.get(identity(request.lease.entry))
                request.is_expired = True
                if not request.is_alone and (held is None or held.held_by != request.sequence):
                    del self.requests[request.sequence]

    def expired(self) -> list[str]:
        return sorted(each.lease.lease_id for each in self.requests.values() if each.is_expired)

    def mark(self, lease: Lease, now_ms: int, deadline_ms: int) -> str:
        """Mark with a nonce that was not used yet."""
        request = self.requests.get(lease.entry.fetch_sequence)
        if request is None or not request.is_running or request.marked_ms or request.expires_ms <= now_ms:
            return "gone"
        request.marked_ms, request.expires_ms = now_ms, now_ms + deadline_ms + MARGIN_MS
        return "started"

    def swap(self, lease: Lease) -> bool:
        request = self.requests.get(lease.entry.fetch_sequence)
        if request is None or not request.is_running or request.marked_ms or request.is_alone:
            return False
        held = self.entries.get(identity(lease.entry))
        if held is None or held.held_by != request.sequence:
            return False
        held.where, held.held_by = "queued", 0
        del self.requests[request.sequence]
        return True

    def adopt_alone(self, lease: Lease) -> None:
        self.requests[lease.entry.fetch_sequence] = Request(
            lease, is_alone=True, expires_ms=lease.expires_at_ms
        )

    def free(self, lease: Lease, *, started_ms: int, now_ms: int) -> str:
        sequence = lease.entry.fetch_sequence
        request, group = self.requests.get(sequence), self.groups[lease.entry.group]
        if started_ms:
            earliest = max(request.marked_ms, request.lease.issued_at_ms) if request else 0
            began_ms = min(max(started_ms, earliest), now_ms)
            group.clock_ms = max(group.clock_ms, began_ms + group.delay_ms)
        held = self.entries.get(identity(lease.entry))
        if request is not None:
            request.is_running = request.is_expired = False
            if request.is_alone:
                return "current"
            if held is None or held.held_by != sequence:
                del self.requests[sequence]
                return "stale"
            held.ended = sequence
            return "current"
        if lease.entry.kind == "robots" or held is None or held.where != "queued" or sequence <= held.ended:
            return "stale"
        held.where, held.held_by, held.ended = "leased", sequence, sequence
        self.requests[sequence] = Request(lease, is_running=False)
        return "current"

    def conclude(self, entry: EntryRecorded, fate: EntryDisposition, lease: Lease | None) -> None:
        request = self.requests.get(lease.entry.fetch_sequence) if lease else None
        if request is not None:
            self._end(request)
            del self.requests[request.sequence]
        held = self.entries.get(identity(entry))
        if entry.kind == "robots" or held is None:
            return
        is_named = request is not None and held.held_by == request.sequence
        if entry.fetch_sequence < held.sequence and not is_named:
            return
        had = self.requests.get(held.held_by)
        if had is not None and not had.is_running:
            del self.requests[had.sequence]
        if fate in (EntryDisposition.QUEUE, EntryDisposition.PIPELINE):
            held.entry, held.held_by = entry, 0
            held.where = "queued" if fate is EntryDisposition.QUEUE else "ring"
            return
        del self.entries[identity(entry)]
        (self.seen.add if fate is EntryDisposition.CLOSE else self.seen.discard)(identity(entry))

    def figures(self) -> tuple[int, int, int]:
        where = [each.where for each in self.entries.values()]
        return where.count("queued"), len(self.requests), where.count("ring")

    def _end(self, request: Request) -> None:
        if request.is_running and request.marked_ms:
            group = self.groups[_group(request)]
            group.clock_ms = max(group.clock_ms, request.marked_ms + GRACE_MS + group.delay_ms)
        request.is_running = False


def _group(request: Request) -> str:
    return request.lease.entry.group
