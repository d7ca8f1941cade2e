"""Commands in force: the last one of each kind about each subject.

The topic job-commands keeps them by key:

    pause, resume              one key for each run or job: the last one counts
    block_host, unblock_host   one key for each host group: the last one counts
    cancel, drop               keys of their own: they cannot be undone
    cancel_url                 a key for each URL of a run: it cannot be undone
    close                      a key for each run: no more seeds of it come
    budget_used_up             a fact, one key for each run and crawl spec
    run_completed              a fact, one key for each run

A command about a run ends when the run has nothing open in any shard and the command is old. A pause in force
stays, and so do commands about jobs and hosts, which concern what comes later as well: one record each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.contracts.ids import command_id
from strider.contracts.seed_names import is_raw_name
from strider.crawl.runs.commands import SUBJECT_IS_RUN, command_record, with_command_id
from strider.crawl.runs.control import STATE_COMMANDS

_KEPT_KINDS: Final = frozenset(
    {
        *STATE_COMMANDS,
        JobEventKind.BLOCK_HOST,
        JobEventKind.UNBLOCK_HOST,
        JobEventKind.BUDGET_USED_UP,
        JobEventKind.CANCEL_URL,
        JobEventKind.CLOSE,
        JobEventKind.RUN_COMPLETED,
    }
)

_DELETION_ORDER: Final[Mapping[str, int]] = {
    JobEventKind.PAUSE: 0,
    JobEventKind.CLOSE: 1,
    JobEventKind.CANCEL: 3,
    JobEventKind.RUN_COMPLETED: 4,
}
_OTHERS_ORDER: Final = 2
"""Order in which the records of a run are deleted."""


def exhausted_budget_event(execution_id: str, crawl_spec_id: str, measure: str, *, now_ms: int) -> JobEvent:
    """Return the fact that a budget is used up."""
    return with_command_id(
        JobEvent(
            event_id="",
            what=JobEventKind.BUDGET_USED_UP.value,
            is_wish=False,
            at_ms=now_ms,
            by="scheduler",
            execution_id=execution_id,
            crawl_spec_id=crawl_spec_id,
            reason=measure,
        )
    )


class CommandTable:
    """Records of job-commands by key, and commands that only job-events has."""

    def __init__(self) -> None:
        self._recorded: dict[str, JobEvent] = {}
        self._unrecorded: dict[str, JobEvent] = {}

    def apply(self, key: str, event: JobEvent | None) -> JobEvent | None:
        """Apply a record or a tombstone; return the command that a tombstone deletes."""
        before = self._recorded.pop(key, None)
        if event is None:
            return before
        self._recorded[key] = event
        self._unrecorded.pop(key, None)
        return None

    def note_unrecorded(self, event: JobEvent) -> None:
        """Keep a command or fact to be recorded, unless a record about the same subject exists."""
        kept = command_record(event)
        if event.what in _KEPT_KINDS and kept.event_id not in self._recorded:
            self._unrecorded[kept.event_id] = kept

    def find_run_end(self, execution_id: str) -> JobEvent | None:
        """Return the event by which a run has ended, without start pages; None where it has not."""
        key = command_id(JobEventKind.RUN_COMPLETED, execution_id=execution_id)
        return self._recorded.get(key) or self._unrecorded.get(key)

    @property
    def unrecorded(self) -> list[JobEvent]:
        """Commands and facts that have no record yet."""
        return list(self._unrecorded.values())

    def ended_keys(
        self,
        *,
        before_ms: int,
        open_runs: AbstractSet[str],
        held_runs: Iterable[str],
        raw_before_ms: int = 0,
    ) -> list[str]:
        """Return the keys of commands that have ended, in the order in which they may be deleted.

        Raw runs that have ended need not be as old: `raw_before_ms`. `held_runs` are paused, or have not
        ended since they were closed. The strictest record of a run comes last: whatever a crash leaves is as
        strict as before, and no run ends twice.
        """
        kept_runs = open_runs | set(held_runs)
        ended = [
            (_DELETION_ORDER.get(event.what, _OTHERS_ORDER), key)
            for key, event in self._recorded.items()
            if event.execution_id
            and event.at_ms < (max(before_ms, raw_before_ms) if _is_raw_end(event) else before_ms)
            and event.execution_id not in kept_runs
        ]
        return [key for *_, key in sorted(ended)]


def _is_raw_end(event: JobEvent) -> bool:
    """Whether an event has closed or ended a run of a raw sender, of which there may be any number."""
    return event.what in SUBJECT_IS_RUN and is_raw_name(event.execution_id)
