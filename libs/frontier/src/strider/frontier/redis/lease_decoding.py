"""Decoding of the leases in the functions' replies.

Pure. New leases come as sequence and slot; expired ones as sequence, record and slot, because an older owner
may have issued them, or they are standalone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

from strider.frontier.constants import lease_id
from strider.frontier.entry_encoding import SLOT_SIZE, ShapeFields, shape_number, split_slot, unpack_tail
from strider.frontier.models import Lease, LeaseState

_RECORD: Final = Struct(">HIBBBHIHI7s16sB")
_SHORT: Final = Struct(">H")
_LONG: Final = Struct(">I")


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
    at += _SHORT.size + _SHORT.unpack_from(record, at)[0]
    tail = record[at + _LONG.size :] if alone else split_slot(slot)[0] if slot else b""
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
