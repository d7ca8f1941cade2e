"""What the frontier's scripts are told, in bytes; each function writes what one script's header lists.

Pure. The scripts read these with `struct.unpack`, which costs less than an argument for each field.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id_bytes, entry_id_of_bytes, key_fingerprint

from .packing import NOTHING_RARE, QUEUED, pack_own
from .ports import (
    Accepted,
    Conclusion,
    Fate,
    Freed,
    GroupState,
    Question,
    Recorded,
    Remembered,
    Seen,
    SeenThen,
    Swap,
)
from .recorded import Mould
from .redis_names import Names
from .rules import ROBOTS, lease_numbers

_LEAST: Final = 10**18
_SPAN: Final = 2**63 - _LEAST
_MAX_48: Final = (1 << 48) - 1
_LOW_32: Final = 0xFFFFFFFF
_MAX_16: Final = 0xFFFF

_ACCEPTED: Final = Struct(">BH16s19sH")
_CLOSED: Final = Struct(">HHI16s19sH")
_SEEN: Final = Struct(">H19s")
_QUESTION: Final = Struct(">H16s19s")
_LEASE: Final = Struct(">HIHI")
_FREED: Final = Struct(">HI16sH")
_CONCLUSION: Final = Struct(">H16s19sH")
_GROUP: Final = Struct(">IHHIHIH")
_SHORT: Final = Struct(">H")
_LONG: Final = Struct(">I")
_NO_TOKEN: Final = Struct(">HI")

_FATES: Final = {Fate.QUEUE: 0, Fate.RING: 1, Fate.CLOSE: 2, Fate.CLOSE_AND_FORGET: 3}
_ONLY_LEASE: Final = 4


class Scopes:
    """Seen scopes of one call, each told once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, scope: str) -> int:
        """Give a scope its number in this call."""
        return self._numbers.setdefault(scope, len(self._numbers))

    def told(self) -> list[bytes]:
        """Give the names, in the order of their numbers."""
        return [_bytes(scope) for scope in self._numbers]


def digits(fingerprint: int) -> bytes:
    """Write a fingerprint as 19 digits that are a signed 64-bit integer: sets of those stay packed."""
    return b"%d" % (_LEAST + fingerprint % _SPAN)


def raw_id(entry: EntryRecorded) -> bytes:
    """Name an entry in 16 bytes."""
    return entry_id_bytes(entry.job_id, entry.url_key)


def accepted_bytes(accepted: Iterable[Accepted], names: Names, scopes: Scopes) -> bytes:
    """Tell entries to `frontier_accept`."""
    parts: list[bytes] = []
    pack, number = names.pack, scopes.number
    for each in accepted:
        entry = each.entry
        group, token, tail = _bytes(entry.group), _bytes(entry.seed_token), pack(entry)
        name, fingerprint = entry_id_bytes(entry.job_id, entry.url_key), digits(each.fingerprint)
        head = _ACCEPTED.pack(QUEUED, number(each.seen_scope), name, fingerprint, len(group))
        if token:
            parts += (head, group, _SHORT.pack(len(token)), token, _LONG.pack(len(tail)), tail)
        else:
            parts += (head, group, _NO_TOKEN.pack(0, len(tail)), tail)
    return b"".join(parts)


def recorded_bytes(recorded: Iterable[Recorded], names: Names, scopes: Scopes, *, phase: int) -> bytes:
    """Tell entries that are put back to `frontier_accept`."""
    parts: list[bytes] = []
    kept: dict[Mould, tuple[int, int, int]] = {}
    for each in recorded:
        mould, url_key, _, group, *_, rare = each
        if (numbers := kept.get(mould)) is None:
            numbers = kept[mould] = (*names.packers[mould.shape], scopes.number(mould.scope))
        shape, execution, scope = numbers
        tail = pack_own(each.own, rare=rare, queue=each.queue, shape=shape, execution=execution)
        name, fingerprint = entry_id_of_bytes(mould.job, url_key), digits(key_fingerprint(url_key))
        head = _ACCEPTED.pack(phase, scope, name, fingerprint, len(group))
        if rare is not NOTHING_RARE and (token := _bytes(each.seed_token)):
            parts += (head, group, _SHORT.pack(len(token)), token, _LONG.pack(len(tail)), tail)
        else:
            parts += (head, group, _NO_TOKEN.pack(0, len(tail)), tail)
    return b"".join(parts)


def remembered_bytes(remembered: Iterable[Remembered], scopes: Scopes) -> bytes:
    """Tell closed entries to `frontier_remember`."""
    parts: list[bytes] = []
    pack, number, unhex = _CLOSED.pack, scopes.number, bytes.fromhex
    for name, scope, fingerprint, seen_at_ms, seed_token in remembered:
        at, token = _time(seen_at_ms), _bytes(seed_token)
        parts.append(
            pack(number(scope), at >> 32, at & _LOW_32, unhex(name), digits(fingerprint), len(token)) + token
        )
    return b"".join(parts)


def filled(seen: Iterable[SeenThen]) -> list[str | bytes | int]:
    """Tell `frontier_fill` what was seen."""
    told: list[str | bytes | int] = []
    for each in seen:
        told += (each.seen_scope, _time(each.seen_at_ms), b"".join(map(digits, each.fingerprints)))
    return told


def seen_bytes(seen: Iterable[Seen], scopes: Scopes) -> bytes:
    """Tell refused URLs to `frontier_accept`."""
    return b"".join(_SEEN.pack(scopes.number(each.seen_scope), digits(each.fingerprint)) for each in seen)


def question_bytes(questions: Sequence[Question], scopes: Scopes) -> bytes:
    """Tell questions to `frontier_look`."""
    return b"".join(
        _QUESTION.pack(scopes.number(each.seen_scope), bytes.fromhex(each.entry_id), digits(each.fingerprint))
        for each in questions
    )


def swap_bytes(swaps: Iterable[Swap], names: Names) -> bytes:
    """Tell swaps to `frontier_swap`."""
    parts: list[bytes] = []
    for each in swaps:
        tail = names.pack(each.request)
        parts += (lease_bytes(each.lease_id), _LONG.pack(len(tail)), tail)
    return b"".join(parts)


def lease_bytes(name: str) -> bytes:
    """Tell sequence and epoch of a lease."""
    epoch, sequence = (_time(number) for number in lease_numbers(name))
    return _LEASE.pack(sequence >> 32, sequence & _LOW_32, epoch >> 32, epoch & _LOW_32)


def refill_bytes(entries: Iterable[EntryRecorded], names: Names) -> bytes:
    """Tell parked entries to `frontier_refill`."""
    parts: list[bytes] = []
    for entry in entries:
        group, tail = _bytes(entry.group), names.pack(entry)
        parts += (raw_id(entry), _SHORT.pack(len(group)), group, _LONG.pack(len(tail)), tail)
    return b"".join(parts)


def freed_bytes(freed: Iterable[Freed]) -> bytes:
    """Tell outcomes to `frontier_free`."""
    parts: list[bytes] = []
    for each in freed:
        group, began = _bytes(each.group), _time(each.started_at_ms)
        parts += (
            lease_bytes(each.lease_id),
            _FREED.pack(began >> 32, began & _LOW_32, bytes.fromhex(each.entry_id), len(group)),
            group,
        )
    return b"".join(parts)


def conclusion_bytes(conclusions: Iterable[Conclusion], names: Names, scopes: Scopes) -> bytes:
    """Tell fates to `frontier_conclude`."""
    parts: list[bytes] = []
    for each in conclusions:
        entry = each.entry
        fate = _ONLY_LEASE if entry.kind == ROBOTS else _FATES[each.fate]
        group, tail = _bytes(entry.group), names.pack(entry)
        parts += (
            bytes((fate,)),
            lease_bytes(each.lease_id),
            _CONCLUSION.pack(
                scopes.number(each.seen_scope), raw_id(entry), digits(each.fingerprint), len(group)
            ),
            group,
            _LONG.pack(len(tail)),
            tail,
        )
    return b"".join(parts)


def group_bytes(groups: Iterable[GroupState]) -> bytes:
    """Tell states to `frontier_groups`."""
    parts: list[bytes] = []
    for each in groups:
        name = _bytes(each.group)
        blocked, clock = _time(each.blocked_until_ms), _time(each.not_before_ms)
        head = _GROUP.pack(
            min(max(each.delay_ms, 0), _LOW_32), min(max(each.max_in_flight, 0), _MAX_16),
            blocked >> 32, blocked & _LOW_32, clock >> 32, clock & _LOW_32, len(name),
        )  # fmt: skip
        parts += (head, name)
    return b"".join(parts)


def _time(value: int) -> int:
    return min(max(value, 0), _MAX_48)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
