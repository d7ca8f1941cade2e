"""Error policy: what happens to a message that failed.

Wait for a dependency that is unavailable, look up an unknown schema, dead-letter a bad message, stop the loop
at a flood of them, and end the loop with any error that no message caused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from strider.contracts import DecodeError, UnknownSchema
from strider.messaging.effects import Effects
from strider.messaging.errors import ShardFenced, StartRefused, Unavailable
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.dead_letter_breaker import DeadLetterBreaker
from strider.runtime.publishing.dead_letters import dead_letter_reason, safe_repr
from strider.runtime.publishing.report_allowance import ReportAllowance

from .messages import InFlightBatch, InFlightMessage, MessageStage, Part
from .pauses import DependencyOutages, Pauses, SchemaWaitList, Spawn, resolve_probe
from .spec import ConsumerPorts, ConsumerSettings
from .worker_pool import WorkerPool

BREAKER = "flood"

_log = logger("loop")


class ErrorPolicy:
    """Decides what follows from a failure, and keeps the messages that have to wait."""

    def __init__(
        self,
        *,
        ports: ConsumerPorts,
        settings: ConsumerSettings,
        pauses: Pauses,
        pool: WorkerPool,
        spawn: Spawn,
        on_fenced: Callable[[ShardFenced], None],
    ) -> None:
        self._ports = ports
        self._pauses = pauses
        self._pool = pool
        self._spawn = spawn
        self._on_fenced = on_fenced
        self._outages = DependencyOutages(ports=ports, settings=settings, pauses=pauses)
        self._schemas = SchemaWaitList(ports=ports, pauses=pauses)
        self._breaker = DeadLetterBreaker(settings.breaker)
        self._allowance = ReportAllowance()
        self._held: list[InFlightMessage] = []
        """Bad messages that came after the breaker had tripped: neither dead-lettered nor committed."""

    def reset_breaker(self) -> None:
        """Close the breaker again and retry the messages that it held."""
        self._breaker.reset()
        held, self._held = self._held, []
        for message in held:
            self._pool.add(message)
        self._pauses.clear(BREAKER)

    def on_done(self, message: InFlightMessage, now: float) -> None:
        """Count a message whose pipeline is complete."""
        if message.failure is None:
            self._breaker.record_success(now)
        self._release(message, has_recovered=True)

    def on_revoked(self, message: InFlightMessage) -> None:
        """Release a message whose partition was revoked."""
        self._release(message, has_recovered=False)

    def on_failed(self, message: InFlightMessage, failure: Exception) -> None:
        """Handle a failure; raise it where no message is to blame."""
        if isinstance(failure, Unavailable):
            self._wait_for_dependency(message, failure)
        elif isinstance(failure, ShardFenced):
            self._stop_fenced_shard(message, failure)
        elif isinstance(failure, StartRefused):
            raise failure
        elif message.failure is not None:
            self._retry_dead_letter_alone(message, failure)
        elif isinstance(failure, UnknownSchema) and self.wait_for_schemas(message, [failure]):
            return
        elif isinstance(message, InFlightBatch) and message.message_count > 1:
            self.split(message)
        else:
            self._dead_letter(message, failure)

    def wait_for_schemas(self, message: InFlightMessage, unknown: Sequence[UnknownSchema]) -> bool:
        """Hold a message until its unknown schemas were searched for; False where that was done already."""
        if not self._schemas.wait(message, unknown, add=self._pool.add, spawn=self._spawn):
            return False
        self._release(message, has_recovered=True)
        return True

    def split(self, batch: InFlightBatch) -> None:
        """Handle the messages of a batch one by one, because one of them is bad."""
        self._replace(batch, list(batch.split()))

    def give_up_undecodable(self, batch: InFlightBatch, bad: Sequence[tuple[Part, DecodeError]]) -> None:
        """Give up the bad messages of a batch of a public topic, and handle the others together.

        Beyond the allowance, those of a partition that failed for the same reason share one dead letter.
        """
        now = self._ports.clock.monotonic()
        alone: list[InFlightBatch] = []
        shared: dict[tuple[int, str], list[tuple[Part, DecodeError]]] = {}
        for part, failure in bad:
            if self._allowance.take(now):
                alone.append(_given_up(batch, [(part, failure)]))
            else:
                shared.setdefault((id(part[0]), failure.reason), []).append((part, failure))
        given_up = [*alone, *(_given_up(batch, failed) for failed in shared.values())]
        for each in given_up:
            assert each.failure is not None
            self._log_dead_letter(each, each.failure)
        refused = {(id(part[0]), part[1].offset) for part, _ in bad}
        rest = [part for part in batch.parts if (id(part[0]), part[1].offset) not in refused]
        self._replace(batch, [*([batch.part(rest)] if rest else []), *given_up])

    def _replace(self, batch: InFlightBatch, others: Sequence[InFlightBatch]) -> None:
        self._release(batch, has_recovered=True)
        successor = batch.queue.replace(others)
        assert successor is not None
        self._pool.add(successor)

    def _stop_fenced_shard(self, message: InFlightMessage, fenced: ShardFenced) -> None:
        """Stop a fenced shard; the messages that a batch has of other shards are handled without it."""
        self._release(message, has_recovered=False)
        self._on_fenced(fenced)
        if isinstance(message, InFlightBatch):
            rest = message.startable()
            if rest is not None and rest is not message:
                self._pool.add(rest)

    def _wait_for_dependency(self, message: InFlightMessage, failure: Unavailable) -> None:
        if message.stage is MessageStage.PUBLISH_LAST:
            message.stage = MessageStage.PUBLISH  # the effects of a message are published as a whole
        self._pool.remove(message)
        self._outages.park(
            message, failure, add=self._pool.add, add_probe=self._pool.add_priority, spawn=self._spawn
        )

    def _dead_letter(self, message: InFlightMessage, failure: Exception) -> None:
        # On a public topic its sender chooses the bytes, and with them whether they decode and what crashes.
        is_strangers = message.partition.subscription.is_public
        if not is_strangers and not self._breaker.record_failure(self._ports.clock.monotonic()):
            why = f"{self._breaker.reason}, the last one {_place_of(message)}: {safe_repr(failure):.200}"
            self._pauses.begin(BREAKER, why, blocks=True)
            self._held.append(message)
            self._release(message, has_recovered=True)
            return
        if is_strangers and not self._allowance.take(self._ports.clock.monotonic()):
            self._allowance.leave_out()
        else:
            self._log_dead_letter(message, failure)
        message.give_up(failure)
        self._pool.add_priority(message)

    def _log_dead_letter(self, message: InFlightMessage, failure: BaseException) -> None:
        _log.emit(
            log_events.MESSAGE_DEAD_LETTERED,
            where=_place_of(message),
            messages=message.message_count,
            reason=dead_letter_reason(failure),
            error=f"{safe_repr(failure):.500}",
            unlogged=self._allowance.pop_unlogged(),
        )

    def _retry_dead_letter_alone(self, message: InFlightMessage, failure: Exception) -> None:
        """Drop the effects of on_given_up so that the dead letter is written; raise if they are not the
        cause.
        """
        effects = message.effects
        if len(effects.publish) <= 1 and not effects.publish_last and effects.after_ack is None:
            raise failure
        _log.emit(log_events.GIVEN_UP_EFFECTS_FAILED, cause=message.cause, error=f"{safe_repr(failure):.500}")
        message.effects = Effects(effects.publish[:1], outcome=effects.outcome)
        message.stage = MessageStage.PUBLISH
        self._pool.add_priority(message)

    def _release(self, message: InFlightMessage, *, has_recovered: bool) -> None:
        self._pool.remove(message)
        if message.probe is not None:
            resolve_probe(message, has_recovered=has_recovered)


def _given_up(batch: InFlightBatch, failed: Sequence[tuple[Part, DecodeError]]) -> InFlightBatch:
    """Give up records of one partition with one dead letter."""
    given_up = batch.part([part for part, _ in failed])
    given_up.failures = {part[1].offset: failure for part, failure in failed}
    given_up.give_up(failed[0][1])
    return given_up


def _place_of(message: InFlightMessage) -> str:
    record = message.record
    return f"{record.topic}[{record.partition}]@{record.offset}"
