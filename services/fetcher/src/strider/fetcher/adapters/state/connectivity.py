"""Connectivity: tells a site that is down from a loss of our own network.

A failure that may have either cause is decided by what comes after it: a response from the internet, or a
connection to one of a few reliable endpoints. If none of them can be reached we are offline, and nothing is
sent until one can; they are checked regularly and the outage is logged. Without endpoints we are never
offline. Knows nothing of requests and leases.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from strider.fetcher import log_events
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger

READINESS_PART: Final = "network"
"""Name under which readiness reports that we are offline."""

Dial = Callable[[str], Awaitable[None]]
"""Connects to host:port and closes; raises OSError."""

_log = logger("uplink")


@dataclass(frozen=True, slots=True)
class ConnectivityOptions:
    """Options of the connectivity check. The check of a failure must fit into the margin of its lease."""

    endpoints: Sequence[str] = ()
    """host:port; reaching one proves that we are online. Empty: nothing is checked."""
    dial_seconds: float = 2.0
    """For all endpoints together."""
    min_check_interval_seconds: float = 1.0
    """Minimum time between two checks, however many failures wait for one: the endpoints are not ours."""
    check_seconds: float = 5.0
    """Between two checks while we are offline."""
    log_seconds: float = 30.0
    """Between two log lines while we are offline."""
    wait_seconds: float = 20.0
    """How long a caller waits for the network before it is refused as unavailable."""


class ConnectivityMonitor:
    """Whether this machine reaches the internet."""

    def __init__(
        self,
        options: ConnectivityOptions | None = None,
        *,
        clock: Clock,
        dial: Dial | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_change` is called when the network is lost or recovered: what was learnt before is void."""
        self._options = options or ConnectivityOptions()
        self._clock = clock
        self._dial = dial or _dial
        self._on_change = on_change
        self._check_task: asyncio.Task[bool] | None = None
        self._checked_at = float("-inf")
        self._last_response: tuple[float, str] = (float("-inf"), "")
        """When the latest response was received, and from which address and port."""
        self._offline_since = 0.0
        self._online_again: asyncio.Event | None = None
        """Set when the network is back; None while we are online."""
        self._wait_task: asyncio.Task[None] | None = None
        self._is_shutting_down = False

    @property
    def is_offline(self) -> bool:
        """Whether we are offline, as far as we know."""
        return self._online_again is not None

    def record_response(self, remote_address: str) -> None:
        """Record the latest response: it costs nothing, and saves many checks."""
        self._last_response = (self._clock.monotonic(), remote_address)

    async def require_online(self) -> None:
        """Wait a while if we are offline; Unavailable if it takes longer."""
        online_again = self._online_again
        if online_again is None or self._is_shutting_down:
            return
        seconds = self._clock.monotonic() - self._offline_since
        if seconds >= self._options.min_check_interval_seconds:  # otherwise the pause has yet to be reported
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._options.wait_seconds):
                    await online_again.wait()
        if not online_again.is_set():
            named = ", ".join(self._options.endpoints)
            raise Unavailable(READINESS_PART, f"offline: none of {named} can be reached")

    async def is_outage(self) -> bool:
        """Whether our own network has caused a failure of this moment."""
        if not self._options.endpoints or self._is_shutting_down:
            return False
        failed_at = self._clock.monotonic()
        while not self.is_offline:
            if self._has_responded_since(failed_at):
                return False
            wait_seconds = self._checked_at + self._options.min_check_interval_seconds - failed_at
            if self._check_task is None and wait_seconds > 0:
                await self._clock.sleep(wait_seconds)
                if self._checked_at >= failed_at or self.is_offline or self._has_responded_since(failed_at):
                    continue
            return not await self._check()
        return True

    def shut_down(self) -> None:
        """Stop checking and waiting, as the process stops."""
        self._is_shutting_down = True
        if self._online_again is not None:
            self._online_again.set()

    async def close(self) -> None:
        """Stop checking."""
        self.shut_down()
        for task in (self._wait_task, self._check_task):
            if task is not None:
                task.cancel()

    def _has_responded_since(self, since: float) -> bool:
        at, address = self._last_response
        return at >= since and _is_public(address)

    async def _check(self) -> bool:
        """Check, or join a running check; cancelling one waiter does not stop the others."""
        if self._check_task is None:
            self._check_task = asyncio.create_task(self._run_check())
        return await asyncio.shield(self._check_task)

    async def _run_check(self) -> bool:
        try:
            is_online = await self._reach_any_endpoint()
        finally:
            self._check_task, self._checked_at = None, self._clock.monotonic()
        if is_online is self.is_offline:
            self._switch(is_offline=not is_online)
        return is_online

    async def _reach_any_endpoint(self) -> bool:
        """Connect to all endpoints at once, until one accepts."""
        tasks = [asyncio.create_task(self._reaches(endpoint)) for endpoint in self._options.endpoints]
        try:
            async with asyncio.timeout(self._options.dial_seconds):
                for attempt in asyncio.as_completed(tasks):
                    if await attempt:
                        return True
        except TimeoutError:
            return False
        finally:
            for task in tasks:
                task.cancel()
        return False

    async def _reaches(self, endpoint: str) -> bool:
        try:
            await self._dial(endpoint)
        except (OSError, UnicodeError):
            return False
        return True

    def _switch(self, *, is_offline: bool) -> None:
        online_again, self._online_again = self._online_again, asyncio.Event() if is_offline else None
        if is_offline:
            self._offline_since = self._clock.monotonic()
            _log.emit(log_events.NETWORK_LOST, endpoints=list(self._options.endpoints))
            self._wait_task = asyncio.create_task(self._wait_until_online())
        else:
            seconds = round(self._clock.monotonic() - self._offline_since, 1)
            _log.emit(log_events.NETWORK_RECOVERED, after_seconds=seconds)
        self._on_change()
        if online_again is not None:
            online_again.set()

    async def _wait_until_online(self) -> None:
        """Check until an endpoint is reached, and log the outage at intervals."""
        logged_at = self._offline_since
        while self.is_offline and not self._is_shutting_down:
            await self._clock.sleep(self._options.check_seconds)
            await self._check()
            now = self._clock.monotonic()
            if self.is_offline and now - logged_at >= self._options.log_seconds:
                logged_at = now
                _log.emit(log_events.NETWORK_STILL_LOST, for_seconds=round(now - self._offline_since, 1))


async def _dial(endpoint: str) -> None:
    host, _, port = endpoint.rpartition(":")
    _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    writer.close()


def _is_public(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_global
    except ValueError:
        return False
