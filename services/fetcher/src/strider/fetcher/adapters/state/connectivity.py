"""Is it the site that is down, or are we offline?

A failure that may have either cause is judged by what came after it: an answer from the internet, or
a connection to one of a few endpoints that are practically never down. Where none of them answers
we are offline: nothing more is asked until one does, which is looked for all the time and told now
and then. Who has set no endpoints is never offline. Knows nothing of requests and leases.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger

READINESS_PART: Final = "network"
"""The name under which readiness shows that we are offline."""

Dial = Callable[[str], Awaitable[None]]
"""Connects to host:port and hangs up; raises OSError."""

_log = logger("uplink")


@dataclass(frozen=True, slots=True)
class ConnectivityOptions:
    """How the network is looked at. Judging a failure must fit into the margin of its lease."""

    endpoints: Sequence[str] = ()
    """host:port; one that can be reached proves that we are online. Empty: nothing is ever judged."""
    dial_seconds: float = 2.0
    """For all endpoints together."""
    min_check_interval_seconds: float = 1.0
    """Between two looks, however many failures wait for one: endpoints are other people's."""
    look_seconds: float = 5.0
    """Between two looks while we are offline."""
    log_seconds: float = 30.0
    """Between two lines that say so."""
    patience_seconds: float = 20.0
    """How long one caller waits for the network before it says that there is none."""


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
        """`on_change` is called when the network has gone or come back: what was learnt before is void."""
        self._options = options or ConnectivityOptions()
        self._clock = clock
        self._dial = dial or _dial
        self._on_change = on_change
        self._check_task: asyncio.Task[bool] | None = None
        self._looked_at = float("-inf")
        self._answered: tuple[float, str] = (float("-inf"), "")
        """When the latest answer came, and from which address and port."""
        self._offline_since = 0.0
        self._online_again: asyncio.Event | None = None
        """Set when the network is back; None while we are online."""
        self._waiting: asyncio.Task[None] | None = None
        self._is_over = False

    @property
    def is_offline(self) -> bool:
        """Whether we have no network as far as we know."""
        return self._online_again is not None

    def record_response(self, remote_address: str) -> None:
        """Remember who has answered last: it costs nothing, and spares many a look."""
        self._answered = (self._clock.monotonic(), remote_address)

    async def require(self) -> None:
        """Wait a while where we are offline; Unavailable says that it takes longer."""
        back = self._online_again
        if back is None or self._is_over:
            return
        seconds = self._clock.monotonic() - self._offline_since
        if seconds >= self._options.min_check_interval_seconds:  # else the pause has yet to be stated
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._options.patience_seconds):
                    await back.wait()
        if not back.is_set():
            named = ", ".join(self._options.endpoints)
            raise Unavailable(READINESS_PART, f"we are offline: none of {named} can be reached")

    async def is_down(self) -> bool:
        """Say, of a failure of this moment, whether our own network is to blame."""
        if not self._options.endpoints or self._is_over:
            return False
        failed_at = self._clock.monotonic()
        while not self.is_offline:
            if self._has_responded_since(failed_at):
                return False
            wait_seconds = self._looked_at + self._options.min_check_interval_seconds - failed_at
            if self._check_task is None and wait_seconds > 0:
                await self._clock.sleep(wait_seconds)
                if self._looked_at >= failed_at or self.is_offline or self._has_responded_since(failed_at):
                    continue
            return not await self._look()
        return True

    def shut_down(self) -> None:
        """Stop judging and waiting, because the process ends."""
        self._is_over = True
        if self._online_again is not None:
            self._online_again.set()

    async def close(self) -> None:
        """Stop looking."""
        self.shut_down()
        for task in (self._waiting, self._check_task):
            if task is not None:
                task.cancel()

    def _has_responded_since(self, since: float) -> bool:
        at, address = self._answered
        return at >= since and _is_public(address)

    async def _look(self) -> bool:
        """Look, or join whoever looks; who leaves early does not stop the others."""
        if self._check_task is None:
            self._check_task = asyncio.create_task(self._run_check())
        return await asyncio.shield(self._check_task)

    async def _run_check(self) -> bool:
        try:
            is_online = await self._reached()
        finally:
            self._check_task, self._looked_at = None, self._clock.monotonic()
        if is_online is self.is_offline:
            self._turn(is_offline=not is_online)
        return is_online

    async def _reached(self) -> bool:
        """Dial all endpoints at once, until one answers."""
        tasks = [asyncio.create_task(self._reaches(place)) for place in self._options.endpoints]
        try:
            async with asyncio.timeout(self._options.dial_seconds):
                for first in asyncio.as_completed(tasks):
                    if await first:
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

    def _turn(self, *, is_offline: bool) -> None:
        back, self._online_again = self._online_again, asyncio.Event() if is_offline else None
        if is_offline:
            self._offline_since = self._clock.monotonic()
            _log.warning("Network Down", endpoints=list(self._options.endpoints))
            self._waiting = asyncio.create_task(self._wait())
        else:
            seconds = round(self._clock.monotonic() - self._offline_since, 1)
            _log.info("Network Back", after_seconds=seconds)
        self._on_change()
        if back is not None:
            back.set()

    async def _wait(self) -> None:
        """Look until somebody answers, and say so now and then."""
        told_at = self._offline_since
        while self.is_offline and not self._is_over:
            await self._clock.sleep(self._options.look_seconds)
            await self._look()
            now = self._clock.monotonic()
            if self.is_offline and now - told_at >= self._options.log_seconds:
                told_at = now
                _log.warning("Waiting for Network", for_seconds=round(now - self._offline_since, 1))


async def _dial(place: str) -> None:
    host, _, port = place.rpartition(":")
    _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    writer.close()


def _is_public(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_global
    except ValueError:
        return False
