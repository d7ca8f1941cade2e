"""Whether this process can do its work, and if not, why not.

Gathers what others know: the phase of life, the state of each dependency, the stated pauses of the
consumers. Decides one thing, ready or not, and says the reasons. Knows nothing of HTTP.
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
"""A dependency that takes longer to say that it is there is not there."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Something outside that this process needs, and how to ask after it."""

    name: str
    ping: Callable[[], Awaitable[None]]
    """Returns where it answers (`SELECT 1`, PING, metadata), raises Unavailable where it does not."""
    reconnect: Callable[[], Awaitable[None]] | None = None
    """Throws away connections that may be dead and makes new ones; raises Unavailable where it cannot."""
    is_vital: bool = True
    """Whether the process cannot work without it; else how it is is shown, and nothing waits for it."""


@dataclass(frozen=True, slots=True)
class DependencyState:
    """How a dependency was when it was last asked."""

    name: str
    ok: bool
    detail: str
    since: float
    """Monotonic time of the last change."""
    is_vital: bool = True


class Readiness:
    """The state of the process, for its probes and for the watchdog."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._dependencies: dict[str, DependencyState] = {}
        self._pauses: list[Callable[[], Iterable[str]]] = []
        self._excuses: list[Callable[[], Iterable[str]]] = []
        self.phase = STARTING
        self.step = ""
        """What the current phase waits for, in words."""

    def register(self, name: str, *, is_vital: bool = True) -> None:
        """Name a dependency before it was asked for the first time: unknown is not ready."""
        since = self._clock.monotonic()
        unknown = DependencyState(name, ok=False, detail="not asked yet", since=since, is_vital=is_vital)
        self._dependencies.setdefault(name, unknown)

    def record(self, name: str, *, ok: bool, detail: str = "") -> bool:
        """Note how a dependency is; True where that is news."""
        before = self._dependencies.get(name)
        changed = before is None or before.ok != ok
        since = self._clock.monotonic() if changed or before is None else before.since
        is_vital = before is None or before.is_vital
        self._dependencies[name] = DependencyState(name, ok=ok, detail=detail, since=since, is_vital=is_vital)
        return changed

    def watch_pauses(
        self, pauses: Callable[[], Iterable[str]], *, exempt: Callable[[], Iterable[str]] | None = None
    ) -> None:
        """Ask this for the reasons of pauses, whenever somebody wants to know.

        `excusing` gives those of them for which work may wait without an end; all, where it is not given.
        """
        self._pauses.append(pauses)
        self._excuses.append(exempt or pauses)

    def pauses(self) -> tuple[str, ...]:
        """Reasons for which consumption is paused now."""
        return _gather(self._pauses)

    def dependencies(self) -> Mapping[str, DependencyState]:
        """List the dependencies, by name."""
        return dict(self._dependencies)

    def reasons(self) -> list[str]:
        """Why the process is not ready; nothing where it is."""
        return [*self._process_reasons(), *(f"paused: {reason}" for reason in self.pauses())]

    def exempt_reasons(self) -> list[str]:
        """Why nothing need move, however long it takes; a pause that nobody vouches for is not among them."""
        return [*self._process_reasons(), *(f"paused: {reason}" for reason in _gather(self._excuses))]

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
        """Say everything, as `/readyz` answers it."""
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
    return tuple(dict.fromkeys(reason for tell in sources for reason in tell()))


async def probe_dependency(dependency: Dependency) -> str:
    """Ask a dependency how it is: empty where it answers in time, else what is wrong."""
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            await dependency.ping()
    except Unavailable as error:
        return error.detail
    except TimeoutError:
        return f"no answer within {PROBE_TIMEOUT_SECONDS:g} s"
    return ""
