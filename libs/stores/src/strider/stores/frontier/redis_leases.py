"""Leases as the scripts answer them, read back.

Pure. Given leases come as sequence and slot; those that ran out as sequence, record and slot, because
an older owner may have given them, or they live alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, Final

from .packing import Shape, shape_number, tail_of, unpack_tail
from .ports import Lease, LeaseState
from .rules import lease_id

_RECORD: Final = Struct(">HIBBBHIHI7s16sB")
_SHORT: Final = Struct(">H")
_LONG: Final = Struct(">I")


@dataclass(frozen=True, slots=True)
class StoredLease:
    """A lease whose entry is still packed."""

    sequence: int
    epoch: int
    state: LeaseState
    issued_at_ms: int
    expires_at_ms: int
    tail: bytes

    @property
    def shape(self) -> int:
        """Number of the shape that its entry needs."""
        return shape_number(self.tail)

    def shown(self, shard: int, shape: Shape) -> Lease:
        """Give it as the port has it."""
        return Lease(
            lease_id(shard, self.epoch, self.sequence),
            unpack_tail(self.tail, shape, held_by=self.sequence),
            self.issued_at_ms,
            self.expires_at_ms,
            self.state,
        )


def given(answer: Sequence[bytes], epoch: int, *, now_ms: int, lease_ms: int) -> list[StoredLease]:
    """Read new leases: sequence and slot of each."""
    pairs = zip(answer[::2], answer[1::2], strict=True)
    return [
        StoredLease(int(sequence), epoch, LeaseState.ISSUED, now_ms, now_ms + lease_ms, tail_of(slot)[0])
        for sequence, slot in pairs
    ]


def expired(answer: Sequence[Any]) -> list[StoredLease]:
    """Read leases that ran out: sequence, record, and slot or nothing of each."""
    triples = zip(answer[::3], answer[1::3], answer[2::3], strict=True)
    stored = [_expired(int(sequence), record, slot) for sequence, record, slot in triples]
    return [lease for lease in stored if lease.tail]


def shown(stored: Sequence[StoredLease], shard: int, shape: Callable[[int], Shape]) -> list[Lease]:
    """Give leases as the port has them."""
    return [lease.shown(shard, shape(lease.shape)) for lease in stored]


def _expired(sequence: int, record: bytes, slot: bytes | None) -> StoredLease:
    (epoch_high, epoch_low, state, _, alone, issued_high, issued_low, ends_high, ends_low, _, _, nonce) = (
        _RECORD.unpack_from(record)
    )
    at = _RECORD.size + nonce
    at += _SHORT.size + _SHORT.unpack_from(record, at)[0]
    request = record[at + _LONG.size :]
    return StoredLease(
        sequence,
        epoch_high << 32 | epoch_low,
        LeaseState.STARTED if state else LeaseState.ISSUED,
        issued_high << 32 | issued_low,
        ends_high << 32 | ends_low,
        request if alone else tail_of(slot)[0] if slot else b"",
    )
