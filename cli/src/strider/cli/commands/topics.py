"""strider topics: create and compare topics, read their messages.

Prints what `strider.messaging.topics` finds and does. Exit code 1: the broker differs from the declaration,
or a change was refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from strider.cli.arguments import closest
from strider.cli.connections import BrokerTarget, open_schema_registry, run_with_broker
from strider.cli.exit_codes import CommandExit
from strider.cli.messages import check_conditions, message_json, parse_since, parse_where
from strider.cli.options import AsJson, Bootstrap, DryRun
from strider.cli.output import counted, fail, print_json, print_listing, print_text
from strider.contracts import TOPICS, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.codegen.asyncapi import render_asyncapi
from strider.contracts.codegen.markdown import render_markdown
from strider.contracts.codegen.strimzi import render_strimzi
from strider.messaging.errors import StartRefused
from strider.messaging.kafka import KafkaBus
from strider.messaging.schema_topic import SchemaFinder
from strider.messaging.topics import (
    AccessOptions,
    AccessReport,
    TopicApplyReport,
    TopicPlan,
    apply_access,
    apply_topics,
    compare_topics,
    select_topics,
)
from strider.messaging.topics.tail import TailOptions, TopicTail

app = typer.Typer(no_args_is_help=True, help="Create, compare and read topics.")

Examples = Annotated[bool, typer.Option("--examples", help="Include the topics of the example services.")]

Acls = Annotated[bool, typer.Option("--acls", help="Also allow each service what it needs.")]
Prune = Annotated[bool, typer.Option("--prune", help="With --acls: remove what our users need no more.")]
ProducerQuota = Annotated[
    int | None, typer.Option(min=1, metavar="BYTES", help="Bytes a second that each other user may write.")
]


def _replicas(value: int) -> int:
    if value == 0:
        raise typer.BadParameter("expected 1 or more, or -1 for the broker's default")
    return value


class RegistryFormat(StrEnum):
    """Format of the rendered topic declarations."""

    STRIMZI = "strimzi"
    ASYNCAPI = "asyncapi"
    MARKDOWN = "markdown"


_RENDERERS: Final = {
    RegistryFormat.STRIMZI: render_strimzi,
    RegistryFormat.ASYNCAPI: render_asyncapi,
    RegistryFormat.MARKDOWN: render_markdown,
}


@app.command()
def apply(  # noqa: PLR0917  # options, which are given by name
    bootstrap: Bootstrap = "",
    dry_run: DryRun = False,
    examples: Examples = False,
    replication: Annotated[
        int,
        typer.Option(
            min=-1, max=32767, callback=_replicas, help="Replicas of new topics; -1: the broker's default."
        ),
    ] = -1,
    acls: Acls = False,
    prune: Prune = False,
    producer_quota: ProducerQuota = None,
    as_json: AsJson = False,
) -> None:
    """Create missing topics, change settings that differ, commit first offsets for each group."""
    wanted = AccessOptions(acls=acls, prunes=prune, producer_quota=producer_quota)
    if prune and not acls:
        fail("--prune needs --acls", CommandExit.USAGE)

    async def work(target: BrokerTarget) -> tuple[TopicApplyReport, AccessReport | None]:
        topics, connection = select_topics(examples=examples), target.connection
        if dry_run:
            report = await _compare(target, topics)
        else:
            sizes = {"shards": target.shards, "page_bytes": target.page_bytes}
            report = await apply_topics(connection, topics, replication=replication, **sizes)
        if wanted.is_empty:
            return report, None
        return report, await apply_access(connection, topics, wanted, dry_run=dry_run)

    report, access = run_with_broker(bootstrap, work)
    would = "would " if dry_run else ""
    if as_json:
        print_json({**_report_json(report), **(_access_json(access) if access else {})}, indent=1)
    else:
        _print_report(report, would=would)
        _print_access(access, would=would)
    raise typer.Exit(CommandExit.DONE if report.is_complete else CommandExit.FAILED)


@app.command()
def diff(bootstrap: Bootstrap = "", examples: Examples = False, as_json: AsJson = False) -> None:
    """Print where the broker differs from the declaration; exit code 1 where it does."""

    async def work(target: BrokerTarget) -> TopicApplyReport:
        return await _compare(target, select_topics(examples=examples))

    report = run_with_broker(bootstrap, work)
    if as_json:
        print_json(_report_json(report), indent=1)
    else:
        _print_report(report, would="would ")
    differs = report.plan.has_drift or report.offsets
    raise typer.Exit(CommandExit.FAILED if differs else CommandExit.DONE)


async def _compare(target: BrokerTarget, topics: Sequence[Topic[Any]]) -> TopicApplyReport:
    plan = await compare_topics(target.connection, topics, shards=target.shards, page_bytes=target.page_bytes)
    return TopicApplyReport(*plan)


@app.command(name="list")
def list_topics(examples: Examples = False, as_json: AsJson = False) -> None:
    """List the declared topics; connects to no broker."""
    topics = select_topics(examples=examples)
    rows = [
        (
            topic.name,
            f"{topic.key_name} · {topic.partitioner}",
            topic.cleanup,
            ", ".join((*topic.writers, *_planned(topic.planned_writers))),
            ", ".join((*topic.readers, *_planned(planned_readers(topic)))),
        )
        for topic in topics
    ]
    print_listing(
        [_topic_json(topic) for topic in topics],
        ("topic", "key · by", "cleanup", "written by", "read by"),
        rows,
        as_json=as_json,
        empty="no topics",
        wrapped=("topic", "key · by", "written by", "read by"),
    )


@app.command()
def tail(  # noqa: PLR0917  # options, which are given by name
    name: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.")],
    from_offset: Annotated[
        int | None, typer.Option(min=0, help="Start at this offset of each partition.")
    ] = None,
    since: Annotated[str, typer.Option(help="Start at a time: 15m, 2h, 1d ago, or ISO 8601.")] = "",
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="Start at the beginning.")] = False,
    partition: Annotated[list[int] | None, typer.Option(help="Only this partition; repeatable.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=VALUE", help="Only events with this value; repeatable.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Number of messages; default: the last 10.")
    ] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing new messages.")] = False,
    bootstrap: Bootstrap = "",
) -> None:
    """Print the messages of a topic, decoded, as JSON lines; an undecodable one with the reason."""
    if sum((from_offset is not None, bool(since), from_beginning)) > 1:
        fail("--from-offset, --since and --from-beginning exclude each other", CommandExit.USAGE)
    try:
        options = TailOptions(
            offset=from_offset,
            since=parse_since(since, datetime.now(UTC)) if since else None,
            from_beginning=from_beginning,
            partitions=tuple(partition or ()),
            where=parse_where(where or ()),
            limit=limit,
            follow=follow,
        )
        check_conditions(options.where, name, TOPICS.get(name))
    except ValueError as failure:
        fail(str(failure), CommandExit.USAGE)
    run_with_broker(bootstrap, lambda target: _print_messages(target, name, options))


@app.command()
def render(
    form: Annotated[RegistryFormat, typer.Argument(help="Format.", metavar="FORMAT")],
) -> None:
    """Print the topic declarations as Strimzi resources, as AsyncAPI, or as a Markdown table."""
    print_text(_RENDERERS[form](), end="")


async def _print_messages(target: BrokerTarget, name: str, options: TailOptions) -> None:
    bus = KafkaBus(target.connection)
    registry = open_schema_registry(target.settings)
    codec = Codec(SchemaStore.bundled())
    schemas = SchemaFinder(bus, codec=codec, registry=registry)
    try:
        async with aclosing(TopicTail(bus, codec, schemas).read(name, TOPICS.get(name), options)) as lines:
            async for line in lines:
                print_text(message_json(line, encoding=sys.stdout.encoding or "ascii"), flush=options.follow)
    except StartRefused as failure:
        near = "" if name in TOPICS else closest(name, TOPICS)
        fail(f"{failure}; did you mean {near}?" if near else str(failure), CommandExit.FAILED)
    finally:
        await schemas.close()
        await bus.close()
        if registry is not None:
            await registry.close()


def _print_report(report: TopicApplyReport, *, would: str) -> None:
    for line in _changes(report.plan, would):
        print_text(line)
    for group, count in report.offsets.items():
        print_text(f"{would}commit first offsets of {group} on {counted(count, 'partition')}")
    for group, count in report.busy.items():
        print_text(
            f"refused: {group} has no offsets on {counted(count, 'partition')} and has members; "
            "stop its service and repeat the command"
        )
    for refused in report.plan.refused:
        print_text(f"refused: {refused.topic} {refused.why}")
    for unknown in report.plan.undeclared:
        print_text(f"not declared, not changed: {unknown}")
    if not report.plan.has_drift and not report.offsets and not report.busy:
        print_text("all topics are as declared")


def _print_access(report: AccessReport | None, *, would: str) -> None:
    if report is None:
        return
    for acl in report.acls.add:
        print_text(f"{would}allow: {acl}")
    for acl in report.acls.undeclared:
        print_text(f"{would}remove: {acl}" if report.is_pruned else f"not declared, not removed: {acl}")
    for user, rate in report.quotas.items():
        print_text(f"{would}set the quota of {user} to {rate:.0f} bytes a second")
    if report.is_empty:
        print_text("all users may do what is declared")


def _access_json(report: AccessReport) -> Mapping[str, Any]:
    return {
        "allow": [str(acl) for acl in report.acls.add],
        "undeclared": [str(acl) for acl in report.acls.undeclared],
        "removed": report.is_pruned,
        "quotas": dict(report.quotas),
    }


def _changes(plan: TopicPlan, would: str) -> list[str]:
    created = [
        f"{would}create {topic.name} with {counted(topic.partitions, 'partition')}" for topic in plan.create
    ]
    altered = [
        f"{would}change {change.topic}: {setting} from {before or 'nothing'} to {after}"
        for change in plan.alter
        for setting, before, after in change.changes
    ]
    return created + altered


def _report_json(report: TopicApplyReport) -> Mapping[str, Any]:
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


def planned_readers(topic: Topic[Any]) -> list[str]:
    """Return the services of which no code reads the topic yet."""
    named = dict.fromkeys(reader.service for reader in topic.read_by if reader.planned)
    return [name for name in named if name not in topic.readers]


def _planned(names: Iterable[str]) -> list[str]:
    return [f"{name} (planned)" for name in names]


def _topic_json(topic: Any) -> Mapping[str, Any]:
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
        "planned_writers": list(topic.planned_writers),
        "readers": list(topic.readers),
        "planned_readers": planned_readers(topic),
        "config": dict(topic.config),
    }
