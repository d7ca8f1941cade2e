"""strider topics: what is declared, what the broker has, and what is in it.

Prints what `strider.messaging.topics` finds and does. Exit codes: 0 all is as declared, 1 it is not
(or something was refused), 2 wrong words or settings, 3 the broker does not answer.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from strider.contracts import TOPICS
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.codegen.asyncapi import render_asyncapi
from strider.contracts.codegen.markdown import render_markdown
from strider.contracts.codegen.strimzi import render_strimzi
from strider.messaging.kafka import KafkaBus
from strider.messaging.schema_topic import SchemaFinder
from strider.messaging.topics import TopicApplyReport, TopicPlan, apply_topics, compare_topics, select_topics
from strider.messaging.topics.tail import TailOptions, TopicTail

from .options import AsJson, Bootstrap
from .topics_broker import EXIT_FOUND, EXIT_USAGE, Target, fail, open_registry, run_on_broker
from .topics_lines import check_where, parse_since, parse_where, render_line

app = typer.Typer(no_args_is_help=True, help="Create, compare and read topics.")

Examples = Annotated[bool, typer.Option("--examples", help="With the topics that only the examples use.")]


def _replicas(value: int) -> int:
    if value == 0:
        raise typer.BadParameter("say 1 or more, or -1 for what the broker is set to")
    return value


class Form(StrEnum):
    """What the registry can be rendered as."""

    STRIMZI = "strimzi"
    ASYNCAPI = "asyncapi"
    MARKDOWN = "markdown"


_LONGEST_WORD: Final = len("link-ingestion,")
_RENDER: Final = {
    Form.STRIMZI: render_strimzi,
    Form.ASYNCAPI: render_asyncapi,
    Form.MARKDOWN: render_markdown,
}


@app.command()
def apply(
    bootstrap: Bootstrap = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    examples: Examples = False,
    replication: Annotated[
        int,
        typer.Option(
            min=-1, max=32767, callback=_replicas, help="Replicas of new topics; -1: as the broker is set."
        ),
    ] = -1,
    as_json: AsJson = False,
) -> None:
    """Create what is missing, change settings that differ, give each group its first offsets."""

    async def work(target: Target) -> TopicApplyReport:
        topics = select_topics(examples=examples)
        shards = target.settings.run.shards
        if dry_run:
            return TopicApplyReport(*await compare_topics(target.connection, topics, shards=shards))
        return await apply_topics(target.connection, topics, shards=shards, replication=replication)

    report = run_on_broker(bootstrap, work)
    _print_report(report, as_json=as_json, would="would " if dry_run else "")
    raise typer.Exit(0 if report.is_complete else EXIT_FOUND)


@app.command()
def diff(bootstrap: Bootstrap = "", examples: Examples = False, as_json: AsJson = False) -> None:
    """Say where the broker differs from what is declared; exit code 1 where it does."""

    async def work(target: Target) -> TopicApplyReport:
        topics = select_topics(examples=examples)
        return TopicApplyReport(
            *await compare_topics(target.connection, topics, shards=target.settings.run.shards)
        )

    report = run_on_broker(bootstrap, work)
    _print_report(report, as_json=as_json, would="would ")
    raise typer.Exit(EXIT_FOUND if report.plan.has_drift or report.offsets else 0)


@app.command(name="list")
def list_topics(examples: Examples = False, as_json: AsJson = False) -> None:
    """List the declared topics. Asks no broker."""
    topics = select_topics(examples=examples)
    if as_json:
        print(json.dumps([_summary(topic) for topic in topics], indent=1))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("topic", no_wrap=True)
    for title in ("key · by", "kept", "written by", "read by"):
        table.add_column(title, min_width=_LONGEST_WORD if title.endswith("by") else None)
    for topic in topics:
        key = f"{topic.key_name} · {topic.partitioner}"
        table.add_row(topic.name, key, topic.cleanup, ", ".join(topic.writers), ", ".join(topic.readers))
    Console(highlight=False).print(table)


@app.command()
def tail(  # noqa: PLR0917  # typer names the options, nobody counts them
    name: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.")],
    from_offset: Annotated[
        int | None, typer.Option(min=0, help="Begin at this offset of each partition.")
    ] = None,
    since: Annotated[str, typer.Option(help="Begin at a time: 15m, 2h, 1d ago, or ISO 8601.")] = "",
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="Begin at the beginning.")] = False,
    partition: Annotated[list[int] | None, typer.Option(help="Only this partition; repeatable.")] = None,
    where: Annotated[list[str] | None, typer.Option(metavar="FIELD=VALUE", help="Only such events.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many; the newest 10 else.")] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what comes.")] = False,
    bootstrap: Bootstrap = "",
) -> None:
    """Read a topic, decoded, as lines of JSON; what cannot be decoded is a line with the reason."""
    if sum((from_offset is not None, bool(since), from_beginning)) > 1:
        fail("--from-offset, --since and --from-beginning exclude each other", EXIT_USAGE)
    try:
        wish = TailOptions(
            offset=from_offset,
            since=parse_since(since, datetime.now(UTC)) if since else None,
            from_beginning=from_beginning,
            partitions=tuple(partition or ()),
            where=parse_where(where or ()),
            limit=limit,
            follow=follow,
        )
        check_where(wish.where, name, TOPICS.get(name))
    except ValueError as failure:
        fail(str(failure), EXIT_USAGE)
    run_on_broker(bootstrap, lambda target: _print_topic(target, name, wish))


@app.command()
def render(
    form: Annotated[Form, typer.Argument(help="What to render the registry as.")],
) -> None:
    """Print the topics for others: Strimzi resources, an AsyncAPI document, a table for people."""
    print(_RENDER[form](), end="")


async def _print_topic(target: Target, name: str, wish: TailOptions) -> None:
    bus = KafkaBus(target.connection)
    registry = open_registry(target.settings)
    codec = Codec(SchemaStore.bundled())
    schemas = SchemaFinder(bus, codec=codec, registry=registry)
    try:
        async with aclosing(TopicTail(bus, codec, schemas).read(name, TOPICS.get(name), wish)) as lines:
            async for line in lines:
                print(render_line(line, encoding=sys.stdout.encoding or "ascii"), flush=wish.follow)
        sys.stdout.flush()
    except BrokenPipeError:
        # Somebody piped this to `head`: that is how they say "enough".
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        await schemas.close()
        await bus.close()
        if registry is not None:
            await registry.close()


def _print_report(report: TopicApplyReport, *, as_json: bool, would: str) -> None:
    if as_json:
        print(json.dumps(_as_json(report), indent=1))
        return
    for line in _changes(report.plan, would):
        print(line)
    for group, count in report.offsets.items():
        print(f"{would}give {group} its first offsets, on {count} partitions")
    for group, count in report.busy.items():
        print(f"refused: {group} lacks offsets on {count} partitions and has members; stop them, then again")
    for refused in report.plan.refused:
        print(f"refused: {refused.topic} {refused.why}")
    for unknown in report.plan.undeclared:
        print(f"not declared, left alone: {unknown}")
    if not report.plan.has_drift and not report.offsets and not report.busy:
        print("all topics are as they are declared")


def _changes(plan: TopicPlan, would: str) -> list[str]:
    created = [f"{would}create {topic.name} with {topic.partitions} partitions" for topic in plan.create]
    altered = [
        f"{would}change {change.topic}: {setting} from {before or 'nothing'} to {after}"
        for change in plan.alter
        for setting, before, after in change.changes
    ]
    return created + altered


def _as_json(report: TopicApplyReport) -> Mapping[str, Any]:
    plan = report.plan
    return {
        "create": {topic.name: topic.partitions for topic in plan.create},
        "alter": {
            change.topic: {setting: [before, after] for setting, before, after in change.changes}
            for change in plan.alter
        },
        "refused": {refused.topic: refused.why for refused in plan.refused},
        "unknown": list(plan.undeclared),
        "private": list(plan.private),
        "offsets": dict(report.offsets),
        "busy": dict(report.busy),
    }


def _summary(topic: Any) -> Mapping[str, Any]:
    return {
        "name": topic.name,
        "description": topic.description,
        "schema": topic.schema_name,
        "key": topic.key_name,
        "partitioner": topic.partitioner,
        "partitions": topic.partitions,
        "cleanup": topic.cleanup,
        "max_bytes": topic.max_bytes,
        "accepts_json": topic.accepts_json,
        "writers": list(topic.writers),
        "readers": list(topic.readers),
        "config": dict(topic.config),
    }
