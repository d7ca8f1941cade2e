"""Continue a reader without a group behind offsets that it cannot read.

What retention deleted is no part of a table any more, so that is no event. A record batch that was skipped
is one: it still stands in the log.
"""

from __future__ import annotations

from . import log_events
from .errors import LogTruncated, UnreadBatch, UnreadRange
from .log_events import logger
from .ports import Consumer, TopicPartition

_log = logger(__name__)


def skip_unread(reader: Consumer, unread: UnreadRange) -> None:
    """Continue behind the range; log a batch that was skipped, and a log that lost its tail."""
    if isinstance(unread, UnreadBatch):
        _log.emit(
            log_events.RECORD_BATCH_LEFT_OUT,
            topic=unread.topic,
            partition=unread.partition,
            first=unread.first,
            last=unread.last,
            codec=unread.codec,
            compressed_bytes=unread.compressed_bytes,
            why=unread.why,
        )
    if isinstance(unread, LogTruncated):
        _log.emit(
            log_events.TRUNCATED_LOG_CONTINUED,
            topic=unread.topic,
            partition=unread.partition,
            first=unread.first,
            last=unread.last,
            end=unread.end,
        )
    reader.seek(TopicPartition(unread.topic, unread.partition), unread.resume_at)
