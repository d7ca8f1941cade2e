"""strider frontier urls, show, drop, links: single URLs of the frontier.

The commands are requests to the HTTP API.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer

from strider.cli.api.connection import open_api
from strider.cli.exit_codes import CommandExit
from strider.cli.explain.subject import UrlSubject, parse_subject
from strider.cli.options import ApiToken, ApiUrl, AsJson, Yes
from strider.cli.output import (
    confirm,
    counted,
    fail,
    print_fields,
    print_json,
    print_listing,
    print_text,
    time_text,
)
from strider.contracts.generated.enums import EntryState

app = typer.Typer(add_completion=False)

MAX_LISTED: Final = 10_000
_NO_FURTHER: Final = "no URL of the frontier fits"


class OutcomeOption(StrEnum):
    """Outcome of a discovered link."""

    ACCEPTED = "accepted"
    REFUSED = "refused"


Url = Annotated[str, typer.Argument(metavar="URL", help="The URL.")]
Host = Annotated[str | None, typer.Option("--host", help="Only URLs of this host.")]
Job = Annotated[str | None, typer.Option("--job", metavar="JOB", help="Only in this job.")]
Run = Annotated[str | None, typer.Option("--run", metavar="RUN", help="Only in this run.")]
WithReason = Annotated[str | None, typer.Option("--reason", help="Only with this reason.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=MAX_LISTED, help="Most that are listed.")]


@app.command("urls")
def list_urls(  # noqa: PLR0917  # each is an option of the command
    host: Host = None,
    job: Job = None,
    run: Run = None,
    state: Annotated[EntryState | None, typer.Option("--state", help="Only in this state.")] = None,
    reason: WithReason = None,
    limit: Limit = 100,
    api_url: ApiUrl = "",
    token: ApiToken = "",
    as_json: AsJson = False,
) -> None:
    """List URLs of the frontier: state, reason, job, and when they are due."""
    with open_api(api_url, token, options={"execution": "--run", "reason": "--reason"}) as api:
        wanted = None if state is None else state.value
        found = list(
            api.frontier.urls(host=host, job=job, execution=run, state=wanted, reason=reason, limit=limit)
        )
    print_listing(
        [entry.document() for entry in found],
        ("url", "state", "reason", "job", "due"),
        [(each.url, each.state, each.reason, each.job_id, time_text(each.due_at)) for each in found],
        as_json=as_json,
        empty=_NO_FURTHER,
    )


@app.command()
def show(
    url: Url, job: Job = None, api_url: ApiUrl = "", token: ApiToken = "", as_json: AsJson = False
) -> None:
    """Show what is stored of a URL; `strider why` reads the topics of the frontier as well."""
    subject = _subject(url)
    with open_api(api_url, token) as api:
        found = api.frontier.get(subject.key, job=job)
    if as_json:
        print_json(found.document())
        return
    print_text(found.url)
    for entry in found.entries:
        print_fields(
            {
                "job": f"{entry.job_id}, run {entry.execution_id}",
                "state": f"{entry.state} ({entry.reason})" + (f", {entry.place}" if entry.place else ""),
                "due": time_text(entry.due_at),
            }
        )
    decided = [f"{each['decision']}: {each['reason']} {each['detail']}".strip() for each in found.decisions]
    print_fields({"decisions": "; ".join(decided) or "none", "failed requests": str(len(found.failures))})


@app.command()
def drop(  # noqa: PLR0917  # each is an option of the command
    url: Url,
    job: Job = None,
    reason: Annotated[str, typer.Option("--reason", help="Shown as the reason of its closing.")] = "",
    yes: Yes = False,
    api_url: ApiUrl = "",
    token: ApiToken = "",
    as_json: AsJson = False,
) -> None:
    """Take a URL out of the queue of its runs, which accept it no more; this cannot be undone."""
    subject = _subject(url)
    confirm(f"Take {subject.url} out of the queue of its runs?", is_confirmed=yes)
    with open_api(api_url, token, options={"reason": "--reason"}) as api:
        done = api.frontier.cancel(subject.key, job=job, reason=reason)
    if as_json:
        print_json(done.document())
        return
    print_text(f"cancelled in {counted(len(done.cancelled), 'run')}; see: strider frontier show {done.url}")


@app.command("links")
def list_links(  # noqa: PLR0917  # each is an option of the command
    page: Annotated[
        str | None, typer.Option("--page", metavar="URL", help="Only links of this page.")
    ] = None,
    host: Host = None,
    job: Job = None,
    run: Run = None,
    outcome: Annotated[OutcomeOption | None, typer.Option("--outcome", help="Only these.")] = None,
    reason: WithReason = None,
    limit: Limit = 100,
    api_url: ApiUrl = "",
    token: ApiToken = "",
    as_json: AsJson = False,
) -> None:
    """List links that were found on pages, accepted or refused, and why."""
    with open_api(api_url, token, options={"execution": "--run", "page": "--page"}) as api:
        wanted = None if outcome is None else outcome.value
        found = list(
            api.frontier.links(
                page=page, outcome=wanted, limit=limit, host=host, job=job, execution=run, reason=reason
            )
        )
    print_listing(
        [link.document() for link in found],
        ("url", "outcome", "reason", "found on"),
        [(each.url, each.outcome, each.reason, each.page_url) for each in found],
        as_json=as_json,
        empty="no discovered link fits",
    )


def _subject(url: str) -> UrlSubject:
    subject = parse_subject(url)
    if subject.refusal:
        fail(subject.refusal, CommandExit.USAGE)
    return subject
