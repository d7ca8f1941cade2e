"""Runs that are to end, and the count of each shard, by job-commands and job-events.

    close, cancel     a sender or an operator has ended the run: it is complete once nothing of it is open
    run_counted       what a shard had of the run when it had nothing open
    run_count_wanted  a round: the owner of the run's proving shard wants all shards to count again
    run_completed     the run has ended

Every scheduler applies the same events. A shard counts once when it has nothing open, and once for each
round: some messages for each shard and run, none for a page. Counts of an earlier owner than the last one are
ignored, and so are rounds of an earlier owner of the proving shard. Knows neither stores nor offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent

from .completion import ShardRunCount
from .start_pages import NO_START_PAGES, StartPage, StartPages, sum_start_pages

EPOCH_COUNT: Final = "epoch"
REBUILT_COUNT: Final = "rebuilt_at_ms"
OPEN_COUNT: Final = "open"
ACCEPTED_COUNT: Final = "accepted"
ROUND_EPOCH_COUNT: Final = "round_epoch"
ROUND_COUNT: Final = "round"
BEGAN_COUNT: Final = "began_ms"
"""Names of counts in the job events of a run that is to end."""

OUTCOME_PREFIX: Final = "closed."
"""Before the reason of closed entries, in the counts of a shard."""

_ENDING_COMMANDS: Final = frozenset({JobEventKind.CLOSE, JobEventKind.CANCEL})


class CountRound(NamedTuple):
    """A round of counts: by epoch of the owner of the proving shard, and number."""

    epoch: int
    number: int


NO_ROUND: Final = CountRound(-1, 0)


@dataclass(frozen=True, slots=True)
class RunTally:
    """Closed entries of a run in one shard, or in all: by reason, with pages and bytes."""

    outcomes: Mapping[str, int] = field(default_factory=dict)
    pages: int = 0
    bytes: int = 0
    began_ms: int = 0
    """When the first seed was accepted; 0 where there is none."""
    job_id: str = ""
    """The job of the run; empty where there is none, or more than one."""
    start_pages: StartPages = NO_START_PAGES


NO_TALLY: Final = RunTally()


@dataclass(frozen=True, slots=True)
class RunFact:
    """Count of a run that a shard has published."""

    count: ShardRunCount
    round: CountRound = NO_ROUND
    tally: RunTally = NO_TALLY


@dataclass(slots=True)
class EndingRun:
    """A run that is to end."""

    execution_id: str
    facts: dict[int, RunFact] = field(default_factory=dict)
    """By shard; the last one of its latest owner."""
    wanted_round: CountRound = NO_ROUND
    is_cancelled: bool = False

    @property
    def counts(self) -> Mapping[int, ShardRunCount]:
        """Counts of all shards that have published one."""
        return {shard: fact.count for shard, fact in self.facts.items()}

    def needs_fact(self, shard: int, last: RunFact | None) -> bool:
        """Whether a shard that has nothing open has to publish its count; `last` is its last one."""
        fact = last or self.facts.get(shard)
        return fact is None or self.wanted_round not in {NO_ROUND, fact.round}

    def has_counted(self, asked: CountRound, shards: int) -> bool:
        """Whether every shard has counted in a round."""
        return all((fact := self.facts.get(shard)) and fact.round == asked for shard in range(shards))

    def apply_fact(self, shard: int, fact: RunFact) -> None:
        """Apply the count of a shard, unless a later owner of it has counted."""
        before = self.facts.get(shard)
        if before is None or before.count.counted_by[0] <= fact.count.counted_by[0]:
            self.facts[shard] = fact


class EndingRuns:
    """All runs that are to end, and have not ended."""

    def __init__(self, is_completed: Callable[[str], bool]) -> None:
        """`is_completed` returns whether a run has ended."""
        self._is_completed = is_completed
        self._runs: dict[str, EndingRun] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def all(self) -> list[EndingRun]:
        """Return the runs."""
        return list(self._runs.values())

    def names(self) -> set[str]:
        """Return their execution ids."""
        return set(self._runs)

    def apply(self, event: JobEvent) -> None:
        """Apply an event; what does not concern the end of a run changes nothing."""
        run = event.execution_id
        if not run:
            return
        if self._is_completed(run):
            self._runs.pop(run, None)
        elif event.is_wish:
            if event.what in _ENDING_COMMANDS:
                self._find(run).is_cancelled |= event.what == JobEventKind.CANCEL
        elif event.what == JobEventKind.RUN_COUNTED and event.shard >= 0:
            self._find(run).apply_fact(event.shard, fact_of(event))
        elif event.what == JobEventKind.RUN_COUNT_WANTED:
            found = self._find(run)
            found.wanted_round = max(found.wanted_round, _round_of(event))

    def forget(self, event: JobEvent) -> None:
        """Forget a run whose command was deleted."""
        if event.is_wish and event.what in _ENDING_COMMANDS:
            self._runs.pop(event.execution_id, None)

    def _find(self, run: str) -> EndingRun:
        # A count may be read before the command: they are in two topics.
        return self._runs.setdefault(run, EndingRun(run))


def proving_shard(execution_id: str, shards: int) -> int:
    """Return the shard whose owner proves that a run has ended."""
    return int.from_bytes(blake2b(execution_id.encode(), digest_size=8).digest(), "big") % shards


def fact_event(run: EndingRun, shard: int, fact: RunFact, *, now_ms: int) -> JobEvent:
    """Return the count of a shard as an event; an owner that repeats it publishes the same."""
    epoch, rebuilt_at_ms = fact.count.counted_by
    place = (str(shard), str(epoch), str(rebuilt_at_ms), *map(str, fact.round), str(fact.count.accepted))
    return JobEvent(
        event_id=_event_id(JobEventKind.RUN_COUNTED, run.execution_id, *place),
        what=JobEventKind.RUN_COUNTED.value,
        is_wish=False,
        at_ms=now_ms,
        by="scheduler",
        job_id=fact.tally.job_id,
        execution_id=run.execution_id,
        shard=shard,
        pages=fact.tally.pages,
        bytes=fact.tally.bytes,
        counts={
            EPOCH_COUNT: epoch,
            REBUILT_COUNT: rebuilt_at_ms,
            OPEN_COUNT: fact.count.open,
            ACCEPTED_COUNT: fact.count.accepted,
            ROUND_EPOCH_COUNT: fact.round.epoch,
            ROUND_COUNT: fact.round.number,
            BEGAN_COUNT: fact.tally.began_ms,
            **{f"{OUTCOME_PREFIX}{reason}": count for reason, count in fact.tally.outcomes.items()},
        },
        **start_page_fields(fact.tally.start_pages),
    )


def fact_of(event: JobEvent) -> RunFact:
    """Return the count that an event has."""
    counts = event.counts
    outcomes = {
        name.removeprefix(OUTCOME_PREFIX): count
        for name, count in counts.items()
        if name.startswith(OUTCOME_PREFIX)
    }
    return RunFact(
        ShardRunCount(
            is_ready=True,
            open=counts.get(OPEN_COUNT, 0),
            accepted=counts.get(ACCEPTED_COUNT, 0),
            counted_by=(counts.get(EPOCH_COUNT, 0), counts.get(REBUILT_COUNT, 0)),
        ),
        _round_of(event),
        RunTally(
            outcomes,
            event.pages,
            event.bytes,
            counts.get(BEGAN_COUNT, 0),
            event.job_id,
            start_pages_of(event),
        ),
    )


def start_page_fields(pages: StartPages) -> dict[str, Any]:
    """Return start pages as fields of a job event."""
    keys, raw_hashes, text_hashes = zip(*pages.listed, strict=True) if pages.listed else ((), (), ())
    return {
        "start_pages": pages.count,
        "start_url_keys": keys,
        "start_raw_hashes": raw_hashes,
        "start_text_hashes": text_hashes,
    }


def start_pages_of(event: JobEvent) -> StartPages:
    """Return the start pages of a job event; none where it is of an earlier version."""
    listed = zip(event.start_url_keys, event.start_raw_hashes, event.start_text_hashes, strict=False)
    return StartPages(event.start_pages, tuple(map(StartPage._make, listed)))


def round_event(execution_id: str, asked: CountRound, *, now_ms: int) -> JobEvent:
    """Return the event that begins a round of counts."""
    return JobEvent(
        event_id=_event_id(JobEventKind.RUN_COUNT_WANTED, execution_id, *map(str, asked)),
        what=JobEventKind.RUN_COUNT_WANTED.value,
        is_wish=False,
        at_ms=now_ms,
        by="scheduler",
        execution_id=execution_id,
        counts={ROUND_EPOCH_COUNT: asked.epoch, ROUND_COUNT: asked.number},
    )


def sum_tallies(tallies: Iterable[RunTally]) -> RunTally:
    """Return the tallies of all shards as one."""
    outcomes: dict[str, int] = {}
    found = list(tallies)
    for tally in found:
        for reason, count in tally.outcomes.items():
            outcomes[reason] = outcomes.get(reason, 0) + count
    jobs = {tally.job_id for tally in found if tally.job_id}
    return RunTally(
        dict(sorted(outcomes.items())),
        sum(tally.pages for tally in found),
        sum(tally.bytes for tally in found),
        min((tally.began_ms for tally in found if tally.began_ms), default=0),
        only_job(jobs),
        sum_start_pages(tally.start_pages for tally in found),
    )


def only_job(jobs: AbstractSet[str]) -> str:
    """Return the one job of a run; empty where there is none, or more than one."""
    return min(jobs) if len(jobs) == 1 else ""


def _round_of(event: JobEvent) -> CountRound:
    counts = event.counts
    return CountRound(counts.get(ROUND_EPOCH_COUNT, NO_ROUND.epoch), counts.get(ROUND_COUNT, 0))


def _event_id(what: JobEventKind, *subject: str) -> str:
    return blake2b("\n".join((what.value, *subject)).encode(), digest_size=16).hexdigest()
