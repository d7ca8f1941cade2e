"""How many connections the system lets this process have."""

from __future__ import annotations

import resource
from typing import Final

from strider.messaging.errors import StartRefused

RESERVED_FILES: Final = 256
"""For brokers, stores, logs and all else that is a file."""


def raise_open_file_limit(connections: int) -> None:
    """Raise this process's own limit of open files where it is too low; StartRefused where nobody may."""
    needed = connections + RESERVED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise StartRefused(
            f"{needed} files may be open at a time, but the system allows {hard}: "
            "lower FETCHER_CONCURRENCY or FETCHER_MAX_IDLE_CONNECTIONS, or raise the limit (ulimit -n)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
