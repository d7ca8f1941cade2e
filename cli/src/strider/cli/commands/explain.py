"""strider explain: evaluate each step of the decision about a URL with the live state.

`strider why` prints what was decided; this evaluates the steps again. Exit code 1: the named crawl spec or
source does not exist, or the named job does not have the URL. Exit code 2: no crawler takes the URL.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Annotated

import typer

from strider.cli.arguments import unknown_name
from strider.cli.connections import POSTGRES, BrokerTarget, find_address, run_reported, run_with_broker
from strider.cli.exit_codes import CommandExit
from strider.cli.explain.decision_steps import DecisionStep, UrlEvidence, decision_steps
from strider.cli.explain.lookup import Refusal, find_refusal
from strider.cli.explain.source_settings import SourceSettings, load_source_settings, settings_step
from strider.cli.explain.subject import UrlSubject, parse_subject
from strider.cli.frontier.client import FrontierClient, open_frontier_client
from strider.cli.options import AsJson, Bootstrap
from strider.cli.output import fail, print_json, print_table, print_text, warn
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.contracts.generated.topics import CRAWL_SPECS, FRONTIER
from strider.contracts.partitioning import shard_of_host
from strider.crawl.settings import user_agent
from strider.jobs.sources.models import UnknownSource
from strider.messaging.errors import InfrastructureError
from strider.storage.errors import StoreRejected

from .hosts import load_group, parse_group

app = typer.Typer(add_completion=False)


@app.command()
def explain(  # noqa: PLR0917  # options, which are given by name
    url: Annotated[str, typer.Argument(help="The URL.", metavar="URL")],
    job: Annotated[str, typer.Option("--job", help="Only in this job.", metavar="JOB")] = "",
    spec: Annotated[str, typer.Option("--spec", help="With this crawl spec.", metavar="ID")] = "",
    from_url: Annotated[
        str, typer.Option("--from", help="As a link on this page; else as a seed.", metavar="URL")
    ] = "",
    source: Annotated[
        str, typer.Option("--source", help="As in the runs of this source, and its --job.", metavar="SOURCE")
    ] = "",
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """Show each step of the decision about a URL as it is now, from normalization to politeness."""
    subject = parse_subject(url)
    first = _normalization(subject)
    jobs: dict[str, list[DecisionStep]] = {}
    page = _parse_page(from_url)
    if not subject.refusal:
        settings = _source_settings(source, job, spec)
        applied = settings.spec if settings else spec
        jobs = run_with_broker(bootstrap, lambda target: _load_steps(target, subject, job, applied, page))
        if settings:
            jobs = {name: [settings_step(settings), *found] for name, found in jobs.items()}
    if as_json:
        by_job = {name: [each.to_json() for each in found] for name, found in jobs.items()}
        print_json({"url": subject.url, "normalization": first.to_json(), "jobs": by_job})
    elif not subject.refusal:
        _print_steps([first] if len(jobs) != 1 else [first, *next(iter(jobs.values()))])
        for name, found in jobs.items() if len(jobs) > 1 else ():
            print_text(f"in job {name}:")
            _print_steps(found)
    if subject.refusal:
        fail(subject.refusal, CommandExit.USAGE)


def _parse_page(from_url: str) -> str:
    if not from_url:
        return ""
    page = parse_subject(from_url)
    if page.refusal:
        fail(f"--from: {page.refusal}", CommandExit.USAGE)
    return page.url


def _source_settings(source: str, job: str, spec: str) -> SourceSettings | None:
    """Return the settings of a source; None where none is named."""
    if not source:
        return None
    if spec:
        fail("--spec and --source both name the settings: give one of them", CommandExit.USAGE)
    try:
        return run_reported(lambda: load_source_settings(source, job))
    except UnknownSource as failure:
        fail(f"--source: {failure}", CommandExit.FAILED)


async def _load_steps(
    target: BrokerTarget, subject: UrlSubject, job: str, spec: CrawlSpecDeclared | str, from_url: str
) -> dict[str, list[DecisionStep]]:
    """Return the steps by job; "?" stands for a URL that no job has.

    A URL that was refused has no entry: its rules are those of the decision against it.
    """
    group, crawl = parse_group(target, subject.host), target.settings.crawl
    async with open_frontier_client(target) as frontier:
        entries = await _read_entries(frontier, subject, job)
        specs: list[CrawlSpecDeclared] = await frontier.read_latest(CRAWL_SPECS, [0])
        by_id = {each.crawl_spec_id: each for each in specs}
        run_control = await frontier.load_run_control()
        hosts, live = await load_group(frontier, group)
    refused = None if entries else await _read_refusal(subject, job)
    if isinstance(spec, str):
        _refuse_missing(job, spec, known=[*entries, *filter(None, [refused])], specs=by_id)
    steps: dict[str, list[DecisionStep]] = {}
    found: list[EntryRecorded | None] = [*entries] or [None]
    for entry in found:
        source = entry or refused
        wanted = spec or (source.crawl_spec_id if source else "")
        evidence = UrlEvidence(
            url=subject.url,
            from_url=from_url or _page_of(entry, refused),
            entry=entry,
            spec=by_id.get(wanted) if isinstance(wanted, str) else wanted,
            run_control=run_control,
            hosts=hosts,
            live=live,
            origin=subject.origin,
            agent=user_agent(crawl),
            allow_private=target.allows_private,
            now_ms=live.now_ms if live is not None else round(time.time() * 1000),
            respects_robots=crawl.respect_robots,
            wanted_spec=str(wanted),
            specs=by_id,
        )
        steps[(source.job_id if source else job) or "?"] = list(decision_steps(evidence))
    return steps


def _page_of(entry: EntryRecorded | None, refused: Refusal | None) -> str:
    """Return the page that linked a URL; empty where none is known."""
    return entry.referrer if entry is not None else refused.page_url if refused is not None else ""


async def _read_refusal(subject: UrlSubject, job: str) -> Refusal | None:
    """Return the decision against a URL from the tables, where these can be read."""
    if not (dsn := find_address(POSTGRES)):
        return None
    try:
        return await find_refusal(dsn, subject, job=job)
    except (InfrastructureError, StoreRejected) as failure:
        warn(f"decisions not read, so that the crawl spec is unknown: {failure}")
        return None


def _refuse_missing(job: str, spec_id: str, *, known: Sequence[object], specs: Collection[str]) -> None:
    if error := missing_name(job, spec_id, known=known, specs=specs):
        fail(error, CommandExit.FAILED)


def missing_name(job: str, spec_id: str, *, known: Sequence[object], specs: Collection[str]) -> str:
    """Return the error about a named crawl spec or job that does not exist; empty where each one does."""
    if spec_id and spec_id not in specs:
        return f"--spec: {unknown_name('crawl spec', spec_id, sorted(specs))}"
    return f"--job: no job {job!r} has this URL; leave --job out for all jobs" if job and not known else ""


async def _read_entries(frontier: FrontierClient, subject: UrlSubject, job: str) -> list[EntryRecorded]:
    shard = shard_of_host(subject.host, frontier.shards)
    found = await frontier.read_latest(FRONTIER, [shard], ends=f"/{subject.key}".encode())
    return [entry for entry in found if not job or entry.job_id == job]


def _normalization(subject: UrlSubject) -> DecisionStep:
    if subject.refusal:
        return DecisionStep("normalization", "no", subject.refusal)
    return DecisionStep("normalization", "yes", f"fetched as {subject.url}, key {subject.key}")


def _print_steps(steps: Sequence[DecisionStep]) -> None:
    rows = [(step.step, step.result, step.text) for step in steps]
    print_table(("step", "result", "reason"), rows, wrapped=("reason",))
