"""strider jobs: create, list, show, edit, delete and command jobs; list their runs.

The commands are requests to the HTTP API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from strider.cli.api.connection import open_api
from strider.cli.api.job_settings import OPTION_OF_FIELD, OptionFault, job_settings
from strider.cli.api.job_views import (
    EXECUTION_HEADERS,
    JOB_HEADERS,
    action_text,
    execution_row,
    job_fields,
    job_row,
)
from strider.cli.api.lookup import find_job, find_progress, find_source_id
from strider.cli.commands.job_logs import print_job_logs
from strider.cli.exit_codes import CommandExit
from strider.cli.options import ApiToken, ApiUrl, AsJson, Yes
from strider.cli.output import (
    confirm,
    counted,
    fail,
    print_fields,
    print_json,
    print_listing,
    print_status,
    print_text,
)

if TYPE_CHECKING:
    from strider.client import RemoteJob, StriderClient

app = typer.Typer(no_args_is_help=True, help="Create, list, change and command jobs; list their runs.")

MAX_LISTED: Final = 10_000

_CHANGED: Final = (
    *("url", "source", "name", "every", "once", "adaptive", "max_retries", "retry_wait", "settings", "unset"),
    *("metadata", "unset_metadata", "is_replacing"),
)
"""Options of `edit` that change a job."""

Job = Annotated[
    str, typer.Argument(metavar="JOB", help="Id or name of a job; 6 characters of its id will do.")
]
StartUrl = Annotated[str, typer.Argument(metavar="URL", help="Page where its runs start.")]
Source = Annotated[
    str,
    typer.Option("--source", metavar="SOURCE", help="Id or name of the source whose settings its runs have."),
]
Name = Annotated[str, typer.Option("--name", help="A name for people; no two jobs have the same one.")]
Every = Annotated[
    str, typer.Option("--every", metavar="TIME", help="Interval: minutes, hours or days, as 30m, 6h, 2d.")
]
Once = Annotated[bool, typer.Option("--once", help="It runs once only.")]
Adaptive = Annotated[
    bool | None,
    typer.Option("--adaptive/--fixed", help="Whether the interval grows while nothing changes."),
]
MaxRetries = Annotated[int | None, typer.Option("--max-retries", min=0, help="Retries of a failed run.")]
RetryWait = Annotated[
    str, typer.Option("--retry-wait", metavar="TIME", help="Wait before the first retry, such as 60s.")
]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A field of its crawl spec; repeatable."),
]
Metadata = Annotated[
    list[str] | None, typer.Option("--metadata", metavar="NAME=VALUE", help="Kept with it; repeatable.")
]
Unset = Annotated[
    list[str] | None, typer.Option("--unset", metavar="NAME", help="A setting to remove; repeatable.")
]
UnsetMetadata = Annotated[
    list[str] | None,
    typer.Option("--unset-metadata", metavar="NAME", help="Metadata to remove; repeatable."),
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Settings and metadata that are not given are removed.")
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=MAX_LISTED, help="Most that are listed.")]


@app.command()
def create(  # noqa: PLR0917  # options, which are given by name
    url: StartUrl,
    source: Source = "",
    name: Name = "",
    every: Every = "",
    adaptive: Adaptive = None,
    max_retries: MaxRetries = None,
    retry_wait: RetryWait = "",
    setting: Setting = None,
    metadata: Metadata = None,
    api_url: ApiUrl = "",
    token: ApiToken = "",
    as_json: AsJson = False,
) -> None:
    """Create a job: with --every it recurs, without it runs once, and at once."""
    fields = _settings(
        source=source,
        name=name,
        every=every,
        adaptive=adaptive,
        max_retries=max_retries,
        retry_wait=retry_wait,
        settings=setting or (),
        metadata=metadata or (),
    )
    with open_api(api_url, token, options=OPTION_OF_FIELD) as api:
        _resolve_source(api, fields)
        _print_job(api.jobs.create(url=url, **fields), as_json=as_json)


@app.command("list")
def list_jobs(  # noqa: PLR0917  # as above
    status: Annotated[str, typer.Option("--status", help="Only jobs with this status.")] = "",
    source: Annotated[str, typer.Option("--source", metavar="SOURCE", help="Only jobs of this source.")] = "",
    limit: Limit = 100,
    api_url: ApiUrl = "",
    token: ApiToken = "",
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first."""
    with open_api(api_url, token, options=OPTION_OF_FIELD) as api:
        source_id = find_source_id(api, source) if source else None
        jobs = list(api.jobs.list(status=status or None, source_id=source_id, limit=limit + 1))
    if len(jobs) > limit:
        print_status(f"there are more than {counted(limit, 'job')}; list more with -n, {MAX_LISTED} at most")
        del jobs[limit:]
    print_listing(
        [job.document() for job in jobs],
        JOB_HEADERS,
        [job_row(job) for job in jobs],
        as_json=as_json,
        empty="no jobs",
        wrapped=(JOB_HEADERS[-1],),
    )


@app.command()
def show(job: Job, api_url: ApiUrl = "", token: ApiToken = "", as_json: AsJson = False) -> None:
    """Show a job, the statistics of its runs, and how far the one under way is."""
    with open_api(api_url, token) as api:
        found = find_job(api, job)
        stats = api.jobs.stats(found.id)
        latest = list(api.jobs.executions(found.id, limit=1)) if stats.running and not as_json else []
        progress = [f"{each.id}: {find_progress(api, each)}" for each in latest if not each.has_ended]
    if as_json:
        print_json({**found.document(), "stats": stats.document()})
    else:
        print_fields(job_fields(found, stats, progress="; ".join(progress)))


@app.command()
def edit(  # noqa: PLR0917  # as above
    job: Job,
    url: Annotated[str, typer.Option("--start", metavar="URL", help="Page where its runs start.")] = "",
    source: Source = "",
    name: Name = "",
    every: Every = "",
    once: Once = False,
    adaptive: Adaptive = None,
    max_retries: MaxRetries = None,
    retry_wait: RetryWait = "",
    settings: Setting = None,
    unset: Unset = None,
    metadata: Metadata = None,
    unset_metadata: UnsetMetadata = None,
    is_replacing: Replace = False,
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="Change this version only, as `jobs show` has it.")
    ] = None,
    api_url: ApiUrl = "",
    token: ApiToken = "",
    as_json: AsJson = False,
) -> None:
    """Change settings of a job; what is not given stays as it is, also single settings and metadata."""
    given = locals()
    fields = _changes({name: given[name] for name in _CHANGED})
    with open_api(api_url, token, options={**OPTION_OF_FIELD, "url": "--start"}) as api:
        _resolve_source(api, fields)
        etag = f'"{version}"' if version is not None else ""
        change = api.jobs.change if is_replacing else api.jobs.patch
        _print_job(change(find_job(api, job).id, etag=etag, **fields), as_json=as_json)


@app.command()
def delete(
    job: Job, yes: Yes = False, api_url: ApiUrl = "", token: ApiToken = "", as_json: AsJson = False
) -> None:
    """Delete a job with its history. Stored pages stay. This cannot be undone."""
    with open_api(api_url, token) as api:
        found = find_job(api, job)
        confirm(f"Delete job {_full_name(found)} with its history? This cannot be undone.", is_confirmed=yes)
        api.jobs.delete(found.id)
    if as_json:
        print_json({"id": found.id, "deleted": True})
    else:
        print_text(f"job {found.id} is deleted")


@app.command()
def run(job: Job, api_url: ApiUrl = "", token: ApiToken = "", as_json: AsJson = False) -> None:
    """Run a scheduled job now; its rhythm stays as it is."""
    with open_api(api_url, token) as api:
        _print_job(api.jobs.force_run(find_job(api, job).id), as_json=as_json)


@app.command()
def pause(job: Job, api_url: ApiUrl = "", token: ApiToken = "", as_json: AsJson = False) -> None:
    """Pause a scheduled job until it is resumed."""
    with open_api(api_url, token) as api:
        _print_job(api.jobs.pause(find_job(api, job).id), as_json=as_json)


@app.command()
def resume(job: Job, api_url: ApiUrl = "", token: ApiToken = "", as_json: AsJson = False) -> None:
    """Resume a paused job, in the least loaded quarter of an hour."""
    with open_api(api_url, token) as api:
        _print_job(api.jobs.resume(find_job(api, job).id), as_json=as_json)


@app.command()
def cancel(
    job: Job, yes: Yes = False, api_url: ApiUrl = "", token: ApiToken = "", as_json: AsJson = False
) -> None:
    """Cancel a job for good; a run of it is stopped. This cannot be undone."""
    with open_api(api_url, token) as api:
        found = find_job(api, job)
        confirm(f"Cancel job {_full_name(found)} and its run? This cannot be undone.", is_confirmed=yes)
        _print_job(api.jobs.cancel(found.id), as_json=as_json)


@app.command()
def retry(job: Job, api_url: ApiUrl = "", token: ApiToken = "", as_json: AsJson = False) -> None:
    """Run a failed job again, with all of its retries."""
    with open_api(api_url, token) as api:
        _print_job(api.jobs.retry(find_job(api, job).id), as_json=as_json)


app.command("logs")(print_job_logs)


@app.command()
def runs(
    job: Job, limit: Limit = 20, api_url: ApiUrl = "", token: ApiToken = "", as_json: AsJson = False
) -> None:
    """List the runs of a job, newest first; `strider runs show` has the state of one in the frontier."""
    with open_api(api_url, token) as api:
        executions = list(api.jobs.executions(find_job(api, job).id, limit=limit + 1))
        under_way = [] if as_json else [each for each in executions if not each.has_ended]
        runs_now = {each.id: find_progress(api, each) for each in under_way}
    if len(executions) > limit:
        print_status(f"there are more than {counted(limit, 'run')}; list more with -n, {MAX_LISTED} at most")
        del executions[limit:]
    print_listing(
        [execution.document() for execution in executions],
        EXECUTION_HEADERS,
        [execution_row(execution, runs_now.get(execution.id, "")) for execution in executions],
        as_json=as_json,
        empty="no runs yet",
        wrapped=(EXECUTION_HEADERS[-1],),
    )


def _resolve_source(api: StriderClient, fields: dict[str, Any]) -> None:
    if source := fields.get("source_id"):
        fields["source_id"] = find_source_id(api, source)


def _full_name(job: RemoteJob) -> str:
    return f"{job.id} ({job.name})" if job.name else job.id


def _changes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changed fields of the options of `edit`."""
    rest = {name: value for name, value in given.items() if name not in {"url", "is_replacing"}}
    fields = _settings(**{name: value for name, value in rest.items() if value is not None})
    if given["url"]:
        fields["url"] = given["url"]
    if given["is_replacing"]:
        if given["unset"] or given["unset_metadata"]:
            fail("--replace removes what is not given; leave out --unset", CommandExit.USAGE)
        fields = {"crawl_settings": {}, "metadata": {}, **fields}
    if not fields:
        fail("nothing to change is given; see: strider jobs edit --help", CommandExit.USAGE)
    return fields


def _settings(**given: Any) -> dict[str, Any]:
    try:
        return job_settings(**given)
    except OptionFault as fault:
        fail(str(fault), CommandExit.USAGE)


def _print_job(job: RemoteJob, *, as_json: bool) -> None:
    if as_json:
        print_json(job.document())
    else:
        print_text(action_text(job))
