"""Encoding of the frontier functions' arguments, and decoding of their leases.

Pure. The functions read arguments with `struct.unpack`, which costs less than one argument for each field.
New leases come as sequence and slot; expired ones as sequence, record and slot, because an older owner may
have issued them, or they are standalone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id_bytes, entry_id_of_bytes, key_fingerprint
from strider.frontier.constants import ROBOTS_KIND, lease_id, parse_lease_id
from strider.frontier.entry_encoding import (
    QUEUED,
    RARE_DEFAULTS,
    SLOT_SIZE,
    ShapeFields,
    pack_values,
    shape_number,
    split_slot,
    unpack_tail,
)
from strider.frontier.models import (
    AcceptedEntry,
    EndedRequest,
    EntryConclusion,
    EntryDisposition,
    EntryLookup,
    HostGroupState,
    HostPace,
    Lease,
    LeaseState,
    LeaseSwap,
    RefusedFingerprint,
    SeenBatch,
    SeenEntry,
)
from strider.frontier.rebuild_records import RecordedEntry, SharedFields

from .id_interning import InternedIds

SEEN_PER_CALL: Final = 4000
"""Fingerprints of one call of `frontier_load_seen`: a few milliseconds of the server."""

_FINGERPRINT_BASE: Final = 10**18
_FINGERPRINT_RANGE: Final = 2**63 - _FINGERPRINT_BASE
_MAX_48: Final = (1 << 48) - 1
_LOW_32: Final = 0xFFFFFFFF
NO_DELAY: Final = _LOW_32
"""A delay that is not set."""
_NO_PLACES: Final = 0xFFFF

_ACCEPTED: Final = Struct(">BHH16s19sH")
_SEEN_ENTRY: Final = Struct(">HHI16s19sH")
_REFUSED: Final = Struct(">H19s")
_LOOKUP: Final = Struct(">H16s19s")
_LEASE: Final = Struct(">HIHI")
_ENDED: Final = Struct(">HI16sH")
_CONCLUSION: Final = Struct(">H16s19sH")
_GROUP: Final = Struct(">IIHHIHIHIHIH")
_PACE: Final = Struct(">IHI")
_REFILLED: Final = Struct(">HH")
_SHORT: Final = Struct(">H")
_LONG: Final = Struct(">I")
_NO_TOKEN: Final = Struct(">HI")

_DISPOSITION_CODES: Final = {
    EntryDisposition.QUEUE: 0,
    EntryDisposition.PIPELINE: 1,
    EntryDisposition.CLOSE: 2,
    EntryDisposition.CLOSE_AND_FORGET: 3,
}
_LEASE_ONLY: Final = 4


class ScopeNumbers:
    """Numbers of the seen scopes of one call, each passed once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, scope: str) -> int:
        """Return the number of a scope in this call."""
        return self._numbers.setdefault(scope, len(self._numbers))

    def names(self) -> list[bytes]:
        """Return the names, in the order of their numbers."""
        return [_encode(scope) for scope in self._numbers]


class PaceNumbers:
    """Numbers of the paces of one call, each passed once; 0 for an entry without one."""

    def __init__(self, paces: Mapping[str, HostPace]) -> None:
        """Create them for the paces of crawl specs."""
        self._by_spec: dict[str, int] = {}
        numbers: dict[HostPace, int] = {}
        for spec_id, pace in paces.items():
            self._by_spec[spec_id] = numbers.setdefault(pace, len(numbers) + 1)
        self.packed = b"".join(
            _PACE.pack(
                NO_DELAY if pace.delay_ms is None else _clamp_delay(pace.delay_ms),
                min(max(pace.max_in_flight, 1), _NO_PLACES - 1),
                min(max(pace.patience_seconds, 0), _LOW_32),
            )
            for pace in numbers
        )

    def number(self, crawl_spec_id: str) -> int:
        """Return the number of a crawl spec's pace in this call."""
        return self._by_spec.get(crawl_spec_id, 0)


def encode_fingerprint(fingerprint: int) -> bytes:
    """Return a fingerprint as 19 digits of a signed 64-bit integer: sets of those stay packed."""
    return b"%d" % (_FINGERPRINT_BASE + fingerprint % _FINGERPRINT_RANGE)


def encode_entry_id(entry: EntryRecorded) -> bytes:
    """Return the 16 bytes of an entry's id."""
    return entry_id_bytes(entry.job_id, entry.url_key)


def encode_accepted(
    accepted: Iterable[AcceptedEntry], names: InternedIds, scopes: ScopeNumbers, paces: PaceNumbers
) -> bytes:
    """Encode entries for `frontier_accept`."""
    parts: list[bytes] = []
    pack, number = names.pack, scopes.number
    for each in accepted:
        entry = each.entry
        group, token, tail = _encode(entry.group), _encode(entry.seed_token), pack(entry)
        name, fingerprint = entry_id_bytes(entry.job_id, entry.url_key), encode_fingerprint(each.fingerprint)
        pace = paces.number(entry.crawl_spec_id)
        head = _ACCEPTED.pack(QUEUED, number(each.seen_scope), pace, name, fingerprint, len(group))
        if token:
            parts += (head, group, _SHORT.pack(len(token)), token, _LONG.pack(len(tail)), tail)
        else:
            parts += (head, group, _NO_TOKEN.pack(0, len(tail)), tail)
    return b"".join(parts)


def encode_recorded(
    recorded: Iterable[RecordedEntry],
    names: InternedIds,
    scopes: ScopeNumbers,
    paces: PaceNumbers,
    *,
    phase: int,
) -> bytes:
    """Encode loaded entries for `frontier_accept`."""
    parts: list[bytes] = []
    kept: dict[SharedFields, tuple[int, int, int, int]] = {}
    for each in recorded:
        shared, url_key, _, group, *_, rare = each
        if (numbers := kept.get(shared)) is None:
            numbers = kept[shared] = (
                *names.packing_numbers[shared.shape],
                scopes.number(shared.seen_scope),
                paces.number(shared.sample.crawl_spec_id),
            )
        shape, execution, scope, pace = numbers
        tail = pack_values(each.own_values, rare=rare, queue=each.queue, shape=shape, execution=execution)
        name, fingerprint = (
            entry_id_of_bytes(shared.job, url_key),
            encode_fingerprint(key_fingerprint(url_key)),
        )
        head = _ACCEPTED.pack(phase, scope, pace, name, fingerprint, len(group))
        if rare is not RARE_DEFAULTS and (token := _encode(each.seed_token)):
            parts += (head, group, _SHORT.pack(len(token)), token, _LONG.pack(len(tail)), tail)
        else:
            parts += (head, group, _NO_TOKEN.pack(0, len(tail)), tail)
    return b"".join(parts)


def encode_seen_entries(remembered: Iterable[SeenEntry], scopes: ScopeNumbers) -> bytes:
    """Encode known entries for `frontier_record_seen`."""
    parts: list[bytes] = []
    pack, number, unhex = _SEEN_ENTRY.pack, scopes.number, bytes.fromhex
    for name, scope, fingerprint, seen_at_ms, seed_token in remembered:
        at, token = _clamp_48(seen_at_ms), _encode(seed_token)
        parts.append(
            pack(
                number(scope),
                at >> 32,
                at & _LOW_32,
                unhex(name),
                encode_fingerprint(fingerprint),
                len(token),
            )
            + token
        )
    return b"".join(parts)


def encode_seen_batches(seen: Iterable[SeenBatch]) -> Iterator[list[str | bytes | int]]:
    """Encode seen URLs for calls of `frontier_load_seen`."""
    args: list[str | bytes | int] = []
    room = SEEN_PER_CALL
    for each in seen:
        for first in range(0, len(each.fingerprints), SEEN_PER_CALL):
            part = each.fingerprints[first : first + SEEN_PER_CALL]
            if len(part) > room:
                yield args
                args, room = [], SEEN_PER_CALL
            packed = b"".join(map(encode_fingerprint, part))
            args += each.seen_scope, _clamp_48(each.seen_at_ms), packed
            room -= len(part)
    if args:
        yield args


def encode_refused(seen: Iterable[RefusedFingerprint], scopes: ScopeNumbers) -> bytes:
    """Encode refused URLs for `frontier_accept`."""
    return b"".join(
        _REFUSED.pack(scopes.number(each.seen_scope), encode_fingerprint(each.fingerprint)) for each in seen
    )


def encode_lookups(questions: Sequence[EntryLookup], scopes: ScopeNumbers) -> bytes:
    """Encode lookups for `frontier_lookup`."""
    return b"".join(
        _LOOKUP.pack(
            scopes.number(each.seen_scope), bytes.fromhex(each.entry_id), encode_fingerprint(each.fingerprint)
        )
        for each in questions
    )


def encode_swaps(swaps: Iterable[LeaseSwap], names: InternedIds) -> bytes:
    """Encode swaps for `frontier_swap`."""
    parts: list[bytes] = []
    for each in swaps:
        tail = names.pack(each.request)
        parts += (encode_lease_id(each.lease_id), _LONG.pack(len(tail)), tail)
    return b"".join(parts)


def encode_lease_id(name: str) -> bytes:
    """Encode sequence and epoch of a lease."""
    epoch, sequence = (_clamp_48(number) for number in parse_lease_id(name))
    return _LEASE.pack(sequence >> 32, sequence & _LOW_32, epoch >> 32, epoch & _LOW_32)


def encode_refill(entries: Iterable[EntryRecorded], names: InternedIds, paces: PaceNumbers) -> bytes:
    """Encode parked entries for `frontier_refill`."""
    parts: list[bytes] = []
    for entry in entries:
        group, tail = _encode(entry.group), names.pack(entry)
        head = _REFILLED.pack(paces.number(entry.crawl_spec_id), len(group))
        parts += (encode_entry_id(entry), head, group, _LONG.pack(len(tail)), tail)
    return b"".join(parts)


def encode_ended(freed: Iterable[EndedRequest]) -> bytes:
    """Encode outcomes for `frontier_end_requests`."""
    parts: list[bytes] = []
    for each in freed:
        group, began = _encode(each.group), _clamp_48(each.started_at_ms)
        parts += (
            encode_lease_id(each.lease_id),
            _ENDED.pack(began >> 32, began & _LOW_32, bytes.fromhex(each.entry_id), len(group)),
            group,
        )
    return b"".join(parts)


def encode_conclusions(
    conclusions: Iterable[EntryConclusion], names: InternedIds, scopes: ScopeNumbers
) -> bytes:
    """Encode dispositions for `frontier_conclude`."""
    parts: list[bytes] = []
    for each in conclusions:
        entry = each.entry
        fate = _LEASE_ONLY if entry.kind == ROBOTS_KIND else _DISPOSITION_CODES[each.disposition]
        group, tail = _encode(entry.group), names.pack(entry)
        parts += (
            bytes((fate,)),
            encode_lease_id(each.lease_id),
            _CONCLUSION.pack(
                scopes.number(each.seen_scope),
                encode_entry_id(entry),
                encode_fingerprint(each.fingerprint),
                len(group),
            ),
            group,
            _LONG.pack(len(tail)),
            tail,
        )
    return b"".join(parts)


def encode_host_groups(groups: Iterable[HostGroupState]) -> bytes:
    """Encode states for `frontier_set_host_groups`."""
    parts: list[bytes] = []
    for each in groups:
        name = _encode(each.group)
        times = (each.blocked_since_ms, each.blocked_until_ms, each.not_before_ms, each.started_at_ms)
        since, until, clock, start = map(_clamp_48, times)
        head = _GROUP.pack(
            NO_DELAY if each.delay_ms is None else _clamp_delay(each.delay_ms),
            NO_DELAY if each.least_delay_ms is None else _clamp_delay(each.least_delay_ms),
            _NO_PLACES if each.max_in_flight is None else min(max(each.max_in_flight, 0), _NO_PLACES - 1),
            since >> 32, since & _LOW_32, until >> 32, until & _LOW_32, clock >> 32, clock & _LOW_32,
            start >> 32, start & _LOW_32, len(name),
        )  # fmt: skip
        parts += (head, name)
    return b"".join(parts)


def _clamp_48(value: int) -> int:
    return min(max(value, 0), _MAX_48)


def _clamp_delay(delay_ms: int) -> int:
    return min(max(delay_ms, 0), NO_DELAY - 1)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_RECORD: Final = Struct(">HIBBBHIHI7s16sB")
_LEASE_SHORT: Final = Struct(">H")
_LEASE_LONG: Final = Struct(">I")


class PackedLease(NamedTuple):
    """A lease whose entry is still encoded."""

    sequence: int
    epoch: int
    state: LeaseState
    issued_at_ms: int
    expires_at_ms: int
    tail: bytes
    shape: int
    """Number of the shape that its entry needs."""


def decode_new_leases(answer: Sequence[Any], epoch: int, *, now_ms: int, lease_ms: int) -> list[PackedLease]:
    """Decode new leases: sequence and slot of each."""
    state, expires_ms = LeaseState.ISSUED, now_ms + lease_ms
    tails = [slot[SLOT_SIZE:] for slot in answer[1::2]]
    return [
        PackedLease(sequence, epoch, state, now_ms, expires_ms, tail, shape_number(tail))
        for sequence, tail in zip(answer[::2], tails, strict=True)
    ]


def decode_expired_leases(answer: Sequence[Any]) -> list[PackedLease]:
    """Decode expired leases: sequence, record, and slot or nothing of each."""
    triples = zip(answer[::3], answer[1::3], answer[2::3], strict=True)
    stored = (_decode_expired(int(sequence), record, slot) for sequence, record, slot in triples)
    return [lease for lease in stored if lease is not None]


def unpack_leases(
    stored: Sequence[PackedLease], shard: int, shapes: Mapping[int, ShapeFields]
) -> list[Lease]:
    """Return leases as models of the port."""
    return [
        Lease(
            lease_id(shard, epoch, sequence),
            unpack_tail(tail, shapes[shape], held_by=sequence),
            issued_ms,
            expires_ms,
            state,
        )
        for sequence, epoch, state, issued_ms, expires_ms, tail, shape in stored
    ]


def _decode_expired(sequence: int, record: bytes, slot: bytes | None) -> PackedLease | None:
    (epoch_high, epoch_low, state, _, alone, issued_high, issued_low, ends_high, ends_low, _, _, nonce) = (
        _RECORD.unpack_from(record)
    )
    at = _RECORD.size + nonce
    at += _LEASE_SHORT.size + _LEASE_SHORT.unpack_from(record, at)[0]
    tail = record[at + _LEASE_LONG.size :] if alone else split_slot(slot)[0] if slot else b""
    if not tail:
        return None
    return PackedLease(
        sequence,
        epoch_high << 32 | epoch_low,
        LeaseState.STARTED if state else LeaseState.ISSUED,
        issued_high << 32 | issued_low,
        ends_high << 32 | ends_low,
        tail,
        shape_number(tail),
    )
