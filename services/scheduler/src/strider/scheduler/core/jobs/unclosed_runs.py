"""Runs of jobs whose closing message has had no effect, so that they would never end.

Time alone proves nothing: link-ingestion may be behind, or stopped. A run counts as not closed where, some
minutes after its launch, link-ingestion has read all owned seeds that there were, and no command closes it.
Then its closing message was refused (a wrong key), or deleted before it was read. Knows no topic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from strider.contracts.generated.topics import SEEDS_OWNED
from strider.jobs.models import ExecutionResult, JobExecution
from strider.jobs.states import ExecutionState
from strider.scheduler.core.runs.completion import Offsets
from strider.scheduler.core.runs.run_proof import CompletionOffsets

MAX_RELAUNCHES: Final = 2
"""How often a run is launched again before its execution fails."""

NOT_CLOSED: Final = (
    "the run was launched {launches} times and cannot end: its closing message had no effect, because "
    "link-ingestion refused it, or it was deleted unread. Set the same STRIDER_OWNER_KEY for scheduler and "
    "link-ingestion (`strider why URL` shows why a start URL was refused); the run is cancelled"
)


class UnclosedRuns:
    """Executions that were launched long ago, and are not closed."""

    def __init__(self) -> None:
        self._seeds_ends: dict[tuple[str, int | None], Offsets] = {}
        """By execution and launch: where the owned seeds ended when it was seen first."""

    def without_effect(
        self, overdue: Iterable[JobExecution], offsets: CompletionOffsets
    ) -> list[JobExecution]:
        """Return those whose closing message was read, or is gone; forget all that are not given.

        Only where a command that was published before these offsets does not close them.
        """
        by_launch = {(each.execution_id, each.launched_at_ms): each for each in overdue}
        end = {where: offset for where, offset in offsets.seeds_end.items() if _is_owned(where)}
        self._seeds_ends = {key: self._seeds_ends.get(key, end) for key in by_launch}
        return [execution for key, execution in by_launch.items() if _is_read(self._seeds_ends[key], offsets)]


def failed_result(execution: JobExecution) -> ExecutionResult:
    """Return the result of an execution whose run cannot be closed."""
    sentence = NOT_CLOSED.format(launches=execution.relaunches + 1)
    return ExecutionResult(outcome=ExecutionState.FAILED, error_message=sentence)


def _is_owned(where: object) -> bool:
    return getattr(where, "topic", "") == SEEDS_OWNED.name


def _is_read(ends: Offsets, offsets: CompletionOffsets) -> bool:
    """Whether link-ingestion has read up to these ends, or to the end of a log that was made again."""
    return all(
        offsets.seeds_committed.get(where, 0) >= min(end, offsets.seeds_end.get(where, end))
        for where, end in ends.items()
    )
