"""strider sources: the websites that somebody wants watched.

Exit codes: 0 done, 1 the audit found something that it was not told to mend, 2 wrong usage, 3 the broker
does not answer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Final

import typer

from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import SOURCES
from strider.contracts.seed_limits import DEFAULT_DEPTH
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.effects import Publish
from strider.messaging.errors import Unavailable
from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import Bus, Clock, TopicPartition
from strider.runtime.clocks import SystemClock
from strider.runtime.publishing.publisher import EventPublisher

from .control_asking import SPEAKER, person
from .options import AsJson, Bootstrap
from .topics_broker import EXIT_FOUND, PATIENCE_SECONDS, Target, run_on_broker

SHALLOW: Final = 1
"""Links from a start URL: with fewer than two nothing but its own list is crawled."""

app = typer.Typer(no_args_is_help=True, help="Show what is known of sources, and mend it.")


@app.callback()
def group() -> None:
    """Show what is known of sources, and mend it."""


@app.command("list")
def list_sources(bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """List all sources."""
    _show(run_on_broker(bootstrap, _list), as_json=as_json)


@app.command()
def audit(
    is_raising: Annotated[
        bool, typer.Option("--raise", help=f"Save them with {DEFAULT_DEPTH} links instead.")
    ] = False,
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """List the sources whose start URLs lead nowhere: that follow no link, or one."""
    found = run_on_broker(bootstrap, lambda target: _audit(target, is_raising=is_raising))
    _show(found, as_json=as_json)
    if found and not is_raising:
        raise typer.Exit(EXIT_FOUND)


async def saved_sources(bus: Bus, codec: Codec, *, clock: Clock) -> list[SourceSaved]:
    """Read all sources; those that nobody can read are left out: the schedulers tell of them."""
    if not await bus.partition_count(SOURCES.name):
        raise Unavailable("kafka", f"topic {SOURCES.name} does not exist; run: strider topics apply")
    reader = CompactedTableReader(bus, clock=clock, stall_seconds=PATIENCE_SECONDS)
    table = await reader.load([TopicPartition(SOURCES.name, 0)], key=bytes, value=bytes)
    found = []
    for value in table.values():
        try:
            found.append(codec.decode(SOURCES, value))
        except DecodeError:
            continue
    return sorted(found, key=lambda source: source.source_id)


async def raise_shallow(
    bus: Bus, codec: Codec, *, clock: Clock, now_ms: int, is_raising: bool
) -> list[SourceSaved]:
    """Give the sources that are too shallow; as they are saved anew, where they are."""
    found = [source for source in await saved_sources(bus, codec, clock=clock) if is_shallow(source)]
    if not (found and is_raising):
        return found
    raised = [
        replace(source, max_depth=DEFAULT_DEPTH, updated_at_ms=now_ms, updated_by=person())
        for source in found
    ]
    speaker = EventPublisher(bus, codec, service=SPEAKER, shards=1, clock=clock)
    try:
        await speaker.publish([Publish(SOURCES, source) for source in raised])
    finally:
        await speaker.close()
    return raised


def is_shallow(source: SourceSaved) -> bool:
    """Say whether a source follows no link, or one; 0 is what somebody left out, who may have meant none."""
    return source.max_depth <= SHALLOW


async def _list(target: Target) -> list[SourceSaved]:
    bus = KafkaBus(target.connection)
    try:
        return await saved_sources(bus, Codec(SchemaStore.bundled()), clock=SystemClock())
    finally:
        await bus.close()


async def _audit(target: Target, *, is_raising: bool) -> list[SourceSaved]:
    bus, now_ms = KafkaBus(target.connection), round(time.time() * 1000)
    try:
        return await raise_shallow(
            bus, Codec(SchemaStore.bundled()), clock=SystemClock(), now_ms=now_ms, is_raising=is_raising
        )
    finally:
        await bus.close()


def _show(sources: Sequence[SourceSaved], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([asdict(source) for source in sources], default=dict))
        return
    for source in sources:
        print(f"{source.source_id:<30} max_depth {source.max_depth:<3} {source.url}")
    if not sources:
        print("no source")
