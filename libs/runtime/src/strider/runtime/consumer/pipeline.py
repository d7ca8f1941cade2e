"""What is done with a unit: handle, say, acknowledged, close, acknowledged, remember, done.

The order of words lives here and nowhere else. What becomes of a unit that fails on its way is
`loop_verdicts`'s; here it is only told apart who failed: the handler, its deadline, or ourselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

from strider.contracts import DecodeError, UnknownSchema
from strider.messaging.effects import DEAD_LETTERED, NO_EFFECTS, Effects, PublishRequest, Subscription
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Record
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.dead_letters import HandlerTimeoutError, dead_letter_reason
from strider.runtime.publishing.publisher import check_acknowledged

from .error_policy import ErrorPolicy
from .messages import InFlightBatch, InFlightMessage, Stage, batch_handler_of, handler_of
from .ports import MessageCodec
from .spec import ConsumerPorts, ConsumerSettings
from .worker_pool import WorkerPool

_log = logger("loop")


class Pipeline:
    """Takes units through their stages."""

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
        self._verdicts = error_policy
        self._on_done = on_done
        self._deadline_seconds = settings.handler_timeout_seconds
        self._after_ack_tasks: set[asyncio.Task[None]] = set()
        self.last_activity = ports.clock.monotonic()

    async def advance(self, message: InFlightMessage) -> None:
        """Do all that can be done with a unit now; whatever happens, it is accounted for."""
        try:
            while not message.is_closed:
                if not await self._steps[message.stage](self, message):
                    break
        except asyncio.CancelledError:
            self._on_cancelled(message)
        except Exception as failure:  # the one place where a handler's exceptions end
            is_overdue = message.cancelled_for == "deadline" and message.stage is Stage.HANDLE
            if message.cancelled_for is not None and _uncancel(message):
                raise
            self._on_failure(message, self._timeout_error(failure) if is_overdue else failure)
        else:
            if message.cancelled_for is not None and _uncancel(message):
                raise asyncio.CancelledError
        if message.is_closed:
            self._verdicts.on_dropped(message)

    def _on_cancelled(self, message: InFlightMessage) -> None:
        """Tell our own cancelling from the worker's end, and both from a handler that lost its way."""
        reason = message.cancelled_for
        if _uncancel(message):
            raise asyncio.CancelledError
        if reason == "deadline":
            self._on_failure(message, self._timeout_error())
        elif reason is None:
            self._on_failure(
                message, RuntimeError("the handler ended as cancelled, and nobody had cancelled it")
            )

    def _on_failure(self, message: InFlightMessage, failure: Exception) -> None:
        message.deadline = 0.0
        message.acknowledgements = None
        if not message.is_closed:
            self._verdicts.on_failed(message, failure)

    def _timeout_error(self, cause: Exception | None = None) -> Exception:
        failure = HandlerTimeoutError(f"no answer within {self._settings.handler_timeout_seconds:g} s")
        failure.__cause__ = cause
        return failure

    async def _handle(self, message: InFlightMessage) -> bool:
        if isinstance(message, InFlightBatch):
            return await self._handle_batch(message)
        record, reads, trace = message.record, message.partition.subscription, self._ports.tracer
        event = self._decode(reads, record)
        self._begin(message)
        with trace.handling(record, group=self._group):
            message.headers = trace.headers()
            effects = await handler_of(reads)(event, record)
            return self._take_effects(message, effects)

    async def _handle_batch(self, batch: InFlightBatch) -> bool:
        reads, ports = batch.partition.subscription, self._ports
        try:
            items = [(self._decode(reads, record), record) for _, record in batch.parts]
        except DecodeError as failure:
            if isinstance(failure, UnknownSchema) or batch.message_count == 1:
                raise
            self._verdicts.split(batch)
            return False
        self._begin(batch)
        with ports.tracer.handling(batch.record, group=self._group):
            batch.headers = ports.tracer.headers()
            effects = await batch_handler_of(reads)(items)
            return self._take_effects(batch, effects)

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
        message.stage = Stage.PUBLISH
        return True

    async def _give_up(self, unit: InFlightMessage) -> bool:
        failure = unit.failure
        assert failure is not None
        letter = await self._ports.dead_letters.dead_letter(
            unit.record, failure, attempts=max(1, unit.attempts), headers=unit.headers
        )
        also = await self._last_words(unit.record, dead_letter_reason(failure))
        unit.effects = Effects(
            (letter, *also.publish), also.publish_last, after_ack=also.after_ack, outcome=DEAD_LETTERED
        )
        unit.stage = Stage.PUBLISH
        return True

    async def _last_words(self, record: Record, reason: str) -> Effects:
        try:
            return await self._ports.on_given_up(record, reason)
        except (Unavailable, ShardFenced):
            raise
        except Exception:  # noqa: BLE001  # the dead letter must be written all the same
            _log.exception("Given-up callback failed", topic=record.topic, offset=record.offset)
            return NO_EFFECTS

    async def _say(self, unit: InFlightMessage) -> bool:
        if not await self._speak(unit, unit.effects.publish, part=""):
            return False
        unit.stage = Stage.PUBLISH_LAST
        return True

    async def _close(self, unit: InFlightMessage) -> bool:
        if not await self._speak(unit, unit.effects.publish_last, part=":close"):
            return False
        unit.stage = Stage.AFTER_ACK
        return True

    async def _speak(self, unit: InFlightMessage, requests: Sequence[PublishRequest], *, part: str) -> bool:
        """Send, or judge what was sent before; False while acknowledgements are out."""
        if unit.acknowledgements is None:
            if not requests:
                return True
            unit.acknowledgements = await self._ports.publisher.send(
                requests, cause=unit.cause + part, headers=unit.headers
            )
            if self._wait_for_acknowledgements(unit):
                return False
        acknowledgements, unit.acknowledgements = unit.acknowledgements, None
        check_acknowledged(acknowledgements)
        return True

    def _wait_for_acknowledgements(self, message: InFlightMessage) -> bool:
        """Let the worker go; the unit comes back to one when the last acknowledgement has come."""
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

    async def _remember(self, unit: InFlightMessage) -> bool:
        """Begin to remember, or judge what came of it; False while it is under way, without a worker."""
        task, unit.after_ack_task = unit.after_ack_task, None
        if task is None:
            if unit.effects.after_ack is None:
                return self._finish(unit)
            unit.after_ack_task = task = asyncio.create_task(_run(unit.effects.after_ack))
            self._after_ack_tasks.add(task)
            task.add_done_callback(lambda task: self._on_after_ack_done(unit, task))
            return False
        if task.cancelled():
            raise RuntimeError("remembering ended as cancelled, and nobody had cancelled it")
        task.result()
        return self._finish(unit)

    def _on_after_ack_done(self, message: InFlightMessage, task: asyncio.Task[None]) -> None:
        self._after_ack_tasks.discard(task)
        if not task.cancelled():
            task.exception()  # looked at here, because an abandoned unit's is looked at by nobody
        self._pool.add_priority(message)

    async def stop(self) -> None:
        """End what is being remembered: the loop has ended."""
        for task in self._after_ack_tasks:
            task.cancel()
        if self._after_ack_tasks:
            await asyncio.wait(set(self._after_ack_tasks))

    def _finish(self, message: InFlightMessage) -> bool:
        if message.is_closed:
            return False  # what has gone in the meantime is not done here; `advance` drops it
        now = self._ports.clock.monotonic()
        topic, outcome = message.record.topic, message.effects.outcome
        for _ in range(message.message_count):
            self._ports.meter.handled(topic, outcome, now - message.started_at)
        if message.failure is not None:
            self._ports.meter.dead_lettered(topic, dead_letter_reason(message.failure))
        self._verdicts.on_done(message, now)
        successor = message.finish()
        if successor is not None:
            self._pool.add(successor)
        self._on_done(message)
        self.last_activity = now
        return False

    _steps: ClassVar[tuple[Callable[[Pipeline, InFlightMessage], Awaitable[bool]], ...]] = (
        _handle,
        _give_up,
        _say,
        _close,
        _remember,
    )
    """By number of the stage. Each answers whether there is more to do now."""


async def _run(remember: Callable[[], Awaitable[None]]) -> None:
    await remember()


def _uncancel(unit: InFlightMessage) -> bool:
    """Undo our own cancelling of this task; True where somebody else wants it to end as well."""
    task = asyncio.current_task()
    assert task is not None
    if unit.cancelled_for is not None:
        unit.cancelled_for = None
        return task.uncancel() > 0
    return task.cancelling() > 0
