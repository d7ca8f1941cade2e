"""Files and sockets that this process may still open.

The limit is raised at the start to what the settings may need. Where none is left all the same (a limit of
the whole machine, a leak, a limit that was lowered), nothing is requested until there is one again: a request
that was marked and cannot be made would cost its host a lease for nothing.
"""

from __future__ import annotations

import resource
import socket
from typing import Final

from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.ports import Clock

READINESS_PART: Final = "files"
"""Name under which readiness reports that no connection can be opened."""

CHECK_SECONDS: Final = 0.05
"""Time after which it is tried again whether a socket can be made."""

RESERVED_FILES: Final = 256
"""Reserved for brokers, stores, logs and other files."""


def raise_open_file_limit(connections: int) -> None:
    """Raise the process's limit of open files if needed; StartRefused if not permitted."""
    needed = connections + RESERVED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise StartRefused(
            f"{needed} open files are needed, but the system allows {hard}: lower FETCHER_CONCURRENCY or "
            "FETCHER_MAX_IDLE_CONNECTIONS, or raise the limit (ulimit -n)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


class FreeFiles:
    """Whether a socket can be made: tried some times a second, and not for each request."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next_check = 0.0

    def require(self) -> None:
        """Raise Unavailable if no socket can be made."""
        now = self._clock.monotonic()
        if now < self._next_check:
            return
        try:
            socket.socket().close()
        except OSError as error:
            soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            limit = f"the limit of this process is {soft} (ulimit -n)"
            what = f"no connection can be opened: {error.strerror}; {limit}"
            raise Unavailable(READINESS_PART, what) from error
        self._next_check = now + CHECK_SECONDS

    def recheck(self) -> None:
        """Try with the next request: one has failed as if there were no socket left."""
        self._next_check = 0.0
