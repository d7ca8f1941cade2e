"""strider explain: what the crawler would say to a URL now, step by step.

`strider why` tells what was decided; this asks again, with the live state. Exit codes: 0 it was told, 1 the
crawler takes no such URL, 2 wrong usage, 3 the broker or the working set does not answer.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Annotated

import typer

from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.contracts.generated.topics import CRAWL_SPECS, FRONTIER
from strider.contracts.partitioning import shard_of_host
from strider.crawl.settings import user_agent

from .control_asking import Frontier, open_frontier
from .explain_verdicts import Evidence, Verdict, verdicts
from .hosts import group_named, of_group
from .options import AsJson, Bootstrap
from .topics_broker import EXIT_FOUND, EXIT_USAGE, Target, fail, run_on_broker
from .why_story import Subject, subject_of

app = typer.Typer(add_completion=False)


@app.command()
def explain(  # noqa: PLR0917  # typer names the options, nobody counts them
    url: Annotated[str, typer.Argument(help="The URL, however it is written.", metavar="URL")],
    job: Annotated[str, typer.Option("--job", help="Only in this job.", metavar="JOB")] = "",
    spec: Annotated[str, typer.Option("--spec", help="By this crawl spec.", metavar="ID")] = "",
    from_url: Annotated[str, typer.Option("--from", help="As linked from this page.", metavar="URL")] = "",
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """Show every verdict about a URL, from normalising to politeness, as it would be given now."""
    subject = subject_of(url)
    told = [_normalised(subject)]
    jobs: dict[str, list[Verdict]] = {}
    page = _page(from_url)
    if not subject.refusal:
        jobs = run_on_broker(bootstrap, lambda target: _ask(target, subject, job, spec, page))
    if as_json:
        by_job = {name: [asdict(each) for each in found] for name, found in jobs.items()}
        print(json.dumps({"url": subject.url, "normalise": asdict(told[0]), "jobs": by_job}))
    else:
        _tell(told, jobs)
    if subject.refusal:
        raise typer.Exit(EXIT_FOUND)


def _page(from_url: str) -> str:
    if not from_url:
        return ""
    page = subject_of(from_url)
    if page.refusal:
        fail(f"--from: {page.refusal}", EXIT_USAGE)
    return page.url


async def _ask(
    target: Target, subject: Subject, job: str, spec_id: str, from_url: str
) -> dict[str, list[Verdict]]:
    group = group_named(target, subject.host)
    crawl = target.settings.crawl
    async with open_frontier(target) as frontier:
        entries = await _entries(frontier, subject, job)
        specs: list[CrawlSpecDeclared] = await frontier.latest(CRAWL_SPECS, [0])
        by_id = {spec.crawl_spec_id: spec for spec in specs}
        orders = await frontier.orders()
        hosts, live = await of_group(frontier, group)
        now_ms = live.now_ms if live is not None else round(time.time() * 1000)
        told: dict[str, list[Verdict]] = {}
        found: list[EntryRecorded | None] = [*entries] or [None]
        for entry in found:
            wanted = spec_id or (entry.crawl_spec_id if entry is not None else "")
            evidence = Evidence(
                url=subject.url,
                from_url=from_url or (entry.referrer if entry is not None else ""),
                entry=entry,
                spec=by_id.get(wanted),
                orders=orders,
                hosts=hosts,
                live=live,
                origin=subject.origin,
                agent=user_agent(crawl),
                allow_private=target.allows_private,
                now_ms=now_ms,
                heeds_robots=crawl.respect_robots,
                wanted_spec=spec_id,
            )
            told[entry.job_id if entry is not None else job or "?"] = list(verdicts(evidence))
        return told


async def _entries(frontier: Frontier, subject: Subject, job: str) -> list[EntryRecorded]:
    shard = shard_of_host(subject.host, frontier.shards)
    ends = f"/{subject.key}".encode()
    found = await frontier.latest(FRONTIER, [shard], ends=ends)
    return [entry for entry in found if not job or entry.job_id == job]


def _normalised(subject: Subject) -> Verdict:
    if subject.refusal:
        return Verdict("normalise", "no", subject.refusal)
    return Verdict("normalise", "yes", f"fetched as {subject.url}, known by the key {subject.key}")


def _tell(told: list[Verdict], jobs: dict[str, list[Verdict]]) -> None:
    for verdict in told:
        print(_line(verdict))
    for name, found in jobs.items():
        if len(jobs) > 1:
            print(f"in job {name}:")
        for verdict in found:
            print(_line(verdict))


def _line(verdict: Verdict) -> str:
    return f"{verdict.step:<11} {verdict.word:<8} {verdict.says}"
