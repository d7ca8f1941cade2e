"""Crawl specs and sources: every field can be set in some way and is read by something, or is listed here.

A field without a way to set it is dead; one that nothing reads is a promise that is not kept. Readers are
found as attributes of what the code calls `spec`, and of `source` where `SourceSaved` is known.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import typer

from strider.api.routes.seeds import seed_schema
from strider.api.routes.sources import source_schema
from strider.cli.commands.seeds import app as seeds_commands
from strider.cli.crawl.options import CrawlOptions, plan_crawl
from strider.cli.sources.typed_fields import parse_settings
from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted, SourceSaved
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.contracts.specs.crawl_specs import spec_from_seed
from strider.contracts.specs.fields import FIELD_READERS, PLANNED_FIELDS
from strider.crawl.sources.documents import FIELDS, WRITTEN_HERE, changed_source
from strider.crawl.sources.spec_mapping import SOURCE_SETTINGS

from .rules import sources

ROOT = Path(__file__).parents[2]
PLACE = "http://127.0.0.1/"

SPEC_INTERNAL = frozenset({"crawl_spec_id"})
"""Derived from the others."""
SOURCE_INTERNAL = WRITTEN_HERE
"""Written by the code that saves it."""
SOURCE_FOR_PEOPLE = frozenset({"metadata"})
"""Free text that the api and `strider sources show` print; nothing follows from it."""

NO_OPTION = frozenset({"crawl_spec_id", "kind", "seed_id", "source_id", "submitted_at_ms", "submitted_by"})
"""Fields of a seed that `strider seeds add` takes in documents only, or fills in itself."""
CALLED = {
    "urls": "url",
    "job": "job_id",
    "extract": "extraction",
    "header": "headers",
    "waits": "close",
    "spec_file": "spec",
    "settings": "spec",
}
"""Option of `strider seeds add` -> field of the seed, where they differ."""


LIMITED_FOR_RAW_SEEDS = frozenset({"delay_seconds", "headers"})
"""Fields of a spec that link-ingestion compares with limits, and that others apply."""

SETTINGS: Mapping[str, list[Any]] = {
    **{name: [["other.test"]] for name in ("hosts", "insecure_tls_hosts", "domains")},
    "path_prefixes": [["/a"]],
    "schemes": [["https"]],
    "allowed_ports": [[443]],
    "refused_file_types": [["pdf"]],
    "user_agent": ["Other/1"],
    "accept_language": ["de"],
    "parser": ["amazon"],
    "validation_rules": ["strict"],
    "change_basis": ["raw"],
    "rendering": ["always"],
    "labels": [{"team": "a"}],
    "headers": [{"X-Mark": "1"}],
}
"""Values of fields of the spec whose form `other_values` does not have."""


def names(event: type[Any]) -> set[str]:
    return {field.name for field in fields(event)}


def schema_names(name: str) -> set[str]:
    (path,) = (ROOT / "schemas" / "avro").glob(f"{name}.v*.avsc")
    return {field["name"] for field in json.loads(path.read_text(encoding="utf-8"))["fields"]}


def changed(before: CrawlSpecDeclared, after: CrawlSpecDeclared) -> set[str]:
    return {name for name in names(CrawlSpecDeclared) if getattr(before, name) != getattr(after, name)}


def other_values(value: Any, name: str) -> Iterator[Any]:
    """Return values of the same type that a field could have instead."""
    words = {"scope": "any", "extraction": "records", "extract": "records"}
    if name in words:
        yield words[name]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        yield from (type(value)(2), type(value)(0))
    elif value is None:
        yield 2
    elif name == "headers":
        yield ("X-Mark: 1",) if isinstance(value, tuple) else {"X-Mark": "1"}
    elif isinstance(value, tuple):
        yield ("*/other/*",)


def set_by_seeds() -> set[str]:
    """Return the fields of the spec that follow from any field of a seed, `spec` included."""
    seed = SeedSubmitted(url=PLACE)
    return {
        found
        for field in fields(SeedSubmitted)
        if field.name != "spec"
        for value in other_values(getattr(seed, field.name), field.name)
        for found in changed(spec_from_seed(seed), spec_from_seed(replace(seed, **{field.name: value})))
    } | set_by_settings()


def set_by_settings() -> set[str]:
    """Return the fields of the spec that the field `spec` of a JSON seed sets."""
    codec, default = Codec(SchemaStore.bundled()), CrawlSpecDeclared(crawl_spec_id="")
    found: set[str] = set()
    for name in names(CrawlSpecDeclared) - SPEC_INTERNAL:
        for value in SETTINGS.get(name) or other_values(getattr(default, name), name):
            document = json.dumps({"url": PLACE, "spec": {name: value}}, default=dict)
            try:
                seed = codec.decode(SEEDS_SUBMITTED, document.encode())
            except DecodeError:
                continue  # a value out of range, or one that asks for what does not exist yet
            found |= changed(default, spec_from_seed(seed)) & {name}
    return found


def set_by_crawl_command() -> set[str]:
    """Return the fields of the spec that follow from any option of `strider crawl`."""
    asked = CrawlOptions(urls=(PLACE,), allow_private=True)
    spec = plan_crawl(asked).request.spec
    return {
        found
        for field in fields(CrawlOptions)
        if field.name not in {"urls", "from_file", "resume", "output", "spec_file", "named"}
        for value in other_values(getattr(asked, field.name), field.name)
        for found in changed(spec, plan_crawl(replace(asked, **{field.name: value})).request.spec)
    }


def _last_word(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _trees(within: str) -> Iterator[ast.Module]:
    shipped = sources.shipped(ROOT)
    yield from (sources.tree(path) for path in shipped if f"/{within}" in f"/{path.relative_to(ROOT)}")


def read_of(word: str, *, known: str = "", within: str = "") -> set[str]:
    """Return the attributes that are read of whatever has this name, in modules that know a class, or within
    a folder.
    """
    return {
        node.attr
        for tree in _trees(within)
        if not known or known in {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        if _last_word(node.value) == word
    }


def changed_by_documents() -> set[str]:
    """Return the fields of a source that follow from any field of a document."""
    source = SourceSaved("s", "s", PLACE, delay_seconds=1.0)
    words = {
        "name": "other",
        "url": f"{PLACE}other",
        "change_basis": "raw",
        "parser": "amazon",
        **{key: [f"{PLACE}other"] for key in ("start_urls", "feed_urls", "sitemap_urls")},
        "domains": ["other.test"],
        "metadata": {"team": "news"},
    }
    found = set()
    for name in FIELDS:
        before = getattr(source, name)
        value = words.get(name) or next(v for v in other_values(before, name) if v != before)
        after = changed_source(source, {name: value}, allow_private=True)
        found |= {field for field in names(SourceSaved) if getattr(source, field) != getattr(after, field)}
    return found


def typed_as_options() -> set[str]:
    """Return the fields that `strider sources add --set` takes."""
    return {name for name in FIELDS if parse_settings([f"{name}=1"]).keys() == {name}}


@pytest.mark.req("S5.3.8", part="fields of crawl specs against seeds and `strider crawl`")
def test_every_field_of_a_spec_can_be_set_or_stands_open() -> None:
    """By running what makes a spec of a seed and of a command, with each field changed in turn."""
    ways = set_by_seeds() | set_by_crawl_command()
    default = CrawlSpecDeclared(crawl_spec_id="")
    fixed = {
        name
        for name, planned in PLANNED_FIELDS.items()
        if planned.without_effect == (getattr(default, name),)
    }

    assert schema_names("crawl-spec-declared") == names(CrawlSpecDeclared)
    assert names(CrawlSpecDeclared) - ways - SPEC_INTERNAL == fixed


@pytest.mark.req("S5.3.8", part="fields of crawl specs against the code that reads them")
def test_every_field_of_a_spec_is_read_or_declared_as_planned() -> None:
    """What is set and not obeyed misleads the operator who set it."""
    unread = names(CrawlSpecDeclared) - read_of("spec")

    assert unread == PLANNED_FIELDS.keys()
    assert FIELD_READERS.keys() == names(CrawlSpecDeclared) - SPEC_INTERNAL - PLANNED_FIELDS.keys()


@pytest.mark.parametrize("service", ["link-ingestion", "scheduler", "parser", "validator", "indexer"])
def test_the_readers_of_fields_are_those_that_are_declared(service: str) -> None:
    """The pages and commands that name them are written from the declaration."""
    declared = {name for name, readers in FIELD_READERS.items() if service in readers}

    read = read_of("spec", within=f"services/{service}/") - SPEC_INTERNAL

    assert declared <= read
    assert read - declared <= (LIMITED_FOR_RAW_SEEDS if service == "link-ingestion" else set())


@pytest.mark.req("S5.3.8", part="fields of sources against documents, the api and the commands")
def test_every_field_of_a_source_can_be_set_by_the_api_and_by_the_command() -> None:
    """By running what makes a source of a document, with each field changed in turn."""
    settable = names(SourceSaved) - SOURCE_INTERNAL

    assert schema_names("source-saved") == names(SourceSaved)
    assert changed_by_documents() == settable
    assert source_schema()["properties"].keys() == settable
    assert typed_as_options() == settable


@pytest.mark.req("S5.3.8", part="fields of sources against the code that reads them")
def test_every_field_of_a_source_is_read() -> None:
    """What is set and not obeyed misleads the operator who set it."""
    read = read_of("source", known="SourceSaved")

    assert names(SourceSaved) - read - SOURCE_INTERNAL <= SOURCE_FOR_PEOPLE


@pytest.mark.req("S5.3.8", part="settings of sources against the crawl specs that follow from them")
def test_every_setting_of_a_source_is_declared_with_what_follows_from_it() -> None:
    """The table in docs/sources.md is that of the code."""
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")

    assert {name for own in SOURCE_SETTINGS.values() for name in own} <= names(SourceSaved)
    assert SOURCE_SETTINGS.keys() <= names(CrawlSpecDeclared)
    for name in FIELDS:
        assert f"| `{name}` |" in page, f"docs/sources.md does not name {name}"


@pytest.mark.req(
    "S5.3.8", part="fields of seeds against the options of the command and the schema of the API"
)
def test_every_field_of_a_seed_has_its_option_and_its_place_in_the_api() -> None:
    """JSON, Avro, API and command are four ways to say one thing."""
    command = typer.main.get_command(seeds_commands).commands["add"]  # type: ignore[attr-defined]
    options = {CALLED.get(param.name, param.name) for param in command.params}

    assert schema_names("seed-submitted") == names(SeedSubmitted)
    assert seed_schema()["properties"].keys() == names(SeedSubmitted)
    assert names(SeedSubmitted) - options == NO_OPTION
