"""What is done with a unit: handle, say, acknowledged, close, acknowledged, remember, done.

The order of words lives here and nowhere else. What becomes of a unit that fails on its way is
`loop_verdicts`'s; here it is only told apart who failed: the handler, its deadline, or ourselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

from strider.contracts import DecodeError, UnknownSchema

from .deadletters import HandlerTimeoutError, reason_of
from .effects import DEAD_LETTERED, NOTHING, Effects, Reads, Saying
from .errors import Fenced, Unavailable
from .logs import logger
from .loop_pool import Pool
from .loop_ports import Codec
from .loop_settings import LoopPorts, LoopSettings
from .loop_units import Batch, Stage, Unit, batch_handler_of, handler_of
from .loop_verdicts import Verdicts
from .ports import Record
from .speaking import check_acknowledged

_log = logger("loop")


class Stages:
    """Takes units through their stages."""

    def __init__(
        self,
        codec: Codec,
        group: str,
        *,
        ports: LoopPorts,
        settings: LoopSettings,
        pool: Pool,
        verdicts: Verdicts,
        on_done: Callable[[Unit], None],
    ) -> None:
        self._codec = codec
        self._group = group
        self._ports = ports
        self._settings = settings
        self._pool = pool
        self._verdicts = verdicts
        self._on_done = on_done
        self._deadline_seconds = settings.deadline_seconds
        self._remembering: set[asyncio.Task[None]] = set()
        self.last_activity = ports.clock.monotonic()

    async def advance(self, unit: Unit) -> None:
        """Do all that can be done with a unit now; whatever happens, it is accounted for."""
        try:
            while not unit.is_closed:
                if not await self._steps[unit.stage](self, unit):
                    break
        except asyncio.CancelledError:
            self._on_cancelled(unit)
        except Exception as failure:  # the one place where a handler's exceptions end
            is_overdue = unit.cancelled_for == "deadline" and unit.stage is Stage.HANDLE
            if unit.cancelled_for is not None and _take_back_cancel(unit):
                raise
            self._on_failure(unit, self._overdue(failure) if is_overdue else failure)
        else:
            if unit.cancelled_for is not None and _take_back_cancel(unit):
                raise asyncio.CancelledError
        if unit.is_closed:
            self._verdicts.on_dropped(unit)

    def _on_cancelled(self, unit: Unit) -> None:
        """Tell our own cancelling from the worker's end, and both from a handler that lost its way."""
        reason = unit.cancelled_for
        if _take_back_cancel(unit):
            raise asyncio.CancelledError
        if reason == "deadline":
            self._on_failure(unit, self._overdue())
        elif reason is None:
            self._on_failure(
                unit, RuntimeError("the handler ended as cancelled, and nobody had cancelled it")
            )

    def _on_failure(self, unit: Unit, failure: Exception) -> None:
        unit.deadline = 0.0
        unit.acknowledgements = None
        if not unit.is_closed:
            self._verdicts.on_failed(unit, failure)

    def _overdue(self, cause: Exception | None = None) -> Exception:
        failure = HandlerTimeoutError(f"no answer within {self._settings.deadline_seconds:g} s")
        failure.__cause__ = cause
        return failure

    async def _handle(self, unit: Unit) -> bool:
        if isinstance(unit, Batch):
            return await self._handle_batch(unit)
        record, reads, trace = unit.record, unit.partition.reads, self._ports.trace
        event = self._decode(reads, record)
        self._begin(unit)
        with trace.handling(record, group=self._group):
            unit.headers = trace.headers()
            effects = await handler_of(reads)(event, record)
            return self._take_effects(unit, effects)

    async def _handle_batch(self, unit: Batch) -> bool:
        reads, ports = unit.partition.reads, self._ports
        try:
            items = [(self._decode(reads, record), record) for _, record in unit.parts]
        except DecodeError as failure:
            if isinstance(failure, UnknownSchema) or unit.messages == 1:
                raise
            self._verdicts.split(unit)
            return False
        self._begin(unit)
        with ports.trace.handling(unit.record, group=self._group):
            unit.headers = ports.trace.headers()
            effects = await batch_handler_of(reads)(items)
            return self._take_effects(unit, effects)

    def _decode(self, reads: Reads, record: Record) -> Any:
        if record.value is None and reads.takes_tombstones:
            return None
        return self._codec.decode(reads.topic, record.value, record.headers, only=reads.fields)

    def _begin(self, unit: Unit) -> None:
        unit.attempts += 1
        self.last_activity = unit.started_at = now = self._ports.clock.monotonic()
        unit.deadline = now + self._deadline_seconds

    def _take_effects(self, unit: Unit, effects: Effects) -> bool:
        unit.deadline = 0.0
        unit.effects = effects
        if effects is NOTHING or not (effects.say or effects.close or effects.remember):
            return self._finish(unit)
        unit.stage = Stage.SAY
        return True

    async def _give_up(self, unit: Unit) -> bool:
        failure = unit.failure
        assert failure is not None
        letter = await self._ports.dead_letters.letter(
            unit.record, failure, attempts=max(1, unit.attempts), headers=unit.headers
        )
        also = await self._last_words(unit.record, reason_of(failure))
        unit.effects = Effects((letter, *also.say), also.close, remember=also.remember, outcome=DEAD_LETTERED)
        unit.stage = Stage.SAY
        return True

    async def _last_words(self, record: Record, reason: str) -> Effects:
        try:
            return await self._ports.on_given_up(record, reason)
        except (Unavailable, Fenced):
            raise
        except Exception:  # noqa: BLE001  # the dead letter must be written all the same
            _log.exception("Last Words Failed", topic=record.topic, offset=record.offset)
            return NOTHING

    async def _say(self, unit: Unit) -> bool:
        if not await self._speak(unit, unit.effects.say, part=""):
            return False
        unit.stage = Stage.CLOSE
        return True

    async def _close(self, unit: Unit) -> bool:
        if not await self._speak(unit, unit.effects.close, part=":close"):
            return False
        unit.stage = Stage.REMEMBER
        return True

    async def _speak(self, unit: Unit, says: Sequence[Saying], *, part: str) -> bool:
        """Send, or judge what was sent before; False while acknowledgements are out."""
        if unit.acknowledgements is None:
            if not says:
                return True
            unit.acknowledgements = await self._ports.speaker.send(
                says, cause=unit.cause + part, headers=unit.headers
            )
            if self._wait_for_acknowledgements(unit):
                return False
        acknowledgements, unit.acknowledgements = unit.acknowledgements, None
        check_acknowledged(acknowledgements)
        return True

    def _wait_for_acknowledgements(self, unit: Unit) -> bool:
        """Let the worker go; the unit comes back to one when the last acknowledgement has come."""
        waiting = [each for each in unit.acknowledgements or () if not each.done()]
        left = len(waiting)

        def count(_acknowledgement: object) -> None:
            nonlocal left
            left -= 1
            if not left:
                self._pool.add_begun(unit)

        for acknowledgement in waiting:
            acknowledgement.add_done_callback(count)
        return bool(waiting)

    async def _remember(self, unit: Unit) -> bool:
        """Begin to remember, or judge what came of it; False while it is under way, without a worker."""
        task, unit.remembering = unit.remembering, None
        if task is None:
            if unit.effects.remember is None:
                return self._finish(unit)
            unit.remembering = task = asyncio.create_task(_run(unit.effects.remember))
            self._remembering.add(task)
            task.add_done_callback(lambda task: self._on_remembered(unit, task))
            return False
        if task.cancelled():
            raise RuntimeError("remembering ended as cancelled, and nobody had cancelled it")
        task.result()
        return self._finish(unit)

    def _on_remembered(self, unit: Unit, task: asyncio.Task[None]) -> None:
        self._remembering.discard(task)
        if not task.cancelled():
            task.exception()  # looked at here, because an abandoned unit's is looked at by nobody
        self._pool.add_begun(unit)

    async def stop(self) -> None:
        """End what is being remembered: the loop has ended."""
        for task in self._remembering:
            task.cancel()
        if self._remembering:
            await asyncio.wait(set(self._remembering))

    def _finish(self, unit: Unit) -> bool:
        if unit.is_closed:
            return False  # what has gone in the meantime is not done here; `advance` drops it
        now = self._ports.clock.monotonic()
        topic, outcome = unit.record.topic, unit.effects.outcome
        for _ in range(unit.messages):
            self._ports.meter.handled(topic, outcome, now - unit.started_at)
        if unit.failure is not None:
            self._ports.meter.dead_lettered(topic, reason_of(unit.failure))
        self._verdicts.on_done(unit, now)
        successor = unit.finish()
        if successor is not None:
            self._pool.add(successor)
        self._on_done(unit)
        self.last_activity = now
        return False

    _steps: ClassVar[tuple[Callable[[Stages, Unit], Awaitable[bool]], ...]] = (
        _handle,
        _give_up,
        _say,
        _close,
        _remember,
    )
    """By number of the stage. Each answers whether there is more to do now."""


async def _run(remember: Callable[[], Awaitable[None]]) -> None:
    await remember()


def _take_back_cancel(unit: Unit) -> bool:
    """Undo our own cancelling of this task; True where somebody else wants it to end as well."""
    task = asyncio.current_task()
    assert task is not None
    if unit.cancelled_for is not None:
        unit.cancelled_for = None
        return task.uncancel() > 0
    return task.cancelling() > 0
