"""Stages of a message: handle, publish, publish last, write state, complete.

The order of delivery is decided here and nowhere else: each publication is acknowledged before the next
stage. What follows from a failure is decided by `error_policy`; here only its source is distinguished: the
handler, its deadline, or the runtime.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

from strider.contracts import DecodeError, UnknownSchema
from strider.messaging.effects import (
    DEAD_LETTERED,
    NO_EFFECTS,
    Effects,
    GivenUp,
    PublishRequest,
    Subscription,
    merge_effects,
)
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Record
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.dead_letters import HandlerTimeoutError, dead_letter_reason
from strider.runtime.publishing.publisher import check_acknowledged

from .error_policy import ErrorPolicy
from .messages import InFlightBatch, InFlightMessage, MessageStage, Part, batch_handler_of, handler_of
from .ports import MessageCodec
from .spec import ConsumerPorts, ConsumerSettings
from .worker_pool import WorkerPool

_log = logger("loop")


class Pipeline:
    """Takes messages through their stages."""

    def __init__(
        self,
        codec: MessageCodec,
        group: str,
        *,
        ports: ConsumerPorts,
        settings: ConsumerSettings,
        pool: WorkerPool,
        error_policy: ErrorPolicy,
        on_done: Callable[[InFlightMessage], None],
    ) -> None:
        self._codec = codec
        self._group = group
        self._ports = ports
        self._settings = settings
        self._pool = pool
        self._error_policy = error_policy
        self._on_done = on_done
        self._deadline_seconds = settings.handler_timeout_seconds
        self._after_ack_tasks: set[asyncio.Task[None]] = set()
        self.last_activity = ports.clock.monotonic()

    async def advance(self, message: InFlightMessage) -> None:
        """Take a message as far as possible now; whatever happens, it is accounted for."""
        try:
            while not message.is_closed:
                if not await self._steps[message.stage](self, message):
                    break
        except asyncio.CancelledError:
            self._on_cancelled(message)
        except Exception as failure:  # the one place where a handler's exceptions end
            is_overdue = message.cancelled_for == "deadline" and message.stage is MessageStage.HANDLE
            if message.cancelled_for is not None and _uncancel(message):
                raise
            self._on_failure(message, self._timeout_error(failure) if is_overdue else failure)
        else:
            if message.cancelled_for is not None and _uncancel(message):
                raise asyncio.CancelledError
        if message.is_closed:
            self._error_policy.on_revoked(message)

    def _on_cancelled(self, message: InFlightMessage) -> None:
        """Tell our own cancellation from the worker's end, and both from a handler that leaked one."""
        reason = message.cancelled_for
        if _uncancel(message):
            raise asyncio.CancelledError
        if reason == "deadline":
            self._on_failure(message, self._timeout_error())
        elif reason is None:
            self._on_failure(
                message, RuntimeError("the handler ended as cancelled without having been cancelled")
            )

    def _on_failure(self, message: InFlightMessage, failure: Exception) -> None:
        message.deadline = 0.0
        message.acknowledgements = None
        if not message.is_closed:
            self._error_policy.on_failed(message, failure)

    def _timeout_error(self, cause: Exception | None = None) -> Exception:
        failure = HandlerTimeoutError(f"no result within {self._settings.handler_timeout_seconds:g} s")
        failure.__cause__ = cause
        return failure

    async def _handle(self, message: InFlightMessage) -> bool:
        if isinstance(message, InFlightBatch):
            return await self._handle_batch(message)
        record, reads, trace = message.record, message.partition.subscription, self._ports.tracer
        event, message.event = message.event, None
        if event is None:
            event = self._decode(reads, record)
        self._begin(message)
        with trace.handling(record, group=self._group):
            message.headers = trace.headers()
            effects = await handler_of(reads)(event, record)
            return self._take_effects(message, effects)

    async def _handle_batch(self, batch: InFlightBatch) -> bool:
        reads, ports = batch.partition.subscription, self._ports
        items, bad = self._decode_all(batch)
        unknown = [failure for _, failure in bad if isinstance(failure, UnknownSchema)]
        if unknown and self._error_policy.wait_for_schemas(batch, unknown):
            return False
        if bad:
            if batch.message_count == 1:
                raise bad[0][1]
            if reads.is_public:
                self._error_policy.give_up_undecodable(batch, bad)
            else:
                self._error_policy.split(batch)
            return False
        self._begin(batch)
        with ports.tracer.handling(batch.record, group=self._group):
            batch.headers = ports.tracer.headers()
            effects = await batch_handler_of(reads)(items)
            return self._take_effects(batch, effects)

    def _decode_all(
        self, batch: InFlightBatch
    ) -> tuple[list[tuple[Any, Record]], list[tuple[Part, DecodeError]]]:
        """Return the events of a batch, and why the others are none."""
        items: list[tuple[Any, Record]] = []
        bad: list[tuple[Part, DecodeError]] = []
        for part in batch.parts:
            try:
                items.append((self._decode(part[0].subscription, part[1]), part[1]))
            except DecodeError as failure:
                bad.append((part, failure))
        return items, bad

    def _decode(self, subscription: Subscription, record: Record) -> Any:
        if record.value is None and subscription.accepts_tombstones:
            return None
        return self._codec.decode(subscription.topic, record.value, record.headers, only=subscription.fields)

    def _begin(self, message: InFlightMessage) -> None:
        message.attempts += 1
        self.last_activity = message.started_at = now = self._ports.clock.monotonic()
        message.deadline = now + self._deadline_seconds

    def _take_effects(self, message: InFlightMessage, effects: Effects) -> bool:
        message.deadline = 0.0
        message.effects = effects
        if effects is NO_EFFECTS or not (effects.publish or effects.publish_last or effects.after_ack):
            return self._finish(message)
        message.stage = MessageStage.PUBLISH
        return True

    async def _dead_letter(self, message: InFlightMessage) -> bool:
        failure = message.failure
        assert failure is not None
        if isinstance(message, InFlightBatch) and message.message_count > 1:
            records = [part[1] for part in message.parts]
            dead_letter = self._ports.dead_letters.range_event(records, failure)
            return await self._give_up(message, dead_letter, records)
        dead_letter = await self._ports.dead_letters.dead_letter(
            message.record,
            failure,
            attempts=max(1, message.attempts),
            headers=message.headers,
            redact=message.partition.subscription.redact,
            is_public=message.partition.subscription.is_public,
        )
        return await self._give_up(message, dead_letter, [message.record])

    async def _give_up(
        self, message: InFlightMessage, dead_letter: PublishRequest, records: Sequence[Record]
    ) -> bool:
        assert message.failure is not None
        failures = message.failures if isinstance(message, InFlightBatch) else {}
        also = merge_effects(
            [
                await self._given_up_effects(record, failures.get(record.offset, message.failure))
                for record in records
            ]
        )
        message.effects = Effects(
            (dead_letter, *also.publish), also.publish_last, after_ack=also.after_ack, outcome=DEAD_LETTERED
        )
        message.stage = MessageStage.PUBLISH
        return True

    async def _given_up_effects(self, record: Record, failure: BaseException) -> Effects:
        detail = failure.detail if isinstance(failure, DecodeError) else ""
        try:
            return await self._ports.on_given_up(record, GivenUp(dead_letter_reason(failure), detail))
        except (Unavailable, ShardFenced):
            raise
        except Exception:  # noqa: BLE001  # the dead letter must be written all the same
            _log.emit(
                log_events.GIVEN_UP_CALLBACK_FAILED, exc_info=True, topic=record.topic, offset=record.offset
            )
            return NO_EFFECTS

    async def _publish(self, message: InFlightMessage) -> bool:
        if not await self._publish_and_check(message, message.effects.publish, part=""):
            return False
        message.stage = MessageStage.PUBLISH_LAST
        return True

    async def _publish_last(self, message: InFlightMessage) -> bool:
        if not await self._publish_and_check(message, message.effects.publish_last, part=":close"):
            return False
        message.stage = MessageStage.AFTER_ACK
        return True

    async def _publish_and_check(
        self, message: InFlightMessage, requests: Sequence[PublishRequest], *, part: str
    ) -> bool:
        """Publish, or check what was published before; False while acknowledgements are outstanding."""
        if message.acknowledgements is None:
            if not requests:
                return True
            message.acknowledgements = await self._ports.publisher.send(
                requests, cause=message.cause + part, headers=message.headers
            )
            if self._wait_for_acknowledgements(message):
                return False
        acknowledgements, message.acknowledgements = message.acknowledgements, None
        check_acknowledged(acknowledgements)
        return True

    def _wait_for_acknowledgements(self, message: InFlightMessage) -> bool:
        """Free the worker; the message returns to one when the last acknowledgement has come."""
        waiting = [each for each in message.acknowledgements or () if not each.done()]
        left = len(waiting)

        def count(_acknowledgement: object) -> None:
            nonlocal left
            left -= 1
            if not left:
                self._pool.add_priority(message)

        for acknowledgement in waiting:
            acknowledgement.add_done_callback(count)
        return bool(waiting)

    async def _run_after_ack(self, message: InFlightMessage) -> bool:
        """Start `after_ack`, or check its result; False while it runs, without occupying a worker."""
        task, message.after_ack_task = message.after_ack_task, None
        if task is None:
            if message.effects.after_ack is None:
                return self._finish(message)
            message.after_ack_task = task = asyncio.create_task(_await_after_ack(message.effects.after_ack))
            self._after_ack_tasks.add(task)
            task.add_done_callback(lambda task: self._on_after_ack_done(message, task))
            return False
        if task.cancelled():
            raise RuntimeError("after_ack ended as cancelled without having been cancelled")
        task.result()
        return self._finish(message)

    def _on_after_ack_done(self, message: InFlightMessage, task: asyncio.Task[None]) -> None:
        self._after_ack_tasks.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved here, because nothing looks at the result of an abandoned message
        self._pool.add_priority(message)

    async def stop(self) -> None:
        """Cancel `after_ack` tasks that still run: the loop has ended."""
        for task in self._after_ack_tasks:
            task.cancel()
        if self._after_ack_tasks:
            await asyncio.wait(set(self._after_ack_tasks))

    def _finish(self, message: InFlightMessage) -> bool:
        if message.is_closed:
            return False  # revoked in the meantime, so not completed here; `advance` drops it
        now = self._ports.clock.monotonic()
        topic, outcome = message.record.topic, message.effects.outcome
        for _ in range(message.message_count):
            self._ports.meter.handled(topic, outcome, now - message.started_at)
        if message.failure is not None:
            for _ in range(message.message_count):
                self._ports.meter.dead_lettered(topic, dead_letter_reason(message.failure))
        self._error_policy.on_done(message, now)
        successor = message.finish()
        if successor is not None:
            self._pool.add(successor)
        self._on_done(message)
        self.last_activity = now
        return False

    _steps: ClassVar[tuple[Callable[[Pipeline, InFlightMessage], Awaitable[bool]], ...]] = (
        _handle,
        _dead_letter,
        _publish,
        _publish_last,
        _run_after_ack,
    )
    """Indexed by stage. Each returns whether there is more to do now."""


async def _await_after_ack(remember: Callable[[], Awaitable[None]]) -> None:
    await remember()


def _uncancel(message: InFlightMessage) -> bool:
    """Undo our own cancellation of this task; True where it is to end for another reason as well."""
    task = asyncio.current_task()
    assert task is not None
    if message.cancelled_for is not None:
        message.cancelled_for = None
        return task.uncancel() > 0
    return task.cancelling() > 0
