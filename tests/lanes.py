"""Which tests one lane runs one after the other, and what is begun first, where lanes run side by side."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from xdist.scheduler import LoadScopeScheduling

ONE_LANE: Final = frozenset(
    {"tests/e2e", "tests/faults", "tests/integration/insights", "tests/integration/scheduler/job_runs"}
)
"""Directories whose tests share servers or processes that are costly to start."""
SLOWEST_FIRST: Final = tuple(
    f"tests/{name}" for name in ("e2e", "integration/localstack", "faults", "integration", "contract")
)
"""A lane that begins a long file last would run on alone after the others have ended."""


class Lanes(LoadScopeScheduling):  # type: ignore[misc]  # xdist is not typed strictly
    """Hands out whole files, since the tests of one share its fixtures, or directories of `ONE_LANE`."""

    def _split_scope(self, nodeid: str) -> str:
        place = PurePath(nodeid.partition("::")[0])
        directory = place.parent.as_posix()
        return directory if directory in ONE_LANE else place.as_posix()


def rank(nodeid: str) -> int:
    """Order of a test among the others: what is slow begins first."""
    place = PurePath(nodeid.partition("::")[0])
    ranks = (rank for rank, directory in enumerate(SLOWEST_FIRST) if place.is_relative_to(directory))
    return next(ranks, len(SLOWEST_FIRST))
