"""strider schemas: which schemas there are, and whether their versions can live side by side.

Judges by `strider.contracts.avro.compatibility`. Exit codes: 0 all is well, 1 there is a finding,
2 wrong words.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from strider.contracts import TOPICS
from strider.contracts.avro.compatibility import VersionIncompatibility, check_versions
from strider.contracts.avro.resolution import COMPATIBILITY_RULES
from strider.contracts.avro.schema_model import canonical_form, parse_schema_tree
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.codegen.declarations import DeclarationError, Declarations
from strider.contracts.codegen.loader import load_declarations
from strider.contracts.codegen.releases import check_release

from .options import AsJson
from .topics_broker import EXIT_FOUND, EXIT_USAGE, fail

app = typer.Typer(no_args_is_help=True, help="Check and show the event schemas.")


@app.command()
def check(
    schemas: Annotated[Path, typer.Option(help="The folder with topics, avro and released.")] = Path(
        "schemas"
    ),
    first_release: Annotated[
        bool, typer.Option("--first-release", help="Nothing was released yet, so there is nothing to keep.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Prove that all versions of each event, released ones included, read each other, both ways."""
    if not (schemas / "avro").is_dir():
        fail(f"{schemas} has no schemas in it: give --schemas, the repository's folder", EXIT_USAGE)
    try:
        declarations = load_declarations(schemas)
        check_release(declarations)
    except DeclarationError as failure:
        fail(str(failure), EXIT_FOUND)
    if not declarations.release.manifest and not first_release:
        fail(
            f"{schemas / 'released' / 'manifest.json'} names no released schema, so nothing can be "
            "compared; where nothing was released yet, give --first-release",
            EXIT_FOUND,
        )
    raise typer.Exit(EXIT_FOUND if _compare(declarations, as_json=as_json) else 0)


@app.command(name="list")
def list_schemas(as_json: AsJson = False) -> None:
    """List the schemas that events are written with now, and where they travel."""
    book = SchemaStore.bundled()
    rows = [
        {
            "name": name,
            "fingerprint": book.current(name).fingerprint.hex(),
            "topics": [topic.name for topic in TOPICS.values() if topic.schema_name == name],
        }
        for name in book.names()
    ]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("schema", no_wrap=True)
    table.add_column("fingerprint", no_wrap=True)
    table.add_column("topics", overflow="fold")
    for row in rows:
        table.add_row(str(row["name"]), str(row["fingerprint"]), ", ".join(row["topics"]))
    Console(highlight=False).print(table)


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(help="Name, such as seed-submitted for its newest version, or seed-submitted.v1.")
    ],
    canonical: Annotated[bool, typer.Option("--canonical", help="The form that is fingerprinted.")] = False,
) -> None:
    """Print a schema: the version that is named, else the newest one."""
    book = SchemaStore.bundled()
    name = _named(book, name)
    schema = json.loads(book.definition(name))
    print(
        canonical_form(parse_schema_tree(schema))
        if canonical
        else json.dumps(schema, indent=2, ensure_ascii=False)
    )


def _named(book: SchemaStore, name: str) -> str:
    """Find the schema that is meant; which versions there are is said where none was named."""
    event = name.rpartition(".v")[0] or name
    versions = book.versions_of(event)
    if not versions or name not in (event, *versions):
        there = ", ".join(versions or book.names())
        fail(f"no schema {name!r}; there are: {there}", EXIT_USAGE)
    if name != event:
        return name
    print(f"strider: {versions[-1]} is the newest; there are: {', '.join(versions)}", file=sys.stderr)
    return versions[-1]


def _compare(declarations: Declarations, *, as_json: bool) -> list[VersionIncompatibility]:
    """Compare all versions, and print what was found."""
    released = declarations.release.schemas
    current = {name: schema.resolved for name, schema in declarations.schemas.items()}
    versions: Mapping[str, Any] = {**released, **current}
    problems = check_versions(versions)
    if not as_json:
        _print_problems(problems, released=len(released), current=len(current))
        return problems
    answer = {
        "checked": sorted(versions),
        "released": sorted(released),
        "current": sorted(current),
        "problems": [_as_json(each) for each in problems],
    }
    print(json.dumps(answer, indent=1))
    return problems


def _print_problems(problems: list[VersionIncompatibility], *, released: int, current: int) -> None:
    for problem in problems:
        print(problem)
    for rule in sorted({problem.incompatibility.rule for problem in problems}):
        print(f"  {rule}: {COMPATIBILITY_RULES[rule]}")
    if not problems:
        print(f"{released} released and {current} current schemas compared: every version reads every other")


def _as_json(problem: VersionIncompatibility) -> Mapping[str, str]:
    return {"writer": problem.writer, "reader": problem.reader, **problem.incompatibility._asdict()}
