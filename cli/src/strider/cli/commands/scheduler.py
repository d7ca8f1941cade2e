"""strider scheduler: state of all jobs, their distribution over the day, rebalance.

The commands are requests to the HTTP API.
"""

from __future__ import annotations

from typing import Annotated, Final

import typer

from strider.cli.api.connection import open_api
from strider.cli.api.job_views import MOVE_HEADERS, counts_text, duration_text, move_rows
from strider.cli.options import ApiToken, ApiUrl, AsJson
from strider.cli.output import counted, print_fields, print_json, print_table, print_text, warn

app = typer.Typer(no_args_is_help=True, help="Show the schedule of all jobs, and rebalance it.")

LOW_SUCCESS_RATE: Final = 0.8
LOW_DISTRIBUTION_SCORE: Final = 0.7


@app.command()
def metrics(api_url: ApiUrl = "", token: ApiToken = "", as_json: AsJson = False) -> None:
    """Show the numbers of jobs, the success rate of a day, and jobs that are due."""
    with open_api(api_url, token) as api:
        found = api.scheduler.metrics()
    if as_json:
        print_json(found.document())
        return
    rate, duration_ms = found.executions.success_rate, found.executions.average_duration_ms
    print_fields(
        {
            "jobs": counts_text(found.jobs),
            "runs of a day": counts_text(found.executions.by_status),
            "success rate": "?" if rate is None else f"{rate:.0%}",
            "average duration": "?" if duration_ms is None else duration_text(duration_ms / 1000),
            "due": f"{found.due}, the first for {duration_text(found.oldest_due_ms / 1000)}"
            if found.due
            else "none",
            "launching": str(found.launching),
            "stale locks": f"{found.stale_locks_cleared} of a day",
        }
    )
    if rate is not None and rate < LOW_SUCCESS_RATE:
        warn(f"less than {LOW_SUCCESS_RATE:.0%} of the runs succeed; see: strider jobs list --status failed")
    if found.stale_locks_cleared:
        warn("schedulers stopped while they launched runs; their logs and exit codes have the cause")


@app.command()
def distribution(api_url: ApiUrl = "", token: ApiToken = "", as_json: AsJson = False) -> None:
    """Show how recurring jobs are distributed over the day (UTC)."""
    with open_api(api_url, token) as api:
        found = api.scheduler.distribution()
    if as_json:
        print_json(found.document())
        return
    used = [
        (slot.starts_at, str(slot.jobs), f"{slot.runs:.3g}") for slot in found.slots if slot.jobs or slot.runs
    ]
    if used:
        print_table(("from", "jobs", "runs a day"), used)
    noun = "recurring job" if found.jobs == 1 else "recurring jobs"
    print_text(f"distribution score {found.distribution_score:.2f}, {found.jobs} {noun}")
    if found.jobs >= len(found.slots) and found.distribution_score < LOW_DISTRIBUTION_SCORE:
        warn(f"the score is below {LOW_DISTRIBUTION_SCORE}; see: strider scheduler rebalance")


@app.command()
def rebalance(
    apply: Annotated[
        bool, typer.Option("--apply", help="Move the jobs; without it nothing changes.")
    ] = False,
    api_url: ApiUrl = "",
    token: ApiToken = "",
    as_json: AsJson = False,
) -> None:
    """Show which jobs a rebalance would move to other quarters of an hour; with --apply move them."""
    with open_api(api_url, token) as api:
        plan = api.scheduler.rebalance() if apply else api.scheduler.rebalance_preview()
    if as_json:
        print_json(plan.document())
        return
    if plan.moves:
        print_table(MOVE_HEADERS, move_rows(plan))
    scores = f"distribution score {plan.score_before:.2f}, then {plan.score_after:.2f}"
    moved = (
        f"{counted(plan.applied, 'job')} moved" if apply else f"{counted(len(plan.moves), 'job')} would move"
    )
    print_text(f"{moved}; {scores}")
    if plan.moves and not apply:
        print_text("apply with: strider scheduler rebalance --apply")
