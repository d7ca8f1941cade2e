"""Effective state of runs and manual blocks of hosts, by commands on job-commands.

    pause  ──▶ PAUSED     nothing of the run is fetched; it keeps its entries
    resume ──▶ RUNS
    cancel ──▶ CANCELLED  pending entries are dropped, later ones refused; cannot be undone
    budget ──▶ SPENT      the same, by a fact: the budget of a crawl spec of the run is exhausted
    drop   ──▶ DROPPED    the same for a whole job, whose entries are forgotten
    cancel_url ──▶ CANCELLED  the same for one URL of a run
    run_completed ──▶ COMPLETED  nothing is open, and later entries are refused; a fact as well

`close` changes nothing here: the run continues until it is complete.

A command for a job without a run applies to all of its runs. The last command in the order of the log counts;
a repeat changes nothing, but a resume of what was never paused counts as a change: entries may
sleep by a pause that is no longer known. Knows nothing of entries, shards or stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import EntryRecorded, JobEvent


class RunState(StrEnum):
    """State of a run, in order of strictness."""

    RUNS = "runs"
    PAUSED = "paused"
    SPENT = "spent"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    DROPPED = "dropped"


CLOSE_REASONS: Final[Mapping[RunState, DecisionReason]] = {
    RunState.SPENT: DecisionReason.BUDGET,
    RunState.COMPLETED: DecisionReason.EXECUTION_OVER,
    RunState.CANCELLED: DecisionReason.CANCELLED,
    RunState.DROPPED: DecisionReason.DROPPED,
}
"""Why pending entries of such a run are closed, and later ones refused; other states close nothing."""


STATE_COMMANDS: Final[Mapping[str, RunState]] = {
    JobEventKind.PAUSE: RunState.PAUSED,
    JobEventKind.RESUME: RunState.RUNS,
    JobEventKind.CANCEL: RunState.CANCELLED,
    JobEventKind.DROP: RunState.DROPPED,
}
_STRICTNESS: Final = {standing: place for place, standing in enumerate(RunState)}
_IRREVERSIBLE: Final = _STRICTNESS[RunState.COMPLETED]
"""From this state on nothing is undone."""


@dataclass(frozen=True, slots=True)
class RunDirective:
    """State of a run, or of all runs of a job, and its cause."""

    state: RunState
    by: str = ""
    reason: str = ""
    at_ms: int = 0


NO_DIRECTIVE: Final = RunDirective(RunState.RUNS)


@dataclass(frozen=True, slots=True)
class ManualBlock:
    """Block of a host group by an operator's command."""

    until_ms: int
    since_ms: int
    by: str = ""
    reason: str = ""


NO_BLOCK: Final = ManualBlock(0, 0)
FOREVER_MS: Final = (1 << 48) - 1
"""Latest time that the working set can store."""


class RunControl:
    """State of all runs and manual blocks."""

    def __init__(self) -> None:
        self._runs: dict[str, RunDirective] = {}
        self._jobs: dict[str, RunDirective] = {}
        self._exhausted: dict[tuple[str, str], RunDirective] = {}
        """By run and crawl spec."""
        self._urls: dict[str, dict[str, RunDirective]] = {}
        """Cancelled URLs by run and URL key."""
        self._closed: dict[str, RunDirective] = {}
        self._completed: dict[str, RunDirective] = {}
        self.manual_blocks: dict[str, ManualBlock] = {}
        """By host group; a lifted block stays, as one that has ended."""

    def apply(self, event: JobEvent) -> bool:
        """Apply an event; return whether it changed anything."""
        if not event.is_wish:
            return self._apply_fact(event) if event.execution_id else False
        if (standing := STATE_COMMANDS.get(event.what)) is not None:
            return self._apply_to_run(event, standing)
        if event.what in {JobEventKind.CLOSE, JobEventKind.CANCEL_URL} and event.execution_id:
            return self._close(event) if event.what == JobEventKind.CLOSE else self._cancel_url(event)
        if event.what == JobEventKind.BLOCK_HOST and event.group:
            block = ManualBlock(event.until_ms or FOREVER_MS, event.at_ms, event.by, event.reason)
            return self._apply_block(event.group, block)
        if event.what == JobEventKind.UNBLOCK_HOST and event.group:
            return self._apply_block(event.group, NO_BLOCK)
        return False

    def _apply_fact(self, event: JobEvent) -> bool:
        if event.what == JobEventKind.BUDGET_USED_UP:
            return self.mark_budget_exhausted(event.execution_id, event.crawl_spec_id, event.reason)
        return self._complete(event) if event.what == JobEventKind.RUN_COMPLETED else False

    def mark_budget_exhausted(self, execution_id: str, crawl_spec_id: str, measure: str) -> bool:
        """Mark the budget of a run's crawl spec as exhausted; return whether that is new."""
        if (execution_id, crawl_spec_id) in self._exhausted:
            return False
        self._exhausted[execution_id, crawl_spec_id] = RunDirective(RunState.SPENT, reason=measure)
        return True

    def is_budget_exhausted(self, execution_id: str, crawl_spec_id: str) -> bool:
        """Whether the budget of a run's crawl spec is marked as exhausted."""
        return (execution_id, crawl_spec_id) in self._exhausted

    def forget(self, event: JobEvent) -> None:
        """Forget a command about a run whose record was deleted."""
        run, state = event.execution_id, STATE_COMMANDS.get(event.what)
        if event.what == JobEventKind.BUDGET_USED_UP:
            self._exhausted.pop((run, event.crawl_spec_id), None)
        elif event.what == JobEventKind.RUN_COMPLETED:
            self._completed.pop(run, None)
            if self._runs.get(run, NO_DIRECTIVE).state is RunState.COMPLETED:
                del self._runs[run]
        elif event.what == JobEventKind.CLOSE:
            self._closed.pop(run, None)
        elif event.what == JobEventKind.CANCEL_URL:
            self._forget_url(run, event.url_key)
        elif state is not None and run in self._runs and self._runs[run].state is state:
            del self._runs[run]

    def closing_of(self, execution_id: str) -> RunDirective | None:
        """Return who has closed a run, and when; None where it is not closed."""
        return self._closed.get(execution_id)

    def completion_of(self, execution_id: str) -> RunDirective | None:
        """Return when a run has ended; None where it has not."""
        return self._completed.get(execution_id)

    def is_completed(self, execution_id: str) -> bool:
        """Whether a run has ended."""
        return execution_id in self._completed

    def is_ending(self, execution_id: str) -> bool:
        """Whether a run is closed or cancelled, and has not ended yet."""
        is_cancelled = self._runs.get(execution_id, NO_DIRECTIVE).state is RunState.CANCELLED
        return (execution_id in self._closed or is_cancelled) and execution_id not in self._completed

    @property
    def paused_runs(self) -> list[str]:
        """Return the runs that are paused by a command of their own."""
        return [run for run, directive in self._runs.items() if directive.state is RunState.PAUSED]

    @property
    def dropped_jobs(self) -> list[str]:
        """Return the jobs that are dropped."""
        return [job for job, order in self._jobs.items() if order.state is RunState.DROPPED]

    @property
    def has_any(self) -> bool:
        """Whether there is anything about a run or a job."""
        return bool(self._runs or self._jobs or self._exhausted or self._urls)

    @property
    def cancelled_urls(self) -> int:
        """Return how many URLs are cancelled in runs of their own."""
        return sum(map(len, self._urls.values()))

    def url_directive(self, execution_id: str, url_key: str) -> RunDirective | None:
        """Return who has cancelled a URL in a run, and why; None where it is not cancelled."""
        return self._urls.get(execution_id, {}).get(url_key)

    def directive_for(
        self, job_id: str, execution_id: str, crawl_spec_id: str = "", url_key: str = ""
    ) -> RunDirective:
        """Return the directive in effect for the entries of a run under a crawl spec: the strictest one.

        Without a spec, those of the run and its job: a budget ends entries, not the run. With a URL key, for
        the entry of that URL.
        """
        run = self._runs.get(execution_id, NO_DIRECTIVE)
        if self._urls and (url := self._urls.get(execution_id, {}).get(url_key)) is not None:
            run = max(run, url, key=lambda order: _STRICTNESS[order.state])
        if not self._jobs and not self._exhausted:
            return run
        job = self._jobs.get(job_id, NO_DIRECTIVE)
        spent = self._exhausted.get((execution_id, crawl_spec_id), NO_DIRECTIVE)
        return max(job, run, spent, key=lambda order: _STRICTNESS[order.state])

    def directive_of(self, entry: EntryRecorded) -> RunDirective:
        """Return the directive in effect for an entry."""
        return self.directive_for(entry.job_id, entry.execution_id, entry.crawl_spec_id, entry.url_key)

    def affects(self, execution_ids: Iterable[str]) -> bool:
        """Whether a directive may apply to one of these runs."""
        exhausted = {run for run, _ in self._exhausted}
        return bool(self._jobs) or any(
            run in self._runs or run in exhausted or run in self._urls for run in execution_ids
        )

    def _apply_to_run(self, event: JobEvent, state: RunState) -> bool:
        directives, name = (
            (self._runs, event.execution_id) if event.execution_id else (self._jobs, event.job_id)
        )
        known = directives.get(name)
        current = NO_DIRECTIVE.state if known is None else known.state
        is_repeat = known is not None and current is state
        if not name or is_repeat or _STRICTNESS[current] >= max(_IRREVERSIBLE, _STRICTNESS[state]):
            return False
        if state is RunState.DROPPED and event.execution_id:
            return False  # only a job is dropped, never a single run
        directives[name] = RunDirective(state, event.by, event.reason, event.at_ms)
        return True

    def _close(self, event: JobEvent) -> bool:
        is_new = event.execution_id not in self._closed
        if is_new:
            self._closed[event.execution_id] = RunDirective(
                RunState.RUNS, event.by, event.reason, event.at_ms
            )
        return is_new

    def _cancel_url(self, event: JobEvent) -> bool:
        cancelled = self._urls.setdefault(event.execution_id, {}) if event.url_key else {}
        if not event.url_key or event.url_key in cancelled:
            return False
        cancelled[event.url_key] = RunDirective(RunState.CANCELLED, event.by, event.reason, event.at_ms)
        return True

    def _forget_url(self, execution_id: str, url_key: str) -> None:
        cancelled = self._urls.get(execution_id, {})
        cancelled.pop(url_key, None)
        if not cancelled:
            self._urls.pop(execution_id, None)

    def _complete(self, event: JobEvent) -> bool:
        run = event.execution_id
        if run in self._completed:
            return False
        ended = self._completed[run] = RunDirective(RunState.COMPLETED, event.by, event.reason, event.at_ms)
        if _STRICTNESS[self._runs.get(run, NO_DIRECTIVE).state] < _STRICTNESS[RunState.COMPLETED]:
            self._runs[run] = ended
        return True

    def _apply_block(self, group: str, block: ManualBlock) -> bool:
        before = self.manual_blocks.get(group)
        self.manual_blocks[group] = block
        return before != block
