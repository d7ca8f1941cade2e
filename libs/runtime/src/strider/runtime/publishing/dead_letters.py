"""Dead letters: the whole message that could not be handled, and why.

Decides the content of a dead letter, and how a large message fits into one: whole, by reference to the object
store, or truncated. A service must not stop for one large message: what was cut is named, and the message
itself still stands in its topic until retention deletes it. Does not decide that a message is dead-lettered,
nor publishes.
"""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from strider.contracts import DecodeError, EncodeError, Topic
from strider.contracts.avro.deferred_encoding import encoded_bytes
from strider.messaging.effects import Publish
from strider.messaging.errors import (
    BatchTooLarge,
    BatchUnreadable,
    LogTruncated,
    OffsetLost,
    TooManyRecords,
    UnreadRange,
)
from strider.messaging.ports import Clock, Header, Record, epoch_ms
from strider.runtime.consumer.ports import DeadLetterBodyStore

MESSAGE_SHARE: Final = 0.75
"""Part of a dead letter that the message itself may take. The rest is for texts about it, which are clipped
to less (four bytes a character at the worst).
"""

MAX_STACK_TRACE_CHARS: Final = 16_384
"""The innermost frames are kept: they show what failed."""

MAX_TEXT_CHARS: Final = 2_048

HANDLER_CRASHED: Final = "handler_crashed"
HANDLER_TIMEOUT: Final = "handler_timeout"
RESULT_REFUSED: Final = "answer_refused"
RETENTION_LOSS: Final = "retention_loss"
BATCH_TOO_LARGE: Final = "batch_too_large"
BATCH_UNREADABLE: Final = "batch_unreadable"
LOG_TRUNCATED: Final = "log_truncated"

_UNREAD_REASONS: Final[Mapping[type[UnreadRange], tuple[str, str]]] = {
    OffsetLost: (RETENTION_LOSS, "retention"),
    LogTruncated: (LOG_TRUNCATED, "infrastructure"),
    BatchTooLarge: (BATCH_TOO_LARGE, "decode"),
    TooManyRecords: (BATCH_TOO_LARGE, "decode"),
    BatchUnreadable: (BATCH_UNREADABLE, "decode"),
}
"""Reason and category of the dead letter by the kind of range."""

_TRUNCATED_HEADER_BYTES: Final = 256
"""More than the header takes that names what is missing."""

CLAIMED_HEADERS: Final = "strider-claimed-headers"
"""Header that replaces the key and all headers where they are too large: its value refers to their object."""

TRUNCATED: Final = "strider-truncated"
"""Header of a message that was truncated: its value names what is missing. Never send such a message again
from its dead letter.
"""

LENGTH_BYTES: Final = 5
"""Bytes of an encoded length, besides those that it counts."""


class HandlerTimeoutError(Exception):
    """A handler was cancelled at its deadline."""


def dead_letter_reason(failure: BaseException) -> str:
    """Return the reason word for a failure."""
    if isinstance(failure, DecodeError):
        return failure.reason
    if isinstance(failure, HandlerTimeoutError):
        return HANDLER_TIMEOUT
    return RESULT_REFUSED if isinstance(failure, EncodeError) else HANDLER_CRASHED


def safe_repr(failure: BaseException) -> str:
    """Return the repr of a failure for a log line, even where the repr itself raises."""
    try:
        return repr(failure)
    except Exception as broken:  # noqa: BLE001  # the repr is foreign code
        return f"<{_class_of(failure)}, whose repr raises {type(broken).__qualname__}>"


@dataclass(frozen=True, slots=True)
class DeadLetterOrigin:
    """The service that writes the dead letters."""

    service: str
    group: str
    version: str = ""
    worker_id: str = ""


class DeadLetterWriter:
    """Makes the events of `<service>-dlq`."""

    def __init__(
        self,
        topic: Topic[Any],
        origin: DeadLetterOrigin,
        *,
        clock: Clock,
        objects: DeadLetterBodyStore | None = None,
        scrub: Callable[[str], str] = lambda text: text,
    ) -> None:
        """`scrub` removes secrets from tracebacks and messages."""
        self._topic = topic
        self._origin = origin
        self._clock = clock
        self._objects = objects
        self._scrub = scrub

    async def dead_letter(
        self,
        record: Record,
        failure: BaseException,
        *,
        attempts: int = 1,
        headers: Sequence[Header] = (),
        redact: Callable[[bytes], bytes] | None = None,
        is_public: bool = False,
    ) -> Publish:
        """Return the dead letter of a message; raises Unavailable where the object store does not respond.

        `headers` carry the trace in which it was handled; `redact` removes secrets from its value. Of a
        public topic the headers are kept, but entry, run and trace are not taken from them.
        """
        record = _redacted(record, redact)
        believed = () if is_public else record.headers
        value, max_bytes = encoded_bytes(record.value), int(self._topic.max_bytes * MESSAGE_SHARE)
        packed = await pack_message(record, max_bytes=max_bytes, objects=self._objects)
        event = self._event(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            timestamp_ms=record.timestamp,
            key=packed.key,
            value=packed.value,
            value_object=packed.value_object,
            value_bytes=len(value or b""),
            value_sha256="" if value is None else sha256(value).hexdigest(),
            header_names=tuple(name for name, _ in packed.headers),
            header_values=tuple(content for _, content in packed.headers),
            task_id=_header_text(believed, "entry"),
            execution_id=_header_text(believed, "execution"),
            **self._failure_fields(failure, notice=_truncation_notice(record, packed), is_public=is_public),
            trace_id=_trace_id(() if is_public else headers or record.headers),
            attempts=attempts,
        )
        return Publish(self._topic, event)

    def range_event(self, records: Sequence[Record], failure: BaseException) -> Publish:
        """Return the one dead letter of bad messages of a partition, which failed for the same reason.

        It has none of their bytes, which are in their topic until retention deletes them.
        """
        first, last = records[0], records[-1]
        among = f"{len(records)} messages among the offsets {first.offset} to {last.offset}; the first: "
        event = self._event(
            topic=first.topic,
            partition=first.partition,
            offset=first.offset,
            timestamp_ms=first.timestamp,
            **self._failure_fields(failure, notice=among, is_public=True),
            lost_from=first.offset,
            lost_to=last.offset,
        )
        return Publish(self._topic, event)

    def unread_event(self, unread: UnreadRange) -> Publish:
        """Return the dead letter of a range of offsets that cannot be read."""
        reason, category = _UNREAD_REASONS[type(unread)]
        event = self._event(
            topic=unread.topic,
            partition=unread.partition,
            offset=unread.first,
            reason=reason,
            category=category,
            error_class=_class_of(unread),
            error_message=str(unread),
            lost_from=unread.first,
            lost_to=unread.last,
        )
        return Publish(self._topic, event)

    def _failure_fields(self, failure: BaseException, *, notice: str, is_public: bool) -> dict[str, str]:
        """Return what the failure says. Bytes that do not decode have no frames: their error says it all."""
        is_decode = isinstance(failure, DecodeError)
        frames = "" if is_decode else "".join(traceback.format_exception(failure))
        max_chars = MAX_TEXT_CHARS if is_public else MAX_STACK_TRACE_CHARS
        return {
            "reason": dead_letter_reason(failure),
            "category": "decode" if is_decode else "handler",
            "error_class": _class_of(failure)[:MAX_TEXT_CHARS],
            "error_message": notice + self._scrub(_message_of(failure))[:MAX_TEXT_CHARS],
            "stack_trace": self._scrub(frames)[-max_chars:],
        }

    def _event(self, **fields: Any) -> Any:
        return self._topic.value(
            service=self._origin.service,
            group=self._origin.group,
            service_version=self._origin.version,
            worker_id=self._origin.worker_id,
            occurred_at_ms=epoch_ms(self._clock),
            **fields,
        )


class _RedactedRecord:
    """A message whose value has no secrets."""

    def __init__(self, record: Record, value: bytes) -> None:
        self.topic, self.partition, self.offset = record.topic, record.partition, record.offset
        self.timestamp, self.key, self.headers = record.timestamp, record.key, record.headers
        self.value = value


def _redacted(record: Record, redact: Callable[[bytes], bytes] | None) -> Record:
    value = None if redact is None else encoded_bytes(record.value)
    return record if redact is None or value is None else _RedactedRecord(record, redact(value))


def _truncation_notice(record: Record, packed: PackedMessage) -> str:
    """Return what the dead letter lacks, and where it can be found."""
    if not packed.missing:
        return ""
    where = f"{record.topic}[{record.partition}]@{record.offset}"
    return f"truncated: without {packed.missing}; whole at {where} until retention takes it. "


def _class_of(failure: BaseException) -> str:
    kind = type(failure)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _message_of(failure: BaseException) -> str:
    try:
        return str(failure)
    except Exception as broken:  # noqa: BLE001  # the dead letter must be written all the same
        return f"<{_class_of(failure)}, whose str raises {type(broken).__qualname__}>"


def _header_text(headers: Sequence[Header], wanted: str) -> str:
    found = next((content for name, content in headers if name == wanted), None)
    return (found or b"").decode("utf-8", "replace")[:MAX_TEXT_CHARS]


def _trace_id(headers: Sequence[Header]) -> str:
    """Return the trace id of a W3C traceparent: version-trace-span-flags."""
    parts = _header_text(headers, "traceparent").split("-")
    return parts[1] if len(parts) == 4 else ""  # noqa: PLR2004  # the format's four parts


@dataclass(frozen=True, slots=True)
class PackedMessage:
    """Parts of a message that go into its dead letter."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    value_object: str = ""
    missing: str = ""
    """Description of the cut part; empty where nothing was cut."""


async def pack_message(
    record: Record, *, max_bytes: int, objects: DeadLetterBodyStore | None
) -> PackedMessage:
    """Fit a message into so many bytes; raises Unavailable where its store does not respond."""
    headers = tuple((name, content or b"") for name, content in record.headers)
    rest_bytes = _size(record.key) + sum(map(_header_size, headers))
    key, value, value_object = record.key, encoded_bytes(record.value), ""
    value_bytes = _size(value)
    if rest_bytes + value_bytes <= max_bytes:
        return PackedMessage(key, value, headers)
    if objects is None:
        return _truncate(record, headers, max_bytes=max_bytes)
    # The larger part goes, because the smaller one alone mostly fits.
    if value is not None and (value_bytes >= rest_bytes or value_bytes > max_bytes):
        value_object, value = await objects.put(value), None
    if rest_bytes > value_bytes or rest_bytes > max_bytes:
        reference = await objects.put(_document(key, headers))
        key, headers = None, ((CLAIMED_HEADERS, reference.encode()),)
    return PackedMessage(key, value, headers, value_object)


def _truncate(record: Record, headers: Sequence[Header], *, max_bytes: int) -> PackedMessage:
    """Keep the beginning of everything: an eighth of the bytes for key and headers each, the rest for the
    value.
    """
    key, missing = _head(record.key, max_bytes // 8, "key")
    kept: list[Header] = []
    used_bytes = 0
    for header in headers:
        used_bytes += _header_size(header)
        if used_bytes > max_bytes // 8:
            missing.append(f"{len(headers) - len(kept)} of {len(headers)} headers")
            break
        kept.append(header)
    left_bytes = max_bytes - _size(key) - sum(map(_header_size, kept)) - _TRUNCATED_HEADER_BYTES
    value, missing_value = _head(encoded_bytes(record.value), left_bytes, "value")
    cut = ", ".join((*missing, *missing_value))
    return PackedMessage(key, value, (*kept, (TRUNCATED, cut.encode())), missing=cut)


def _head(content: bytes | None, max_bytes: int, name: str) -> tuple[bytes | None, list[str]]:
    if content is None or _size(content) <= max_bytes:
        return content, []
    head = content[: max(0, max_bytes - LENGTH_BYTES)]
    return head, [f"the last {len(content) - len(head)} of {len(content)} bytes of the {name}"]


def _document(key: bytes | None, headers: Sequence[Header]) -> bytes:
    document = {
        "key": None if key is None else base64.b64encode(key).decode(),
        "headers": [[name, base64.b64encode(content or b"").decode()] for name, content in headers],
    }
    return json.dumps(document).encode()


def _header_size(header: Header) -> int:
    name, content = header
    return _size(name.encode("utf-8", "surrogatepass")) + _size(content)


def _size(content: bytes | None) -> int:
    return LENGTH_BYTES + len(content or b"")
