"""Counts of runs that are to end: which ones are published, and what they are worth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from io import BytesIO
from typing import Any, ClassVar

import pytest
from fastavro import parse_schema, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_EVENTS
from strider.crawl.runs.commands import command_record, with_command_id
from strider.crawl.runs.control import RunControl, RunState
from strider.scheduler.core.runs.commands import CommandTable
from strider.scheduler.core.runs.completion import ShardRunCount
from strider.scheduler.core.runs.ending_runs import (
    NO_ROUND,
    CountRound,
    EndingRun,
    EndingRuns,
    RunFact,
    RunTally,
    fact_event,
    fact_of,
    proving_shard,
    round_event,
    start_pages_of,
    sum_tallies,
)
from strider.scheduler.core.runs.run_proof import (
    LONGEST_PAUSE_SECONDS,
    CompletionOffsets,
    RunProof,
    completion_event,
)
from strider.scheduler.core.runs.start_pages import NO_START_PAGES, StartPage, StartPages

SHARDS = 2
ASKED = CountRound(7, 1)
READ = CompletionOffsets({}, {}, {}, {})


class EarlierEvent:
    """A job event of the first version, as its fields."""

    SCHEMA_NAME: ClassVar[str] = "job-event.v1"

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> EarlierEvent:
        return cls(record)


def a_command(what: str, **changes: Any) -> JobEvent:
    about: dict[str, Any] = {"execution_id": "run", "at_ms": 5, "by": "ann", **changes}
    return with_command_id(JobEvent(event_id="", what=what, is_wish=what != "run_completed", **about))


def a_count(
    *, epoch: int = 1, accepted: int = 0, open_entries: int = 0, rebuilt_at_ms: int = 0
) -> ShardRunCount:
    return ShardRunCount(
        is_ready=True, open=open_entries, accepted=accepted, counted_by=(epoch, rebuilt_at_ms)
    )


def a_run(*facts: RunFact) -> EndingRun:
    return EndingRun("run", facts=dict(enumerate(facts)))


def ending(*events: JobEvent) -> tuple[EndingRuns, RunControl]:
    control = RunControl()
    runs = EndingRuns(control.is_completed)
    for event in events:
        control.apply(event)
        runs.apply(event)
    return runs, control


@pytest.mark.parametrize("what", ["close", "cancel"])
def test_a_closed_or_cancelled_run_is_to_end_until_it_has_ended(what: str) -> None:
    command, end = a_command(what), a_command("run_completed")
    runs, control = ending(command, command)

    assert runs.names() == {"run"}
    assert control.is_ending("run")
    runs, control = ending(command, end, end, command)
    assert not len(runs)
    assert control.is_completed("run")
    assert not control.is_ending("run")


def test_other_commands_end_no_run() -> None:
    runs, _ = ending(a_command("pause"), a_command("resume"), a_command("block_host", group="a.test"))

    assert runs.all() == []


def test_a_count_that_is_read_before_its_command_is_kept() -> None:
    """They are in two topics, which are read one after the other."""
    count = fact_event(EndingRun("run"), 1, RunFact(a_count(accepted=3)), now_ms=9)
    runs, _ = ending(count, a_command("close"))

    assert runs.all()[0].counts == {1: a_count(accepted=3)}


def test_the_count_of_an_earlier_owner_is_ignored() -> None:
    new, old = (
        fact_event(EndingRun("run"), 0, RunFact(a_count(epoch=epoch, accepted=epoch)), now_ms=9)
        for epoch in (4, 3)
    )
    runs, _ = ending(a_command("close"), new, old)

    assert runs.all()[0].counts == {0: a_count(epoch=4, accepted=4)}


def test_a_shard_counts_once_and_again_in_each_round() -> None:
    """Neither a takeover nor a page makes it publish again: few messages for each run and shard."""
    run = a_run()
    assert run.needs_fact(0, None)
    run.apply_fact(0, RunFact(a_count()))
    assert not run.needs_fact(0, None)
    run.wanted_round = ASKED
    assert run.needs_fact(0, None)
    assert not run.needs_fact(0, RunFact(a_count(), ASKED)), "what was just published is read back later"


def test_of_two_rounds_that_of_the_later_owner_counts() -> None:
    later, earlier = (
        round_event("run", wanted, now_ms=9) for wanted in (CountRound(8, 1), CountRound(7, 40))
    )
    runs, _ = ending(a_command("close"), later, earlier)

    assert runs.all()[0].wanted_round == CountRound(8, 1)


def test_a_count_is_read_as_it_was_published() -> None:
    tally = RunTally({"settled": 3, "budget": 1}, pages=3, bytes=900, began_ms=17, job_id="job")
    fact = RunFact(a_count(epoch=2, accepted=4, rebuilt_at_ms=11), ASKED, tally)

    assert fact_of(fact_event(EndingRun("run"), 1, fact, now_ms=9)) == fact


def test_start_pages_are_read_as_they_were_published() -> None:
    pages = StartPages(2, (StartPage("a", "raw a", "text a"), StartPage("b", "", "text b")))
    fact = RunFact(a_count(), ASKED, RunTally(start_pages=pages))

    assert fact_of(fact_event(EndingRun("run"), 1, fact, now_ms=9)) == fact


def test_counts_of_an_earlier_version_have_no_start_pages() -> None:
    """Schedulers of two versions run beside each other during an update."""
    book = SchemaStore.bundled()
    event = fact_event(EndingRun("run"), 1, RunFact(a_count(accepted=2), ASKED), now_ms=9)
    old = json.loads(book.definition("job-event.v1"))
    written = BytesIO()
    schemaless_writer(written, parse_schema(old), asdict(event))
    fingerprint = book.register(json.dumps(old))

    read = Codec(book).decode(JOB_EVENTS, b"\xc3\x01" + fingerprint + written.getvalue())
    assert fact_of(read) == fact_of(event)
    assert start_pages_of(read) == NO_START_PAGES


def test_a_scheduler_of_an_earlier_version_reads_an_end_with_start_pages() -> None:
    current = SchemaStore.bundled()
    older = SchemaStore({"job-event.v1": json.loads(current.definition("job-event.v1"))})
    tally = RunTally({"settled": 1}, 1, 9, start_pages=StartPages(1, (StartPage("a" * 64, "b", "c"),)))
    end = completion_event(a_run(RunFact(a_count(accepted=1), ASKED, tally)), RunControl(), now_ms=9)
    value = Codec(current).encode(JOB_EVENTS, end).value
    older.register(current.definition(JOB_EVENTS.schema_name))

    found = Codec(older).decode(replace(JOB_EVENTS, schema_name="job-event.v1", value=EarlierEvent), value)
    assert found.fields == {
        name: value
        for name, value in end.to_record().items()
        if not name.startswith("start_") and name != "url_key"
    }


def test_the_record_of_an_ended_run_has_no_start_pages() -> None:
    """Every scheduler holds all records of job-commands in memory."""
    tally = RunTally(start_pages=StartPages(1, (StartPage("a" * 64, "b", "c"),)))
    end = completion_event(a_run(RunFact(a_count(), ASKED, tally)), RunControl(), now_ms=9)
    table = CommandTable()
    table.note_unrecorded(end)

    assert end.start_pages == 1
    assert table.unrecorded == [command_record(end)]
    assert start_pages_of(command_record(end)) == NO_START_PAGES
    assert command_record(end).event_id == end.event_id


def test_tallies_of_shards_add_up() -> None:
    one = RunTally({"settled": 3}, pages=3, bytes=10, began_ms=50, job_id="job")
    other = RunTally({"settled": 1, "budget": 2}, pages=1, bytes=5, began_ms=40, job_id="job")

    whole = sum_tallies([one, RunTally(), other])
    assert whole == RunTally({"budget": 2, "settled": 4}, pages=4, bytes=15, began_ms=40, job_id="job")
    assert sum_tallies([one, replace(other, job_id="other")]).job_id == ""


def drained(run: EndingRun) -> RunProof:
    """Return a proof that lacks only the confirmation."""
    proof = RunProof(SHARDS, {})
    for _ in range(6):
        proof.advance(run, READ)
    assert proof.needs_round(0.0)
    return proof


def count_again(run: EndingRun, wanted: CountRound = ASKED, **changes: Any) -> None:
    run.wanted_round = max(run.wanted_round, wanted)
    for shard, fact in list(run.facts.items()):
        count = replace(fact.count, **changes) if shard == 1 else fact.count
        run.apply_fact(shard, RunFact(count, wanted))


def test_a_run_is_complete_when_every_shard_has_counted_the_same_again() -> None:
    run = a_run(RunFact(a_count(accepted=2)), RunFact(a_count()))
    proof = drained(run)
    proof.note_round(ASKED, 0.0)
    assert not proof.advance(run, READ), "no shard has counted again yet"
    run.apply_fact(0, RunFact(a_count(accepted=2), ASKED))
    assert not proof.advance(run, READ), "one shard is missing"
    count_again(run)

    assert proof.advance(run, READ)
    assert proof.is_complete


@pytest.mark.parametrize(
    "changes",
    [{"accepted": 1}, {"counted_by": (2, 0)}, {"counted_by": (1, 8)}],
    ids=["accepted more", "taken over", "rebuilt"],
)
def test_a_shard_that_counts_otherwise_begins_the_proof_again(changes: dict[str, Any]) -> None:
    run = a_run(RunFact(a_count()), RunFact(a_count()))
    proof = drained(run)
    proof.note_round(ASKED, 0.0)
    count_again(run, **changes)
    for _ in range(6):
        proof.advance(run, READ)

    assert not proof.is_complete
    assert proof.needs_round(LONGEST_PAUSE_SECONDS)
    again = CountRound(7, 2)
    proof.note_round(again, LONGEST_PAUSE_SECONDS)
    count_again(run, again)
    assert proof.advance(run, READ)
    assert proof.is_complete


def test_counts_of_another_round_prove_nothing() -> None:
    """They may have been counted before the offsets of this proof were read."""
    run = a_run(RunFact(a_count()), RunFact(a_count()))
    count_again(run, CountRound(6, 3))
    proof = drained(run)
    proof.note_round(ASKED, 0.0)

    assert not proof.advance(run, READ)


def test_rounds_of_a_run_that_is_not_over_become_rare() -> None:
    run = a_run(RunFact(a_count()), RunFact(a_count()))
    proof, asked, now = drained(run), 0, 0.0
    for second in range(3_600):
        now = float(second)
        if proof.needs_round(now):
            asked += 1
            wanted = CountRound(7, asked)
            proof.note_round(wanted, now)
            count_again(run, wanted, accepted=asked)
        proof.advance(run, READ)

    assert not proof.is_complete
    assert asked < 3_600 / LONGEST_PAUSE_SECONDS + 10


def test_a_log_that_was_made_again_holds_no_run_up() -> None:
    """Its former end is never reached."""
    run = a_run(RunFact(a_count()), RunFact(a_count()))
    proof = RunProof(SHARDS, {0: 900})
    for _ in range(6):
        proof.advance(run, CompletionOffsets({0: 2}, {0: 2}, {}, {}))

    assert proof.needs_round(0.0)


def test_the_end_of_a_run_has_its_counts_and_an_id_of_the_run_alone() -> None:
    tally = RunTally({"settled": 3}, pages=3, bytes=900, began_ms=1_000, job_id="job")
    run = a_run(RunFact(a_count(accepted=4), ASKED, tally), RunFact(a_count(accepted=1), ASKED))
    _, control = ending(a_command("close"))
    end = completion_event(run, control, now_ms=61_500)

    assert (end.what, end.execution_id, end.job_id, end.by) == ("run_completed", "run", "job", "ann")
    assert (end.pages, end.bytes, end.seconds, end.state_after) == (3, 900, 60, "completed")
    assert end.counts == {"accepted": 5, "settled": 3}
    assert end.event_id == completion_event(a_run(), RunControl(), now_ms=1).event_id


def test_a_cancelled_run_ends_as_cancelled() -> None:
    runs, control = ending(a_command("close"), a_command("cancel", by="bob", reason="a mistake"))
    (run,) = runs.all()
    end = completion_event(run, control, now_ms=9)

    assert (end.state_after, end.by, end.reason) == ("cancelled", "bob", "a mistake")


@pytest.mark.parametrize(
    ("commands", "state"),
    [
        (["run_completed"], RunState.COMPLETED),
        (["pause", "run_completed", "resume", "pause"], RunState.COMPLETED),
        (["cancel", "run_completed"], RunState.CANCELLED),
        (["run_completed", "cancel"], RunState.CANCELLED),
    ],
)
def test_a_run_that_has_ended_does_not_continue(commands: list[str], state: RunState) -> None:
    _, control = ending(*map(a_command, commands))

    assert control.directive_for("", "run").state is state
    assert control.is_completed("run")


def test_what_is_left_of_a_run_after_90_days_is_deleted_in_an_order_that_ends_it_once() -> None:
    """A crash between two of the tombstones must not leave a run that is to end."""
    table = CommandTable()
    kinds = ["run_completed", "cancel", "close", "pause"]
    for event in map(a_command, kinds):
        table.apply(event.event_id, event)
    ended = table.ended_keys(before_ms=100, open_runs=set(), held_runs=())

    assert ended == [a_command(what).event_id for what in reversed(kinds)]
    assert table.ended_keys(before_ms=100, open_runs=set(), held_runs=["run"]) == []


def test_ended_runs_of_raw_senders_are_deleted_earlier() -> None:
    """Their senders may name any number of them; a cancel is an operator's."""
    table = CommandTable()
    events = [
        a_command(what, execution_id=run)
        for run in ("raw.spring", "spring")
        for what in ("close", "run_completed", "cancel")
    ]
    for event in events:
        table.apply(event.event_id, event)
    ended = table.ended_keys(before_ms=1, raw_before_ms=100, open_runs=set(), held_runs=())

    assert ended == [events[0].event_id, events[1].event_id]


def test_a_deleted_command_is_forgotten() -> None:
    runs, control = ending(a_command("close"))
    runs.forget(a_command("close"))
    control.forget(a_command("close"))
    assert not len(runs)
    assert control.closing_of("run") is None
    _, control = ending(a_command("close"), a_command("run_completed"))
    control.forget(a_command("run_completed"))
    assert control.directive_for("", "run").state is RunState.RUNS
    assert NO_ROUND < ASKED


@given(st.text(min_size=1), st.integers(1, 96))
def test_every_run_has_one_proving_shard(run: str, shards: int) -> None:
    assert 0 <= proving_shard(run, shards) < shards
    assert proving_shard(run, shards) == proving_shard(run, shards)
