"""What people want of runs and hosts, as far as their wishes have been read.

    pause  ──▶ PAUSED     nothing of the run is asked for; it keeps all it has
    resume ──▶ RUNS
    cancel ──▶ CANCELLED  what waits is dropped, what comes later is refused; nothing undoes that
    budget ──▶ SPENT      the same, for another reason: nobody wished it, but nothing is left of its budget
    drop   ──▶ DROPPED    the same for all of a job, and what was known of it is forgotten

A wish about a job without a run is about all of its runs. The last wish in the order of the log
counts; a repeat changes nothing. Knows nothing of entries, shards or stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.enums import JobEvent as What
from strider.contracts.generated.events import JobEvent


class Standing(StrEnum):
    """Whether a run may go on; the later, the stricter."""

    RUNS = "runs"
    PAUSED = "paused"
    SPENT = "spent"
    CANCELLED = "cancelled"
    DROPPED = "dropped"


REASONS: Final[Mapping[Standing, DecisionReason]] = {
    Standing.SPENT: DecisionReason.BUDGET,
    Standing.CANCELLED: DecisionReason.CANCELLED,
    Standing.DROPPED: DecisionReason.DROPPED,
}
"""Why what waits is closed, and what comes later is refused; others go on, or will."""


@dataclass(frozen=True, slots=True)
class RunDirective:
    """What holds for a run, or for all runs of a job."""

    state: Standing
    by: str = ""
    reason: str = ""
    at_ms: int = 0


NO_DIRECTIVE: Final = RunDirective(Standing.RUNS)


@dataclass(frozen=True, slots=True)
class ManualBlock:
    """A person's wish that a group be left alone."""

    until_ms: int
    since_ms: int
    by: str = ""
    reason: str = ""


NO_BLOCK: Final = ManualBlock(0, 0)
FOREVER_MS: Final = (1 << 48) - 1
"""As late as the working set can write."""


class RunControl:
    """All wishes that were read."""

    def __init__(self) -> None:
        self._runs: dict[str, RunDirective] = {}
        self._jobs: dict[str, RunDirective] = {}
        self._spent: dict[str, RunDirective] = {}
        self.manual_blocks: dict[str, ManualBlock] = {}
        """By group; one that was lifted stays, as a bar that is over."""

    def apply(self, event: JobEvent) -> bool:
        """Take in one event; says whether it changed anything."""
        if not event.is_wish:
            return False
        if (standing := _STANDINGS.get(event.what)) is not None:
            return self._order(event, standing)
        if event.what == What.BLOCK_HOST and event.group:
            bar = ManualBlock(event.until_ms or FOREVER_MS, event.at_ms, event.by, event.reason)
            return self._bar(event.group, bar)
        if event.what == What.UNBLOCK_HOST and event.group:
            return self._bar(event.group, NO_BLOCK)
        return False

    def spend(self, execution_id: str, measure: str) -> bool:
        """Note that a run's budget is used up; says whether that is new."""
        if execution_id in self._spent:
            return False
        self._spent[execution_id] = RunDirective(Standing.SPENT, reason=measure)
        return True

    @property
    def dropped_jobs(self) -> list[str]:
        """Name the jobs that are dropped."""
        return [job for job, order in self._jobs.items() if order.state is Standing.DROPPED]

    @property
    def has_any(self) -> bool:
        """Whether there is anything about a run or a job."""
        return bool(self._runs or self._jobs or self._spent)

    def directive_for(self, job_id: str, execution_id: str) -> RunDirective:
        """Give what holds for a run: the stricter of what is wished of it and of its job."""
        run = self._runs.get(execution_id, NO_DIRECTIVE)
        if not self._jobs and not self._spent:
            return run
        job, spent = self._jobs.get(job_id, NO_DIRECTIVE), self._spent.get(execution_id, NO_DIRECTIVE)
        return max(job, run, spent, key=lambda order: _STRICTNESS[order.state])

    def affects(self, execution_ids: Iterable[str]) -> bool:
        """Say whether a wish may be about one of these runs."""
        return bool(self._jobs) or any(run in self._runs or run in self._spent for run in execution_ids)

    def _order(self, event: JobEvent, state: Standing) -> bool:
        book, name = (self._runs, event.execution_id) if event.execution_id else (self._jobs, event.job_id)
        before = book.get(name, NO_DIRECTIVE).state
        if not name or before is state or _STRICTNESS[before] >= max(_IRREVERSIBLE, _STRICTNESS[state]):
            return False
        if state is Standing.DROPPED and event.execution_id:
            return False  # a run is a part of its job, which knows no runs
        book[name] = RunDirective(state, event.by, event.reason, event.at_ms)
        return True

    def _bar(self, group: str, block: ManualBlock) -> bool:
        before = self.manual_blocks.get(group)
        self.manual_blocks[group] = block
        return before != block


_STANDINGS: Final[Mapping[str, Standing]] = {
    What.PAUSE: Standing.PAUSED,
    What.RESUME: Standing.RUNS,
    What.CANCEL: Standing.CANCELLED,
    What.DROP: Standing.DROPPED,
}
_STRICTNESS: Final = {standing: place for place, standing in enumerate(Standing)}
_IRREVERSIBLE: Final = _STRICTNESS[Standing.CANCELLED]
"""From here on nothing undoes it."""
