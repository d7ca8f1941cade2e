"""strider specs: list, show and declare crawl specs; list fields and defaults.

A crawl spec is the settings of a run, under the hash of its content. Exit code 1 of `show`: there is none
with this id.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from strider.cli.arguments import closest
from strider.cli.connections import REQUEST_TIMEOUT_SECONDS, BrokerTarget, MissingTopic, run_with_broker
from strider.cli.exit_codes import CommandExit
from strider.cli.frontier.client import PUBLISHER
from strider.cli.options import AsJson, Bootstrap
from strider.cli.output import fail, json_text, print_json, print_listing, print_table, print_text
from strider.cli.seeds.spec_files import InvalidSettings, parse_assignments, read_spec_file
from strider.cli.seeds.spec_reference import FieldReference, field_references
from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.generated.topics import CRAWL_SPECS
from strider.contracts.specs.crawl_specs import SpecLayer, changed_settings, combine_layers
from strider.contracts.specs.fields import conflict_fault
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.effects import Publish
from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import Bus, Clock, TopicPartition
from strider.politeness import header_fault, is_sensitive_header, parse_encrypted, personal_headers
from strider.runtime.clocks import SystemClock
from strider.runtime.publishing.publisher import EventPublisher
from strider.urls import spec_scope_fault

MIN_PREFIX_CHARS: Final = 6
"""Of an id that is not given whole."""

HIDDEN: Final = "[hidden]"

app = typer.Typer(no_args_is_help=True, help="List, show and declare crawl specs, the settings of runs.")


@app.callback()
def group() -> None:
    """List, show and declare crawl specs, the settings of runs."""


@app.command("list")
def list_specs(bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """List the crawl specs that are declared, with the settings that differ from the defaults."""
    specs = sorted(run_with_broker(bootstrap, _load), key=lambda spec: spec.crawl_spec_id)
    settings = [shown_settings(spec) for spec in specs]
    print_listing(
        [
            {"crawl_spec_id": spec.crawl_spec_id, "settings": each}
            for spec, each in zip(specs, settings, strict=True)
        ],
        ("crawl spec", "settings"),
        [
            (spec.crawl_spec_id, json_text(each, ascii_only=False) if each else "all defaults")
            for spec, each in zip(specs, settings, strict=True)
        ],
        as_json=as_json,
        empty="no crawl specs are declared",
        wrapped=("settings",),
    )


@app.command()
def show(
    spec_id: Annotated[
        str, typer.Argument(metavar="ID", help="A crawl spec, or the first characters of its id.")
    ],
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """Show the settings of a crawl spec that differ from the defaults."""
    specs = run_with_broker(bootstrap, _load)
    spec = _find(specs, spec_id)
    settings = shown_settings(spec)
    if as_json:
        print_json({"crawl_spec_id": spec.crawl_spec_id, "settings": settings}, ascii_only=False)
        return
    print_text(spec.crawl_spec_id)
    rows = [(name, json_text(value, ascii_only=False)) for name, value in settings.items()]
    print_table(("field", "value"), rows, wrapped=("value",)) if rows else print_text("all defaults")


@app.command()
def declare(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Settings, as JSON (*.json) or YAML.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting, such as max_depth=2; repeatable."),
    ] = None,
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """Declare a crawl spec, and print its id, which seeds name in `crawl_spec_id`."""
    if file is None and not assignments:
        fail("no settings are given; name a FILE, or --set NAME=VALUE", CommandExit.USAGE)
    try:
        spec = spec_from_settings(file, assignments or ())
    except InvalidSettings as failure:
        fail(str(failure), CommandExit.USAGE)
    is_new = run_with_broker(bootstrap, lambda target: _declare(target, spec))
    if as_json:
        print_json({"crawl_spec_id": spec.crawl_spec_id, "is_new": is_new})
    else:
        print_text(spec.crawl_spec_id)


@app.command()
def defaults(as_json: AsJson = False) -> None:
    """List the fields of crawl specs: default, allowed values, who may set each, who reads it."""
    found = field_references()
    print_listing(
        [each.to_json() for each in found],
        ("field", "default", "allowed", "raw seeds", "read by", "meaning"),
        [_row(each) for each in found],
        as_json=as_json,
        empty="no fields",
        wrapped=("allowed", "read by", "meaning"),
    )


def spec_from_settings(file: Path | None, assignments: Sequence[str]) -> CrawlSpecDeclared:
    """Return the spec of a file and options, which come first; raises InvalidSettings."""
    layers = [SpecLayer("file", read_spec_file(file))] if file is not None else []
    spec = combine_layers([*layers, SpecLayer("--set", parse_assignments(assignments))]).spec
    place = f"{file}: " if file is not None else ""
    if names := personal_headers(spec.headers):
        raise InvalidSettings(
            f"{place}headers: {names[0]} is a personal header, which is for the site of one seed; give it "
            "with the seed (`strider seeds add --header`)"
        )
    if fault := spec_scope_fault(spec) or header_fault(spec.headers) or conflict_fault(spec):
        raise InvalidSettings(f"{place}{fault}")
    return spec


def shown_settings(spec: CrawlSpecDeclared) -> dict[str, Any]:
    """Return what differs from the defaults, without the values of personal headers."""
    settings = changed_settings(spec)
    if "headers" in settings:
        settings["headers"] = {name: _shown_header(name, value) for name, value in spec.headers.items()}
    if spec.labels:
        settings["labels"] = dict(spec.labels)
    return settings


def _shown_header(name: str, value: str) -> str:
    if not is_sensitive_header(name):
        return value
    encrypted = parse_encrypted(value)
    return HIDDEN if encrypted is None else f"[encrypted for {', '.join(encrypted.origins)}]"


def _row(field: FieldReference) -> tuple[str, ...]:
    return field.name, field.default, field.allowed, field.raw, field.readers, field.meaning


def _find(specs: Sequence[CrawlSpecDeclared], spec_id: str) -> CrawlSpecDeclared:
    wanted = spec_id.strip().lower()
    found = [spec for spec in specs if spec.crawl_spec_id == wanted]
    if not found and len(wanted) >= MIN_PREFIX_CHARS:
        found = [spec for spec in specs if spec.crawl_spec_id.startswith(wanted)]
    if len(found) > 1:
        fail(f"{spec_id} is the beginning of {len(found)} ids; give more of it", CommandExit.USAGE)
    if not found:
        near = closest(wanted, [spec.crawl_spec_id for spec in specs])
        hint = f"did you mean {near}?" if near else "list them with: strider specs list"
        fail(f"no crawl spec {spec_id!r}; {hint}", CommandExit.FAILED)
    return found[0]


async def load_specs(bus: Bus, codec: Codec, *, clock: Clock) -> list[CrawlSpecDeclared]:
    """Read all crawl specs, each once; undecodable ones are left out, the services report them."""
    if not await bus.partition_count(CRAWL_SPECS.name):
        raise MissingTopic(CRAWL_SPECS.name)
    reader = CompactedTableReader(bus, clock=clock, stall_seconds=REQUEST_TIMEOUT_SECONDS)
    table = await reader.load([TopicPartition(CRAWL_SPECS.name, 0)], key=bytes, value=bytes)
    found: dict[str, CrawlSpecDeclared] = {}
    for value in table.values():
        try:
            spec = codec.decode(CRAWL_SPECS, value)
        except DecodeError:
            continue
        found.setdefault(spec.crawl_spec_id, spec)
    return list(found.values())


async def declare_spec(bus: Bus, codec: Codec, spec: CrawlSpecDeclared, *, clock: Clock) -> bool:
    """Declare a spec unless it was declared in the last month; returns whether there was none."""
    if not await bus.partition_count(CRAWL_SPECS.name):
        raise MissingTopic(CRAWL_SPECS.name)
    specs = CrawlSpecCache(bus, codec, clock=clock)
    publisher = EventPublisher(bus, codec, service=PUBLISHER, shards=1, clock=clock)
    try:
        is_new = not await specs.known((spec.crawl_spec_id,))
        declaration = Publish(CRAWL_SPECS, spec) if is_new else specs.declaration(spec)
        await publisher.publish([] if declaration is None else [declaration])
        return is_new
    finally:
        await publisher.close()
        await specs.close()


async def _load(target: BrokerTarget) -> list[CrawlSpecDeclared]:
    bus = KafkaBus(target.connection)
    try:
        return await load_specs(bus, Codec(SchemaStore.bundled()), clock=SystemClock())
    finally:
        await bus.close()


async def _declare(target: BrokerTarget, spec: CrawlSpecDeclared) -> bool:
    bus = KafkaBus(target.connection)
    try:
        return await declare_spec(bus, Codec(SchemaStore.bundled()), spec, clock=SystemClock())
    finally:
        await bus.close()
