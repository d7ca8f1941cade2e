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

READINESS_PART: Final = "files"
"""Name under which readiness reports that no connection can be opened."""

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


def require_free_file() -> None:
    """Raise Unavailable if no socket can be made; costs two system calls, a few microseconds."""
    try:
        socket.socket().close()
    except OSError as error:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        raise Unavailable(
            READINESS_PART,
            f"no connection can be opened: {error.strerror}; the limit of this process is {soft} (ulimit -n)",
        ) from error
