"""What becomes of a unit that failed.

One place judges everything that can go wrong with a message: infrastructure that is away is waited
for, an unknown schema is looked for, a bad message goes to the dead letters, a flood of them stops
the loop, and what is no message's fault ends the loop with its exception.
"""

from __future__ import annotations

from collections.abc import Callable

from strider.contracts import DecodeError, UnknownSchema
from strider.messaging.effects import NO_EFFECTS, Effects
from strider.messaging.errors import ShardFenced, StartRefused, Unavailable
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.dead_letter_breaker import DeadLetterBreaker
from strider.runtime.publishing.dead_letters import dead_letter_reason, safe_repr

from .messages import InFlightBatch, InFlightMessage, Stage
from .pauses import DependencyOutages, Pauses, Spawn, resolve_probe
from .schema_wait import SchemaWaitList
from .spec import ConsumerPorts, ConsumerSettings
from .worker_pool import WorkerPool

BREAKER = "flood"

_log = logger("loop")


class ErrorPolicy:
    """Decides where failed units go, and keeps those that have to wait."""

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
        self._schemas = SchemaWaitList(ports=ports, settings=settings, pauses=pauses)
        self._breaker = DeadLetterBreaker(settings.breaker)
        self._held: list[InFlightMessage] = []
        """Bad messages that came when the breaker had tripped: neither given up nor committed."""

    def reset_breaker(self) -> None:
        """Go on after a flood: what was held is tried again."""
        self._breaker.reset()
        held, self._held = self._held, []
        for unit in held:
            self._pool.add(unit)
        self._pauses.clear(BREAKER)

    def on_done(self, message: InFlightMessage, now: float) -> None:
        """Note that a unit went its whole way."""
        if message.failure is None:
            self._breaker.record_success(now)
        self._leave(message, has_recovered=True)

    def on_dropped(self, unit: InFlightMessage) -> None:
        """Note that a unit is somebody else's now."""
        self._leave(unit, has_recovered=False)

    def on_failed(self, message: InFlightMessage, failure: Exception) -> None:
        """Judge a failure; raises it where no message is to blame."""
        if isinstance(failure, Unavailable):
            self._wait_for(message, failure)
        elif isinstance(failure, ShardFenced):
            self._stop_fenced_shard(message, failure)
        elif isinstance(failure, StartRefused):
            raise failure
        elif message.failure is not None:
            self._retry_dead_letter_alone(message, failure)
        elif isinstance(failure, UnknownSchema) and self._wait_for_schema(message, failure):
            self._leave(message, has_recovered=True)
        elif isinstance(message, InFlightBatch) and message.message_count > 1:
            self.split(message)
        else:
            self._give_up(message, failure)

    def split(self, batch: InFlightBatch) -> None:
        """Go through a batch one by one, because something in it is bad."""
        self._leave(batch, has_recovered=True)
        successor = batch.queue.replace(list(batch.split()))
        assert successor is not None
        self._pool.add(successor)

    def _stop_fenced_shard(self, message: InFlightMessage, fenced: ShardFenced) -> None:
        """Stop what was fenced; what a batch has of other shards is handled without it."""
        self._leave(message, has_recovered=False)
        self._on_fenced(fenced)
        if isinstance(message, InFlightBatch):
            rest = message.startable()
            if rest is not None and rest is not message:
                self._pool.add(rest)

    def _wait_for(self, unit: InFlightMessage, failure: Unavailable) -> None:
        if unit.stage is Stage.PUBLISH_LAST:
            unit.stage = Stage.PUBLISH  # what is sent fails as a whole
        self._pool.remove(unit)
        self._outages.park(
            unit, failure, add=self._pool.add, add_probe=self._pool.add_priority, spawn=self._spawn
        )

    def _wait_for_schema(self, message: InFlightMessage, unknown: UnknownSchema) -> bool:
        return self._schemas.wait(message, unknown, add=self._pool.add, spawn=self._spawn)

    def _give_up(self, unit: InFlightMessage, failure: Exception) -> None:
        record = unit.record
        where = f"{record.topic}[{record.partition}]@{record.offset}"
        is_strangers = unit.partition.subscription.is_public and isinstance(failure, DecodeError)
        if not is_strangers and not self._breaker.record_failure(self._ports.clock.monotonic()):
            why = f"{self._breaker.reason}, the last one {where}: {safe_repr(failure):.200}"
            self._pauses.begin(BREAKER, why, blocks=True)
            self._held.append(unit)
            self._leave(unit, has_recovered=True)
            return
        _log.error(
            "Message dead-lettered",
            where=where,
            reason=dead_letter_reason(failure),
            error=f"{safe_repr(failure):.500}",
        )
        # What it had to say is not its letter, and must not be taken for one.
        unit.failure, unit.effects = failure, NO_EFFECTS
        unit.stage = Stage.DEAD_LETTER
        self._pool.add_priority(unit)

    def _retry_dead_letter_alone(self, message: InFlightMessage, failure: Exception) -> None:
        """Let the service's last words go, so that the dead letter is written; if that is it, end."""
        effects = message.effects
        if len(effects.publish) <= 1 and not effects.publish_last and effects.after_ack is None:
            raise failure
        _log.error("Given-up callback failed", cause=message.cause, error=f"{safe_repr(failure):.500}")
        message.effects = Effects(effects.publish[:1], outcome=effects.outcome)
        message.stage = Stage.PUBLISH
        self._pool.add_priority(message)

    def _leave(self, unit: InFlightMessage, *, has_recovered: bool) -> None:
        self._pool.remove(unit)
        if unit.probe is not None:
            resolve_probe(unit, has_recovered=has_recovered)
