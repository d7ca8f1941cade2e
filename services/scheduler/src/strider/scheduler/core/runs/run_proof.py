"""Proof that a run has ended, from what its shards have published.

The phases are those of `completion`. The first ones take the counts as they are known, however old; then
every shard counts again in a round of its own. Where each of them counts as before, by the same owner and
without a rebuild, nothing was accepted in between, so nothing was open at any time in between either. Time
proves nothing: it only spaces the rounds of a run that is not over, so that they stay few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.enums import JobState
from strider.contracts.generated.events import JobEvent
from strider.crawl.runs.commands import with_command_id
from strider.crawl.runs.control import RunControl

from .completion import CompletionObservation, CompletionPhase, CompletionProof, Offsets
from .ending_runs import (
    ACCEPTED_COUNT,
    NO_ROUND,
    CountRound,
    EndingRun,
    start_page_fields,
    sum_tallies,
)

FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 60.0
"""Between two rounds of one run: twice as long after each."""


@dataclass(frozen=True, slots=True)
class CompletionOffsets:
    """Committed offsets and log ends of seeds and links-discovered, by topic and partition."""

    seeds_committed: Offsets
    seeds_end: Offsets
    links_committed: Offsets
    links_end: Offsets


class RunProof:
    """Proof about one run, by the owner of its proving shard."""

    def __init__(self, shards: int, seeds_end: Offsets) -> None:
        """`seeds_end` was read after the run was closed, so all of its seeds are before it."""
        self._shards = shards
        self._proof = CompletionProof(shards, seeds_end)
        self._round = NO_ROUND
        self._next_round_at = 0.0
        self._pause_seconds = FIRST_PAUSE_SECONDS

    @property
    def is_complete(self) -> bool:
        """Whether the run is proven complete."""
        return self._proof.is_complete

    def advance(self, run: EndingRun, offsets: CompletionOffsets) -> bool:
        """Advance by what was read since the last call; return whether that changed the phase."""
        phase, counts = self._proof.phase, run.counts
        is_unchanged = counts == self._proof.quiet_counts
        if phase is CompletionPhase.DRAINED and is_unchanged and not self._is_counted(run):
            return False
        if phase is CompletionPhase.DRAINED and not is_unchanged:
            self._round = NO_ROUND
        self._proof = self._proof.after(
            CompletionObservation(
                shards=counts,
                seeds_committed=offsets.seeds_committed,
                seeds_end=offsets.seeds_end,
                links_end=offsets.links_end,
                links_committed=offsets.links_committed,
            )
        )
        return self._proof.phase is not phase

    def needs_round(self, now: float) -> bool:
        """Whether all shards have to count again now."""
        is_drained = self._proof.phase is CompletionPhase.DRAINED
        return is_drained and self._round == NO_ROUND and now >= self._next_round_at

    def note_round(self, asked: CountRound, now: float) -> None:
        """Note that a round was published, which no other one equals."""
        self._round = asked
        self._next_round_at = now + self._pause_seconds
        self._pause_seconds = min(2 * self._pause_seconds, LONGEST_PAUSE_SECONDS)

    def _is_counted(self, run: EndingRun) -> bool:
        return self._round != NO_ROUND and run.has_counted(self._round, self._shards)


def completion_event(run: EndingRun, control: RunControl, *, now_ms: int) -> JobEvent:
    """Return the event by which a run has ended; its id depends on the run alone."""
    tally = sum_tallies(fact.tally for fact in run.facts.values())
    closing = control.closing_of(run.execution_id)
    order = control.directive_for(tally.job_id, run.execution_id)
    is_cancelled = run.is_cancelled
    return with_command_id(
        JobEvent(
            event_id="",
            what=JobEventKind.RUN_COMPLETED.value,
            is_wish=False,
            at_ms=now_ms,
            by=order.by if is_cancelled else closing.by if closing is not None else "scheduler",
            job_id=tally.job_id,
            execution_id=run.execution_id,
            reason=order.reason if is_cancelled else "",
            state_after=(JobState.CANCELLED if is_cancelled else JobState.COMPLETED).value,
            pages=tally.pages,
            bytes=tally.bytes,
            seconds=(now_ms - tally.began_ms) // 1000 if tally.began_ms else 0,
            counts={
                ACCEPTED_COUNT: sum(fact.count.accepted for fact in run.facts.values()),
                **tally.outcomes,
            },
            **start_page_fields(tally.start_pages),
        )
    )
