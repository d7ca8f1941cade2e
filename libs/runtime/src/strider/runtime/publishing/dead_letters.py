"""What is kept of a message that could not be handled: all of it, and why.

Decides the shape of a dead letter; how a large message fits into one is `deadletters_packing`'s.
Does not decide that a message is given up, nor sends.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from strider.contracts import DecodeError, EncodeError, Topic
from strider.contracts.avro.deferred_encoding import encoded_bytes
from strider.messaging.effects import Publish
from strider.messaging.errors import OffsetLost
from strider.messaging.ports import Clock, Header, Record
from strider.runtime.consumer.ports import DeadLetterObjectStore

from .dead_letter_packing import PackedMessage, pack_message

MESSAGE_SHARE: Final = 0.75
"""Part of a letter that the message itself may take. The rest is for what we say about it, which is
clipped to less (four bytes a character at the worst)."""

MAX_STACK_TRACE_CHARS: Final = 16_384
"""The innermost frames are kept: they say what failed."""

MAX_TEXT_CHARS: Final = 2_048

HANDLER_CRASHED: Final = "handler_crashed"
HANDLER_TIMEOUT: Final = "handler_timeout"
RESULT_REFUSED: Final = "answer_refused"
RETENTION_LOSS: Final = "retention_loss"


class HandlerTimeoutError(Exception):
    """A handler was cancelled at its deadline."""


def dead_letter_reason(failure: BaseException) -> str:
    """Name why a message is given up, in the words of the dead letters."""
    if isinstance(failure, DecodeError):
        return failure.reason
    if isinstance(failure, HandlerTimeoutError):
        return HANDLER_TIMEOUT
    return RESULT_REFUSED if isinstance(failure, EncodeError) else HANDLER_CRASHED


def safe_repr(failure: BaseException) -> str:
    """Describe a failure for a log line, even one that cannot describe itself."""
    try:
        return repr(failure)
    except Exception as broken:  # noqa: BLE001  # it is somebody else's code, and says nothing about the message
        return f"<{_class_of(failure)}, whose repr raises {type(broken).__qualname__}>"


@dataclass(frozen=True, slots=True)
class DeadLetterOrigin:
    """Who writes the dead letters."""

    service: str
    group: str
    version: str = ""
    worker_id: str = ""


class DeadLetterWriter:
    """Writes what goes to `<service>-dlq`."""

    def __init__(
        self,
        topic: Topic[Any],
        origin: DeadLetterOrigin,
        *,
        clock: Clock,
        objects: DeadLetterObjectStore | None = None,
        scrub: Callable[[str], str] = lambda text: text,
    ) -> None:
        """`scrub` takes secrets out of tracebacks and messages."""
        self._topic = topic
        self._origin = origin
        self._clock = clock
        self._objects = objects
        self._scrub = scrub

    async def dead_letter(
        self, record: Record, failure: BaseException, *, attempts: int = 1, headers: Sequence[Header] = ()
    ) -> Publish:
        """Write down a message and its failure; raises Unavailable where the object store does not answer.

        `headers` carry the trace that it was handled in.
        """
        value, room_bytes = encoded_bytes(record.value), int(self._topic.max_bytes * MESSAGE_SHARE)
        packed = await pack_message(record, max_bytes=room_bytes, objects=self._objects)
        event = self._event(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            reason=dead_letter_reason(failure),
            category="decode" if isinstance(failure, DecodeError) else "handler",
            timestamp_ms=record.timestamp,
            key=packed.key,
            value=packed.value,
            value_object=packed.value_object,
            value_bytes=len(value or b""),
            value_sha256="" if value is None else sha256(value).hexdigest(),
            header_names=tuple(name for name, _ in packed.headers),
            header_values=tuple(content for _, content in packed.headers),
            task_id=_text(record.headers, "entry"),
            execution_id=_text(record.headers, "execution"),
            error_class=_class_of(failure)[:MAX_TEXT_CHARS],
            error_message=_truncation_notice(record, packed)
            + self._scrub(_message_of(failure))[:MAX_TEXT_CHARS],
            stack_trace=self._scrub(_stack_of(failure))[-MAX_STACK_TRACE_CHARS:],
            trace_id=_trace_id(headers or record.headers),
            attempts=attempts,
        )
        return Publish(self._topic, event)

    def loss_event(self, lost: OffsetLost) -> Publish:
        """Write down which messages are gone unread."""
        event = self._event(
            topic=lost.topic,
            partition=lost.partition,
            offset=lost.wanted,
            reason=RETENTION_LOSS,
            category="retention",
            error_class=_class_of(lost),
            error_message=str(lost),
            lost_from=lost.wanted,
            lost_to=lost.available - 1,
        )
        return Publish(self._topic, event)

    def _event(self, **fields: Any) -> Any:
        return self._topic.value(
            service=self._origin.service,
            group=self._origin.group,
            service_version=self._origin.version,
            worker_id=self._origin.worker_id,
            occurred_at_ms=round(self._clock.now().timestamp() * 1000),
            **fields,
        )


def _truncation_notice(record: Record, packed: PackedMessage) -> str:
    """Say first what the letter lacks, and where it can be had."""
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
    except Exception as broken:  # noqa: BLE001  # the letter must be written all the same
        return f"<{_class_of(failure)}, whose str raises {type(broken).__qualname__}>"


def _stack_of(failure: BaseException) -> str:
    return "".join(traceback.format_exception(failure))


def _text(headers: Sequence[Header], wanted: str) -> str:
    found = next((content for name, content in headers if name == wanted), None)
    return "" if found is None else found.decode("utf-8", "replace")[:MAX_TEXT_CHARS]


def _trace_id(headers: Sequence[Header]) -> str:
    """Take the trace id out of a W3C traceparent: version-trace-span-flags."""
    parts = _text(headers, "traceparent").split("-")
    return parts[1] if len(parts) == 4 else ""  # noqa: PLR2004  # the format's four parts
