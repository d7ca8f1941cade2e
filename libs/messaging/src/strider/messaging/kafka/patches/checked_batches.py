"""Record batches whose numbers are checked, because a broker does not check all of them.

A broker compares the number of records in a batch's head with its offsets. It takes batches of any number of
records, though, and in one that is not compressed it leaves the offset of each record as the producer has
written it: a reader that believed it would continue billions of offsets ahead, or step over records.

Like `internals`, this holds for AIOKAFKA_VERSION. It decides what is wrong, and not what follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aiokafka.errors import CorruptRecordException

_CODEC_MASK = 0x07


class RecordLimitExceeded(Exception):
    """A batch has more records than the bound."""

    def __init__(self, records: int, limit: int) -> None:
        super().__init__(f"{records} records")
        self.records = records
        self.limit = limit


def checked(batch: Any, *, max_records: int | None) -> Any:
    """Return the batch, so that reading it raises where an offset is wrong; raise for too many records."""
    last_offset_delta = getattr(batch, "last_offset_delta", None)
    if last_offset_delta is None or batch.is_control_batch:  # of an older format, or a marker
        return batch
    if max_records is not None and last_offset_delta >= max_records:
        raise RecordLimitExceeded(last_offset_delta + 1, max_records)
    # Of compressed batches the broker reads the offsets itself, and refuses wrong ones.
    return batch if batch.attributes & _CODEC_MASK else CheckedOffsets(batch)


class CheckedOffsets:
    """A batch whose records have growing offsets within its own, or an error in their place."""

    is_control_batch = False

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.base_offset: int = batch.base_offset
        self.next_offset: int = batch.next_offset
        self.producer_id = batch.producer_id
        self.is_transactional = batch.is_transactional

    def validate_crc(self) -> bool:
        """Return whether the checksum is right."""
        return bool(self._batch.validate_crc())

    def __iter__(self) -> Iterator[Any]:
        """Return the records."""
        expected, end = self.base_offset, self.next_offset
        for record in self._batch:
            if not expected <= record.offset < end:
                raise CorruptRecordException(
                    f"a record has offset {record.offset}, where {expected} to {end - 1} are possible"
                )
            expected = record.offset + 1
            yield record
