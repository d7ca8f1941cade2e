"""strider crawls: the runs of the frontier, and how to stop them.

ID is a run, or a job for all of its runs. Exit codes: 0 done (also where it was so before), 1 there
is no such run or nothing undoes its end, 2 wrong usage, 3 the broker or the working set does not answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Final

import typer

from strider.contracts.generated.enums import JobEvent as What
from strider.contracts.ids import ADHOC_JOB_ID
from strider.frontier.redis.inspection import RunSnapshot, RunsSnapshot
from strider.scheduler.core import Standing
from strider.scheduler.core.runs.control import RunControl

from .control_asking import open_frontier
from .crawls_logs import show_log
from .crawls_tasks import count_tasks
from .explain_verdicts import standing_text
from .options import AsJson, AsJsonLines, Bootstrap
from .topics_broker import EXIT_FOUND, EXIT_USAGE, Target, fail, run_on_broker

app = typer.Typer(no_args_is_help=True, help="Show, pause, resume, cancel runs and their logs; drop jobs.")

Id = Annotated[str, typer.Argument(metavar="ID", help="A run, or a job for all of its runs.")]
Job = Annotated[str, typer.Argument(metavar="JOB", help="A job; all of its runs are cancelled.")]
Reason = Annotated[str, typer.Option(help="Why, in words; it stands with every URL that is dropped.")]


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is shown."""

    execution_id: str
    job_id: str
    state: str
    open: int
    accepted: int
    crawl_spec_ids: tuple[str, ...] = ()
    by: str = ""
    reason: str = ""
    tasks: Mapping[str, int] = field(default_factory=dict)
    """How far the work is, by state; empty where the tables could not be asked."""


@app.command("list")
def list_runs(bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """List the runs that the frontier knows."""
    runs, glance = run_on_broker(bootstrap, _known)
    if as_json:
        print(json.dumps([asdict(run) for run in runs]))
        return
    for run in runs:
        print(
            f"{run.execution_id:<40} {run.state:<10} {run.open:>9} open "
            f"{run.accepted:>9} accepted  {run.job_id}"
        )
    if not runs:
        print("the frontier knows of no run")
    _tell_unready(glance)


@app.command()
def show(run_id: Id, bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Show one run, or the runs of a job."""
    runs, glance = run_on_broker(bootstrap, _known)
    found = with_tasks(_meant(runs, run_id), bootstrap)
    if as_json:
        print(json.dumps([asdict(run) for run in found]))
        return
    for run in found:
        for name, value in asdict(run).items():
            print(f"{name:<16} {_shown(value)}")
    _tell_unready(glance)


def with_tasks(runs: Sequence[Run], bootstrap: str) -> list[Run]:
    """Add how far the work of runs is."""
    told = run_on_broker(bootstrap, lambda target: count_tasks(target, [run.execution_id for run in runs]))
    return [replace(run, tasks=told.get(run.execution_id, {})) for run in runs]


@app.command()
def logs(
    run_id: Id,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=10_000, help="So many of the last.")] = 50,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what comes.")] = False,
    bootstrap: Bootstrap = "",
    as_json: AsJsonLines = False,
) -> None:
    """Show what happened to a run: seeds, refusals, failures by kind, budgets, and when nothing is open."""
    run_on_broker(
        bootstrap, lambda target: show_log(target, run_id, lines=lines, follow=follow, as_json=as_json)
    )


@app.command()
def pause(run_id: Id, reason: Reason = "", bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Ask for nothing more; what is queued is kept."""
    _wish(What.PAUSE, run_id, reason, bootstrap, as_json=as_json)


@app.command()
def resume(run_id: Id, bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Go on with a run that was paused."""
    _wish(What.RESUME, run_id, "", bootstrap, as_json=as_json)


@app.command()
def cancel(run_id: Id, reason: Reason = "", bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Ask for nothing more, and drop what is queued. Nothing undoes it."""
    _wish(What.CANCEL, run_id, reason, bootstrap, as_json=as_json)


@app.command()
def drop(run_id: Job, reason: Reason = "", bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Cancel a job, and forget what is known of its URLs. Nothing undoes it."""
    _wish(What.DROP, run_id, reason, bootstrap, as_json=as_json)


def _wish(what: What, run_id: str, reason: str, bootstrap: str, *, as_json: bool) -> None:
    if run_id == ADHOC_JOB_ID and _AFTER[what] in _UNDONE_BY:
        fail(
            f"{ADHOC_JOB_ID} has all seeds without a job, those to come as well: name one of its runs",
            EXIT_USAGE,
        )
    said = run_on_broker(bootstrap, lambda target: _say(target, what, run_id, reason))
    if as_json:
        print(json.dumps(said))
        return
    for each in said:
        is_new = "" if each["is_new"] else " already"
        stands = standing_text(Standing(each["state"]))
        print(f"{each['id']} {stands}{is_new}; it has {each['open']} entries open")


async def _say(target: Target, what: What, run_id: str, reason: str) -> list[dict[str, Any]]:
    async with open_frontier(target) as frontier:
        glance, orders = await frontier.glance.runs(range(frontier.shards)), await frontier.orders()
        runs = _meant(_runs(glance, orders), run_id)
        wanted = _AFTER[what]
        is_run = run_id == runs[0].execution_id
        if is_run and wanted is Standing.DROPPED:
            fail(f"{run_id} is a run; what is known of URLs is a job's, here {runs[0].job_id}", EXIT_USAGE)
        for past in (Standing.DROPPED, Standing.CANCELLED):
            if wanted in _UNDONE_BY[past] and all(run.state == past for run in runs):
                fail(f"{run_id} was {past.value}, and nothing undoes that", EXIT_FOUND)
        is_new = any(run.state != wanted.value for run in runs)
        if is_new:
            about = {"execution_id": run_id} if is_run else {}
            await frontier.wish(what, job_id=runs[0].job_id, reason=reason, **about)
        open_now = sum(run.open for run in runs)
        return [{"id": run_id, "state": wanted.value, "is_new": is_new, "open": open_now}]


async def _known(target: Target) -> tuple[list[Run], RunsSnapshot]:
    async with open_frontier(target) as frontier:
        glance = await frontier.glance.runs(range(frontier.shards))
        return _runs(glance, await frontier.orders()), glance


def _runs(glance: RunsSnapshot, orders: RunControl) -> list[Run]:
    return [_run(run, orders) for run in glance.runs.values()]


def _run(run: RunSnapshot, orders: RunControl) -> Run:
    order = orders.directive_for(run.job_id, run.execution_id)
    state = order.state.value
    if order.state is Standing.RUNS and not run.open:
        state = "idle"
    return Run(
        run.execution_id,
        run.job_id,
        state,
        run.open,
        run.accepted,
        run.crawl_spec_ids,
        by=order.by,
        reason=order.reason,
    )


def _meant(runs: Sequence[Run], run_id: str) -> list[Run]:
    found = [run for run in runs if run.execution_id == run_id] or [
        run for run in runs if run.job_id == run_id
    ]
    if not found:
        fail(f"no run or job {run_id} is known; strider crawls list names those that are", EXIT_FOUND)
    return found


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{count} {name}" for name, count in value.items() if count) or "none known"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _tell_unready(glance: RunsSnapshot) -> None:
    if glance.unready_shards:
        print(f"shards that could not say: {', '.join(map(str, glance.unready_shards))}")


_AFTER: Final = {
    What.PAUSE: Standing.PAUSED,
    What.RESUME: Standing.RUNS,
    What.CANCEL: Standing.CANCELLED,
    What.DROP: Standing.DROPPED,
}
_UNDONE_BY: Final = {
    Standing.CANCELLED: {Standing.RUNS, Standing.PAUSED},
    Standing.DROPPED: {Standing.RUNS, Standing.PAUSED, Standing.CANCELLED},
}
"""What is wished in vain once that holds."""
