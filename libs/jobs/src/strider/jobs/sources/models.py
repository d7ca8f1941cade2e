"""Requests to the record of sources, its results and errors. Pure.

SourceFault
├── UnknownSource       no source has this id
├── DuplicateSource     another source has this name or id
├── StaleSource         the source was changed since it was read
└── SourceHasJobs       a source cannot be removed while jobs belong to it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from strider.contracts.generated.events import SourceSaved

MAX_LISTED: Final = 500
"""Sources in one page of a list."""


class SourceFault(Exception):
    """Root of the errors of sources."""


class UnknownSource(SourceFault):
    """No source has this id."""

    def __init__(self, source_id: str) -> None:
        super().__init__(f"there is no source {source_id[:200]!r}")
        self.source_id = source_id


class DuplicateSource(SourceFault):
    """Another source has this name or id."""

    def __init__(self, field: str, value: str) -> None:
        super().__init__(f"{field}: another source has the {field} {value!r}")
        self.field = field
        self.value = value


class StaleSource(SourceFault):
    """The source was changed since it was read."""

    def __init__(self, source_id: str, *, given: int, current: int) -> None:
        super().__init__(
            f"source {source_id} was changed meanwhile: version {given} was given, {current} is current; "
            "read it again and repeat the change"
        )
        self.source_id = source_id
        self.given = given
        self.current = current


class SourceHasJobs(SourceFault):
    """A source cannot be removed while jobs belong to it."""

    def __init__(self, source_id: str, jobs: int) -> None:
        super().__init__(
            f"source {source_id} has {jobs} job{'s' if jobs != 1 else ''}: delete them first, or force the "
            "removal; the executions of jobs without a source fail"
        )
        self.source_id = source_id
        self.jobs = jobs


class SourcePosition(NamedTuple):
    """The last source of a page of a list."""

    created_at_ms: int
    source_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceQuery:
    """Filters of a list of sources, the newest first."""

    enabled: bool | None = None
    name: str = ""
    """Part of the name, in upper or lower case; empty for all."""
    after: SourcePosition | None = None
    limit: int = MAX_LISTED


class SourceStore(Protocol):
    """The record of sources. Every method may raise Unavailable."""

    async def add(self, source: SourceSaved) -> SourceSaved:
        """Store a new source, as version 1; raises DuplicateSource.

        A repeat with the same id and content returns the stored source.
        """

    async def get(self, source_id: str) -> SourceSaved | None:
        """Return a source."""

    async def named(self, name: str) -> SourceSaved | None:
        """Return the source of this name."""

    async def find(self, query: SourceQuery) -> Sequence[SourceSaved]:
        """Return sources, the newest first."""

    async def save(self, source: SourceSaved, *, version: int) -> SourceSaved:
        """Store a changed source as the next version, if this one is current.

        Without a difference nothing is stored. Raises UnknownSource, StaleSource, DuplicateSource.
        """

    async def remove(self, source_id: str, *, version: int | None, is_forced: bool) -> None:
        """Remove a source; raises UnknownSource, StaleSource, SourceHasJobs."""
