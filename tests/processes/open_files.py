"""Processes that may open nothing more: what is open stays open, every further file or socket is refused."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

_NO_MORE: Final = 3
"""Descriptors that any process has from its start; each further one would have a higher number."""


@contextmanager
def without_new_files(pids: Iterable[int]) -> Iterator[None]:
    """Lower the limit of open files of these processes, which end or keep theirs, and restore it."""
    limits = {pid: resource.prlimit(pid, resource.RLIMIT_NOFILE) for pid in pids}
    for pid, (_, hard) in limits.items():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (_NO_MORE, hard))
    try:
        yield
    finally:
        for pid, limit in limits.items():
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
