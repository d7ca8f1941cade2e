"""Limit of open files: raised to the number of connections that are configured."""

from __future__ import annotations

import resource
from typing import Final

from strider.messaging.errors import StartRefused

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
