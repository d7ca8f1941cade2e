"""Readiness of the process, with the reasons why it is not ready.

Collects the phase, the state of each dependency and the pauses of the consumers. Decides one thing: ready or
not. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock

STARTING: Final = "starting"
RUNNING: Final = "running"
STOPPING: Final = "stopping"


PROBE_TIMEOUT_SECONDS: Final = 5.0
"""A dependency that takes longer to respond counts as unavailable."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Something outside that this process needs, and how to probe it."""

    name: str
    ping: Callable[[], Awaitable[None]]
    """Returns where it responds (`SELECT 1`, PING, metadata), raises Unavailable where it does not."""
    reconnect: Callable[[], Awaitable[None]] | None = None
    """Replaces connections that may be dead; raises Unavailable where it cannot."""
    is_vital: bool = True
    """Whether the process cannot work without it; else its state is shown, and nothing waits for it."""


@dataclass(frozen=True, slots=True)
class DependencyState:
    """State of a dependency when it was last probed."""

    name: str
    ok: bool
    detail: str
    since: float
    """Monotonic time of the last change."""
    is_vital: bool = True


class Readiness:
    """State of the process, for its probes and for the watchdog."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._dependencies: dict[str, DependencyState] = {}
        self._pauses: list[Callable[[], Iterable[str]]] = []
        self._exempt_pauses: list[Callable[[], Iterable[str]]] = []
        self.phase = STARTING
        self.step = ""
        """The dependency that the current phase waits for."""

    def register(self, name: str, *, is_vital: bool = True) -> None:
        """Register a dependency before its first probe: unknown is not ready."""
        since = self._clock.monotonic()
        unknown = DependencyState(name, ok=False, detail="not probed yet", since=since, is_vital=is_vital)
        self._dependencies.setdefault(name, unknown)

    def record(self, name: str, *, ok: bool, detail: str = "") -> bool:
        """Record the state of a dependency; return whether it has changed."""
        before = self._dependencies.get(name)
        changed = before is None or before.ok != ok
        since = self._clock.monotonic() if changed or before is None else before.since
        is_vital = before is None or before.is_vital
        self._dependencies[name] = DependencyState(name, ok=ok, detail=detail, since=since, is_vital=is_vital)
        return changed

    def watch_pauses(
        self, pauses: Callable[[], Iterable[str]], *, exempt: Callable[[], Iterable[str]] | None = None
    ) -> None:
        """Add a source of pauses, called whenever the state is read.

        `exempt` yields those pauses for which work may wait without a limit; all, where it is not given.
        """
        self._pauses.append(pauses)
        self._exempt_pauses.append(exempt or pauses)

    def pauses(self) -> tuple[str, ...]:
        """Return the reasons for which consumption is paused now."""
        return _gather(self._pauses)

    def dependencies(self) -> Mapping[str, DependencyState]:
        """Return the dependencies, by name."""
        return dict(self._dependencies)

    def reasons(self) -> list[str]:
        """Return why the process is not ready; empty where it is."""
        return [*self._process_reasons(), *(f"paused: {reason}" for reason in self.pauses())]

    def exempt_reasons(self) -> list[str]:
        """Return why nothing need move, however long it takes: the pauses that the watchdog accepts."""
        return [*self._process_reasons(), *(f"paused: {reason}" for reason in _gather(self._exempt_pauses))]

    def _process_reasons(self) -> list[str]:
        reasons = []
        if self.phase != RUNNING:
            reasons.append(f"{self.phase}: {self.step}" if self.step else self.phase)
        reasons += [
            f"{state.name}: {state.detail or 'does not answer'}"
            for state in self._dependencies.values()
            if state.is_vital and not state.ok
        ]
        return reasons

    def report(self) -> dict[str, Any]:
        """Return the whole state, for `/readyz`."""
        now = self._clock.monotonic()
        reasons = self.reasons()
        return {
            "ready": not reasons,
            "phase": self.phase,
            "reasons": reasons,
            "dependencies": {
                state.name: {
                    "ok": state.ok,
                    "why": state.detail,
                    "for_seconds": round(now - state.since, 1),
                }
                for state in self._dependencies.values()
            },
            "pauses": list(self.pauses()),
        }


def _gather(sources: Iterable[Callable[[], Iterable[str]]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason for source in sources for reason in source()))


async def probe_dependency(dependency: Dependency) -> str:
    """Probe a dependency: empty where it responds in time, else what is wrong."""
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            await dependency.ping()
    except Unavailable as error:
        return error.detail
    except TimeoutError:
        return f"no response within {PROBE_TIMEOUT_SECONDS:g} s"
    return ""
