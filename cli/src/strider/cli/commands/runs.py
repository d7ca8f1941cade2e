"""strider runs: list, show, close, pause and cancel runs, wait for their ends; drop jobs.

ID is a run, or a job for all of its runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, NoReturn

import typer

from strider.cli.arguments import closest
from strider.cli.connections import BrokerTarget, run_with_broker
from strider.cli.exit_codes import CommandExit
from strider.cli.frontier.client import FrontierClient, open_frontier_client
from strider.cli.frontier.run_end import end_exit_code, end_fields, print_end, wait_for_runs
from strider.cli.frontier.run_log import print_run_log
from strider.cli.frontier.task_counts import count_tasks
from strider.cli.options import AsJson, AsJsonLines, Bootstrap, DryRun, Yes
from strider.cli.output import (
    confirm,
    counted,
    fail,
    print_fields,
    print_json,
    print_listing,
    print_text,
    warn,
)
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.contracts.ids import ADHOC_JOB_ID
from strider.crawl.runs.commands import (
    CLOSED,
    excluding_state,
    is_shared_run,
    shown_state,
    state_after,
)
from strider.crawl.runs.control import RunControl, RunState
from strider.frontier.redis.inspection import RunSnapshot, RunsSnapshot
from strider.messaging.kafka import KafkaBus

app = typer.Typer(no_args_is_help=True, help="List, show, close, wait for, pause and cancel runs; drop jobs.")

Id = Annotated[str, typer.Argument(metavar="ID", help="A run, or a job for all of its runs.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A run.")]
Job = Annotated[str, typer.Argument(metavar="JOB", help="A job; all of its runs are cancelled.")]
PauseReason = Annotated[str, typer.Option("--reason", help="Shown by `runs show` and `explain`.")]
EndReason = Annotated[
    str, typer.Option("--reason", help="Shown by `runs show` and `explain`; detail of each closed URL.")
]


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it is printed; the fields are those of the JSON output."""

    execution_id: str
    job_id: str
    state: str
    open: int
    accepted: int
    crawl_spec_ids: tuple[str, ...] = ()
    by: str = ""
    reason: str = ""
    tasks: Mapping[str, int] = field(default_factory=dict)
    """Tasks by state; empty where the tables could not be read."""


@app.command("list")
def list_runs(bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """List the runs in the frontier."""
    runs, glance = run_with_broker(bootstrap, _load_runs)
    print_listing(
        [asdict(run) for run in runs],
        ("run", "state", "open", "accepted", "job"),
        [(run.execution_id, run.state, str(run.open), str(run.accepted), run.job_id) for run in runs],
        as_json=as_json,
        empty="no runs in the frontier",
    )
    _warn_unready(glance)


@app.command()
def show(run_id: Id, bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Show one run, or the runs of a job."""
    runs, glance = run_with_broker(bootstrap, _load_runs)
    found = _with_tasks(_find_runs(runs, run_id), bootstrap)
    if as_json:
        print_json([asdict(run) for run in found])
        return
    for run in found:
        print_fields(shown_fields(run))
    _warn_unready(glance)


@app.command()
def logs(
    run_id: Id,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=1, max=10_000, help="Number of last lines to print.")
    ] = 50,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing new lines.")] = False,
    bootstrap: Bootstrap = "",
    as_json: AsJsonLines = False,
) -> None:
    """Print the log of a run: seeds, refusals, failures by kind, budgets, completion."""
    run_with_broker(
        bootstrap, lambda target: print_run_log(target, run_id, lines=lines, follow=follow, as_json=as_json)
    )


@app.command("close")
def close_run(run_id: Run, bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Close a run: no more seeds of it come, and it ends when nothing of it is open."""
    if is_shared_run(run_id):
        fail(
            f"{run_id} is a run of {ADHOC_JOB_ID}, which senders share: name a run of your own with --run",
            CommandExit.USAGE,
        )
    result = run_with_broker(bootstrap, lambda target: _close(target, run_id))
    if as_json:
        print_json(result)
        return
    already = "" if result["is_new"] else " already"
    print_text(f"{run_id} is {result['state']}{already}; {counted(result['open'], 'entry open')}")


@app.command()
def wait(run_id: Run, bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Wait until a run has ended, and print its counts. Ctrl-C leaves the run going.

    Exit code 1: the run was cancelled, or none of its URLs was accepted.
    """
    ends = run_with_broker(bootstrap, lambda target: _wait(target, run_id))
    for end in ends.values():
        print_json(end_fields(end)) if as_json else print_end(end)
    raise typer.Exit(end_exit_code(ends))


@app.command()
def pause(run_id: Id, reason: PauseReason = "", bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Stop releasing requests; queued URLs are kept."""
    _publish(_Command(JobEventKind.PAUSE, run_id, reason), bootstrap, as_json=as_json)


@app.command()
def resume(run_id: Id, bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Continue a run that was paused."""
    _publish(_Command(JobEventKind.RESUME, run_id), bootstrap, as_json=as_json)


@app.command()
def cancel(  # noqa: PLR0917  # options, which are given by name
    run_id: Id,
    reason: EndReason = "",
    yes: Yes = False,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """Stop releasing requests and close queued URLs as cancelled. This cannot be undone."""
    command = _Command(JobEventKind.CANCEL, run_id, reason)
    question = f"Cancel {run_id} and close its queued URLs? This cannot be undone."
    _end(command, question, bootstrap, is_confirmed=yes, dry_run=dry_run, as_json=as_json)


@app.command()
def drop(  # noqa: PLR0917  # as above
    run_id: Job,
    reason: EndReason = "",
    yes: Yes = False,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """Cancel a job and delete what the frontier knows of its URLs. This cannot be undone."""
    command = _Command(JobEventKind.DROP, run_id, reason)
    question = f"Drop job {run_id} with all that is known of its URLs? This cannot be undone."
    _end(command, question, bootstrap, is_confirmed=yes, dry_run=dry_run, as_json=as_json)


async def _close(target: BrokerTarget, run_id: str) -> dict[str, Any]:
    async with open_frontier_client(target) as frontier:
        control = await frontier.load_run_control()
        glance = await frontier.inspection.runs(range(frontier.shards))
        is_completed = control.is_completed(run_id)
        is_new = not is_completed and control.closing_of(run_id) is None
        if is_new and run_id not in glance.runs:
            _fail_unknown(run_id, glance.runs)
        if is_new:
            await frontier.publish_command(JobEventKind.CLOSE, execution_id=run_id)
        found = glance.runs.get(run_id)
        return {
            "id": run_id,
            "state": RunState.COMPLETED.value if is_completed else CLOSED,
            "is_new": is_new,
            "open": 0 if found is None else found.open,
        }


async def _wait(target: BrokerTarget, run_id: str) -> Mapping[str, JobEvent]:
    bus = KafkaBus(target.connection)
    try:
        return await wait_for_runs(target, bus, [run_id], warns_if_open=True)
    finally:
        await bus.close()


@dataclass(frozen=True, slots=True)
class _Command:
    """A job command about a run or a job."""

    kind: JobEventKind
    run_id: str
    reason: str = ""

    @property
    def state(self) -> str:
        """Name of the state that the command puts a run into."""
        return state_after(self.kind)


def _check_job(command: _Command) -> None:
    """Refuse to end the job of all seeds without a job: it would refuse later ones too."""
    if command.run_id == ADHOC_JOB_ID:
        fail(
            f"{ADHOC_JOB_ID} is the job of seeds without a job, later ones included: name one of its runs",
            CommandExit.USAGE,
        )


def _end(
    command: _Command, question: str, bootstrap: str, *, is_confirmed: bool, dry_run: bool, as_json: bool
) -> None:
    """Publish a command that cannot be undone, once it is confirmed; or print what it would end."""
    _check_job(command)
    runs = _load_affected(command, bootstrap)
    if dry_run:
        _print_affected(command, runs, as_json=as_json)
        return
    confirm(question, is_confirmed=is_confirmed)
    _publish(command, bootstrap, as_json=as_json)


def _publish(command: _Command, bootstrap: str, *, as_json: bool) -> None:
    results = run_with_broker(bootstrap, lambda target: _publish_to(target, command))
    if as_json:
        print_json(results)
        return
    for each in results:
        already = "" if each["is_new"] else " already"
        print_text(f"{each['id']} is {each['state']}{already}; {counted(each['open'], 'entry open')}")


async def _publish_to(target: BrokerTarget, command: _Command) -> list[dict[str, Any]]:
    async with open_frontier_client(target) as frontier:
        runs = await _runs_of(frontier, command)
        is_new = any(run.state != command.state for run in runs)
        # A resume wakes entries that sleep by a pause that the log no longer has: it is never superfluous.
        if is_new or command.kind is JobEventKind.RESUME:
            about = {"execution_id": command.run_id} if command.run_id == runs[0].execution_id else {}
            await frontier.publish_command(
                command.kind, job_id=runs[0].job_id, reason=command.reason, **about
            )
        open_entries = sum(run.open for run in runs)
        return [
            {
                "id": command.run_id,
                "state": command.state,
                "is_new": is_new,
                "open": open_entries,
            }
        ]


def _load_affected(command: _Command, bootstrap: str) -> list[RunView]:
    """Return the runs that a command would end; ends the command line where there is none."""

    async def load(target: BrokerTarget) -> list[RunView]:
        async with open_frontier_client(target) as frontier:
            return await _runs_of(frontier, command)

    return run_with_broker(bootstrap, load)


def _print_affected(command: _Command, runs: Sequence[RunView], *, as_json: bool) -> None:
    if as_json:
        print_json([asdict(run) for run in runs])
        return
    for run in runs:
        still_open = counted(run.open, "entry open")
        print_text(f"would {command.kind.value} {run.execution_id} ({run.state}, {still_open})")


async def _runs_of(frontier: FrontierClient, command: _Command) -> list[RunView]:
    """Return the runs that a command is about; ends the command line where it cannot apply to them."""
    glance = await frontier.inspection.runs(range(frontier.shards))
    runs = _find_runs(_run_views(glance, await frontier.load_run_control()), command.run_id)
    if command.run_id == runs[0].execution_id and command.kind is JobEventKind.DROP:
        fail(f"{command.run_id} is a run; only a job is dropped, here {runs[0].job_id}", CommandExit.USAGE)
    final = excluding_state(command.kind, {run.state for run in runs})
    if final is not None and (final is not RunState.COMPLETED or command.run_id == runs[0].execution_id):
        fail(f"{command.run_id} was {final.value}, which cannot be undone", CommandExit.FAILED)
    return runs


async def _load_runs(target: BrokerTarget) -> tuple[list[RunView], RunsSnapshot]:
    async with open_frontier_client(target) as frontier:
        glance = await frontier.inspection.runs(range(frontier.shards))
        return _run_views(glance, await frontier.load_run_control()), glance


def _run_views(glance: RunsSnapshot, orders: RunControl) -> list[RunView]:
    return [run_view(run, orders) for run in glance.runs.values()]


def run_view(run: RunSnapshot, orders: RunControl) -> RunView:
    """Return a run as it is printed: its counts, and its state by all commands."""
    shown = shown_state(orders, run.job_id, run.execution_id)
    return RunView(
        run.execution_id,
        run.job_id,
        shown.state,
        run.open,
        run.accepted,
        run.crawl_spec_ids,
        by=shown.by,
        reason=shown.reason,
    )


def _with_tasks(runs: Sequence[RunView], bootstrap: str) -> list[RunView]:
    counts = run_with_broker(
        bootstrap, lambda target: count_tasks(target, [run.execution_id for run in runs])
    )
    return [replace(run, tasks=counts.get(run.execution_id, {})) for run in runs]


def _find_runs(runs: Sequence[RunView], run_id: str) -> list[RunView]:
    found = [run for run in runs if run.execution_id == run_id] or [
        run for run in runs if run.job_id == run_id
    ]
    if not found:
        _fail_unknown(run_id, [name for run in runs for name in (run.execution_id, run.job_id)])
    return found


def _fail_unknown(run_id: str, known: Iterable[str]) -> NoReturn:
    near = closest(run_id, list(known))
    hint = f"did you mean {near}?" if near else "see: strider runs list"
    fail(f"no run or job {run_id!r}; {hint}", CommandExit.FAILED)


def shown_fields(run: RunView) -> dict[str, str]:
    """Return the fields of a run as text: those of the JSON output, with the id named as a run's."""
    fields = {name: _value_text(value) for name, value in asdict(run).items()}
    return {"run (execution_id)" if name == "execution_id" else name: text for name, text in fields.items()}


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{count} {name}" for name, count in value.items() if count) or "unknown"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _warn_unready(glance: RunsSnapshot) -> None:
    if glance.unready_shards:
        warn(f"shards that are not ready are missing here: {', '.join(map(str, glance.unready_shards))}")
