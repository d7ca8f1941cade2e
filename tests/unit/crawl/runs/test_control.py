"""State of runs and hosts after commands."""

from __future__ import annotations

import pytest

from strider.contracts.generated.events import JobEvent
from strider.contracts.ids import command_id
from strider.crawl.runs.control import FOREVER_MS, NO_BLOCK, ManualBlock, RunControl, RunState
from tests.unit.scheduler.simulation.commands import a_command

RUN = a_command("pause"), a_command("resume"), a_command("cancel")
PAUSE, RESUME, CANCEL = RUN
PAUSE_JOB = a_command("pause", job_id="job")
RESUME_JOB = a_command("resume", job_id="job")
CANCEL_JOB, DROP_JOB = a_command("cancel", job_id="job"), a_command("drop", job_id="job")
FACT = JobEvent(event_id="f", what="cancelled", is_wish=False, at_ms=1, by="scheduler", execution_id="run")


@pytest.mark.parametrize(
    ("said", "standing"),
    [
        pytest.param([], RunState.RUNS, id="no command"),
        pytest.param([PAUSE], RunState.PAUSED, id="paused"),
        pytest.param([PAUSE, RESUME], RunState.RUNS, id="resumed"),
        pytest.param([RESUME, PAUSE], RunState.PAUSED, id="the last command counts"),
        pytest.param([PAUSE, CANCEL], RunState.CANCELLED, id="cancelled"),
        pytest.param([CANCEL, RESUME, PAUSE], RunState.CANCELLED, id="nothing undoes a cancel"),
        pytest.param([PAUSE_JOB], RunState.PAUSED, id="its job is paused"),
        pytest.param([PAUSE_JOB, RESUME], RunState.PAUSED, id="a job's pause is the job's to end"),
        pytest.param([PAUSE_JOB, RESUME_JOB], RunState.RUNS, id="its job is resumed"),
        pytest.param([PAUSE_JOB, CANCEL], RunState.CANCELLED, id="the stricter holds"),
        pytest.param([CANCEL_JOB, DROP_JOB], RunState.DROPPED, id="a cancelled job may be dropped"),
        pytest.param([DROP_JOB, CANCEL_JOB, RESUME_JOB], RunState.DROPPED, id="nothing undoes a drop"),
        pytest.param([a_command("drop")], RunState.RUNS, id="only jobs are dropped"),
        pytest.param([FACT], RunState.RUNS, id="a fact is no command"),
        pytest.param([a_command("cancel", execution_id="other")], RunState.RUNS, id="another run"),
    ],
)
def test_what_holds_for_a_run(said: list[JobEvent], standing: RunState) -> None:
    orders = RunControl()
    for event in said:
        orders.apply(event)

    assert orders.directive_for("job", "run").state is standing


def test_a_repeat_changes_nothing() -> None:
    """The topic is at-least-once, and each change makes every shard look through all it has."""
    orders = RunControl()

    assert [orders.apply(event) for event in (PAUSE, PAUSE, RESUME, RESUME)] == [True, False, True, False]


def test_a_host_is_blocked_until_it_is_unblocked() -> None:
    orders = RunControl()
    orders.apply(a_command("block_host", group="a.test", until_ms=50, at_ms=10, reason="asked to"))
    orders.apply(a_command("block_host", group="b.test", at_ms=10))
    orders.apply(a_command("unblock_host", group="b.test"))
    orders.apply(a_command("block_host", group="c.test", at_ms=10))

    assert orders.manual_blocks == {
        "a.test": ManualBlock(50, 10, "ada", "asked to"),
        "b.test": NO_BLOCK,
        "c.test": ManualBlock(FOREVER_MS, 10, "ada", ""),
    }


def test_a_run_with_an_exhausted_budget_is_over_despite_any_command() -> None:
    orders = RunControl()
    orders.apply(PAUSE)

    marked = [orders.mark_budget_exhausted("run", "spec", measure) for measure in ("pages", "bytes")]

    assert marked == [True, False]
    spent = orders.directive_for("job", "run", "spec")
    assert (spent.state, spent.reason) == (RunState.SPENT, "pages")
    assert orders.directive_for("job", "run", "another").state is RunState.PAUSED
    assert orders.affects(["run"])
    orders.apply(CANCEL)
    assert orders.directive_for("job", "run").state is RunState.CANCELLED


def test_a_url_is_cancelled_in_its_run_alone() -> None:
    """Until its record is deleted; a repeat changes nothing, and a pause of the run does not undo it."""
    control = RunControl()
    command = a_command("cancel_url", url_key="a" * 64, reason="asked to")
    said = [a_command("cancel_url"), command, command, PAUSE]

    assert [control.apply(event) for event in said] == [False, True, False, True]
    cancelled = control.directive_for("job", "run", "spec", "a" * 64)
    assert (cancelled.state, cancelled.by, cancelled.reason) == (RunState.CANCELLED, "ada", "asked to")
    assert control.directive_for("job", "run", "spec", "b" * 64).state is RunState.PAUSED
    assert control.directive_for("job", "other", "spec", "a" * 64).state is RunState.RUNS
    assert (control.cancelled_urls, control.affects(["run"]), control.affects(["other"])) == (1, True, False)
    control.forget(command)
    assert (control.cancelled_urls, control.url_directive("run", "a" * 64)) == (0, None)
    assert control.directive_for("job", "run", "spec", "a" * 64).state is RunState.PAUSED


def test_commands_about_two_urls_of_a_run_are_two_records() -> None:
    """One key each on job-commands; of other commands the key is as it was."""
    keys = {a_command("cancel_url", url_key=each).event_id for each in ("a", "b", "a")}

    assert len(keys) == 2
    assert a_command("cancel").event_id == command_id("cancel", job_id="job", execution_id="run")
