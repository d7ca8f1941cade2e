"""strider sources: list the configured websites, and find those whose depth is too small.

Exit code 1 of `audit`: it found sources, and was not asked to change them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Final

import typer

from strider.cli.connections import REQUEST_TIMEOUT_SECONDS, BrokerTarget, MissingTopic, run_with_broker
from strider.cli.exit_codes import CommandExit
from strider.cli.frontier.client import PUBLISHER, current_user
from strider.cli.options import AsJson, Bootstrap
from strider.cli.output import print_listing
from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import SOURCES
from strider.contracts.seed_limits import DEFAULT_DEPTH
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.effects import Publish
from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import Bus, Clock, TopicPartition
from strider.runtime.clocks import SystemClock
from strider.runtime.publishing.publisher import EventPublisher

SHALLOW_DEPTH: Final = 1
"""Links from a start URL up to which only the start page's own list is crawled."""

app = typer.Typer(no_args_is_help=True, help="List sources, and find those that are too shallow.")


@app.callback()
def group() -> None:
    """List sources, and find those that are too shallow."""


@app.command("list")
def list_sources(bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """List all sources."""
    _print_sources(run_with_broker(bootstrap, _load), as_json=as_json)


@app.command()
def audit(
    is_raising: Annotated[
        bool, typer.Option("--raise", help=f"Save them with a depth of {DEFAULT_DEPTH} links.")
    ] = False,
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """List the sources that follow no link, or one, from their start URLs."""
    found = run_with_broker(bootstrap, lambda target: _audit(target, is_raising=is_raising))
    _print_sources(found, as_json=as_json)
    if found and not is_raising:
        raise typer.Exit(CommandExit.FAILED)


async def load_sources(bus: Bus, codec: Codec, *, clock: Clock) -> list[SourceSaved]:
    """Read all sources; undecodable ones are left out, the schedulers report them."""
    if not await bus.partition_count(SOURCES.name):
        raise MissingTopic(SOURCES.name)
    reader = CompactedTableReader(bus, clock=clock, stall_seconds=REQUEST_TIMEOUT_SECONDS)
    table = await reader.load([TopicPartition(SOURCES.name, 0)], key=bytes, value=bytes)
    found = []
    for value in table.values():
        try:
            found.append(codec.decode(SOURCES, value))
        except DecodeError:
            continue
    return sorted(found, key=lambda source: source.source_id)


async def deepen_shallow(
    bus: Bus, codec: Codec, *, clock: Clock, now_ms: int, is_raising: bool
) -> list[SourceSaved]:
    """Return the sources that are too shallow; saved with the default depth where `is_raising`."""
    found = [source for source in await load_sources(bus, codec, clock=clock) if is_shallow(source)]
    if not (found and is_raising):
        return found
    raised = [
        replace(source, max_depth=DEFAULT_DEPTH, updated_at_ms=now_ms, updated_by=current_user())
        for source in found
    ]
    publisher = EventPublisher(bus, codec, service=PUBLISHER, shards=1, clock=clock)
    try:
        await publisher.publish([Publish(SOURCES, source) for source in raised])
    finally:
        await publisher.close()
    return raised


def is_shallow(source: SourceSaved) -> bool:
    """Whether a source follows no link, or one; 0 counts, as it may have been meant as "no links"."""
    return source.max_depth <= SHALLOW_DEPTH


async def _load(target: BrokerTarget) -> list[SourceSaved]:
    bus = KafkaBus(target.connection)
    try:
        return await load_sources(bus, Codec(SchemaStore.bundled()), clock=SystemClock())
    finally:
        await bus.close()


async def _audit(target: BrokerTarget, *, is_raising: bool) -> list[SourceSaved]:
    bus, now_ms = KafkaBus(target.connection), round(time.time() * 1000)
    try:
        return await deepen_shallow(
            bus, Codec(SchemaStore.bundled()), clock=SystemClock(), now_ms=now_ms, is_raising=is_raising
        )
    finally:
        await bus.close()


def _print_sources(sources: Sequence[SourceSaved], *, as_json: bool) -> None:
    print_listing(
        [asdict(source) for source in sources],
        ("source", "max_depth", "url"),
        [(source.source_id, str(source.max_depth), source.url) for source in sources],
        as_json=as_json,
        empty="no sources",
        wrapped=("url",),
        default=dict,
    )
