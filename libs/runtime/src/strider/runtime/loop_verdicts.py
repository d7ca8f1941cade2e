"""What becomes of a unit that failed.

One place judges everything that can go wrong with a message: infrastructure that is away is waited
for, an unknown schema is looked for, a bad message goes to the dead letters, a flood of them stops
the loop, and what is no message's fault ends the loop with its exception.
"""

from __future__ import annotations

from collections.abc import Callable

from strider.contracts import DecodeError, UnknownSchema

from .deadletters import reason_of, repr_of
from .effects import NOTHING, Effects
from .errors import Fenced, StartRefused, Unavailable
from .flood import FloodBreaker
from .logs import logger
from .loop_pauses import Outages, Pauses, Spawn, settle_probe
from .loop_pool import Pool
from .loop_schemas import SchemaWaits
from .loop_settings import LoopPorts, LoopSettings
from .loop_units import Batch, Stage, Unit

FLOOD = "flood"

_log = logger("loop")


class Verdicts:
    """Decides where failed units go, and keeps those that have to wait."""

    def __init__(
        self,
        *,
        ports: LoopPorts,
        settings: LoopSettings,
        pauses: Pauses,
        pool: Pool,
        spawn: Spawn,
        on_fenced: Callable[[Fenced], None],
    ) -> None:
        self._ports = ports
        self._pauses = pauses
        self._pool = pool
        self._spawn = spawn
        self._on_fenced = on_fenced
        self._outages = Outages(ports=ports, settings=settings, pauses=pauses)
        self._schemas = SchemaWaits(ports=ports, settings=settings, pauses=pauses)
        self._breaker = FloodBreaker(settings.flood)
        self._held: list[Unit] = []
        """Bad messages that came when the breaker had tripped: neither given up nor committed."""

    def reset_flood(self) -> None:
        """Go on after a flood: what was held is tried again."""
        self._breaker.reset()
        held, self._held = self._held, []
        for unit in held:
            self._pool.add(unit)
        self._pauses.clear(FLOOD)

    def on_done(self, unit: Unit, now: float) -> None:
        """Note that a unit went its whole way."""
        if unit.failure is None:
            self._breaker.good(now)
        self._leave(unit, is_back=True)

    def on_dropped(self, unit: Unit) -> None:
        """Note that a unit is somebody else's now."""
        self._leave(unit, is_back=False)

    def on_failed(self, unit: Unit, failure: Exception) -> None:
        """Judge a failure; raises it where no message is to blame."""
        if isinstance(failure, Unavailable):
            self._wait_for(unit, failure)
        elif isinstance(failure, Fenced):
            self._stop_shard(unit, failure)
        elif isinstance(failure, StartRefused):
            raise failure
        elif unit.failure is not None:
            self._save_letter(unit, failure)
        elif isinstance(failure, UnknownSchema) and self._look_for(unit, failure):
            self._leave(unit, is_back=True)
        elif isinstance(unit, Batch) and unit.messages > 1:
            self.split(unit)
        else:
            self._give_up(unit, failure)

    def split(self, unit: Batch) -> None:
        """Go through a batch one by one, because something in it is bad."""
        self._leave(unit, is_back=True)
        successor = unit.queue.replace(list(unit.split()))
        assert successor is not None
        self._pool.add(successor)

    def _stop_shard(self, unit: Unit, fenced: Fenced) -> None:
        """Stop what was fenced; what a batch has of other shards is handled without it."""
        self._leave(unit, is_back=False)
        self._on_fenced(fenced)
        if isinstance(unit, Batch):
            rest = unit.startable()
            if rest is not None and rest is not unit:
                self._pool.add(rest)

    def _wait_for(self, unit: Unit, failure: Unavailable) -> None:
        if unit.stage is Stage.CLOSE:
            unit.stage = Stage.SAY  # what is sent fails as a whole
        self._pool.leave(unit)
        self._outages.park(
            unit, failure, add=self._pool.add, add_probe=self._pool.add_begun, spawn=self._spawn
        )

    def _look_for(self, unit: Unit, unknown: UnknownSchema) -> bool:
        return self._schemas.wait(unit, unknown, add=self._pool.add, spawn=self._spawn)

    def _give_up(self, unit: Unit, failure: Exception) -> None:
        record = unit.record
        where = f"{record.topic}[{record.partition}]@{record.offset}"
        is_strangers = unit.partition.reads.is_door and isinstance(failure, DecodeError)
        if not is_strangers and not self._breaker.bad(self._ports.clock.monotonic()):
            why = f"{self._breaker.reason}, the last one {where}: {repr_of(failure):.200}"
            self._pauses.state(FLOOD, why, gates=True)
            self._held.append(unit)
            self._leave(unit, is_back=True)
            return
        _log.error(
            "Message Given Up", where=where, reason=reason_of(failure), error=f"{repr_of(failure):.500}"
        )
        # What it had to say is not its letter, and must not be taken for one.
        unit.failure, unit.effects = failure, NOTHING
        unit.stage = Stage.GIVE_UP
        self._pool.add_begun(unit)

    def _save_letter(self, unit: Unit, failure: Exception) -> None:
        """Let the service's last words go, so that the dead letter is written; if that is it, end."""
        effects = unit.effects
        if len(effects.say) <= 1 and not effects.close and effects.remember is None:
            raise failure
        _log.error("Last Words Failed", cause=unit.cause, error=f"{repr_of(failure):.500}")
        unit.effects = Effects(effects.say[:1], outcome=effects.outcome)
        unit.stage = Stage.SAY
        self._pool.add_begun(unit)

    def _leave(self, unit: Unit, *, is_back: bool) -> None:
        self._pool.leave(unit)
        if unit.probe is not None:
            settle_probe(unit, is_back=is_back)
