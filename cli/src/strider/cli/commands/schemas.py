"""strider schemas: list, show and check event schemas, start a new version.

Compatibility is `strider.contracts.avro.version_check`'s. Exit code 1: the check has a finding.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from strider.cli.arguments import unknown_name
from strider.cli.exit_codes import CommandExit
from strider.cli.options import AsJson
from strider.cli.output import fail, json_text, print_json, print_listing, print_text, warn
from strider.contracts import TOPICS
from strider.contracts.avro.compatibility import VersionIncompatibility, check_versions
from strider.contracts.avro.resolution import COMPATIBILITY_RULES
from strider.contracts.avro.schema_model import canonical_form, parse_schema_tree
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.codegen.declarations import DeclarationError, Declarations
from strider.contracts.codegen.loader import load_declarations
from strider.contracts.codegen.releases import check_release, new_version_files

app = typer.Typer(no_args_is_help=True, help="Check and show the event schemas.")


@app.command()
def check(
    schemas: Annotated[Path, typer.Option(help="Folder with topics, avro and released.")] = Path("schemas"),
    first_release: Annotated[
        bool, typer.Option("--first-release", help="Accept that no version was released yet.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check that all versions of each event, released ones included, can read each other."""
    _require_schemas(schemas)
    try:
        declarations = load_declarations(schemas)
        check_release(declarations)
    except DeclarationError as failure:
        fail(str(failure), CommandExit.FAILED)
    if not declarations.release.manifest and not first_release:
        fail(
            f"{schemas / 'released' / 'manifest.json'} names no released schema, so nothing can be "
            "compared; before the first release, give --first-release",
            CommandExit.FAILED,
        )
    has_problems = _compare(declarations, as_json=as_json)
    raise typer.Exit(CommandExit.FAILED if has_problems else CommandExit.DONE)


@app.command(name="list")
def list_schemas(as_json: AsJson = False) -> None:
    """List the current schema of each event, and its topics."""
    book = SchemaStore.bundled()
    rows = [
        {
            "name": name,
            "fingerprint": book.current(name).fingerprint.hex(),
            "topics": [topic.name for topic in TOPICS.values() if topic.schema_name == name],
        }
        for name in book.names()
    ]
    print_listing(
        rows,
        ("schema", "fingerprint", "topics"),
        [(str(row["name"]), str(row["fingerprint"]), ", ".join(row["topics"])) for row in rows],
        as_json=as_json,
        empty="no schemas",
        wrapped=("topics",),
    )


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(help="Such as seed-submitted for its newest version, or seed-submitted.v1.")
    ],
    canonical: Annotated[
        bool,
        typer.Option("--canonical", help="Print the canonical form, from which the fingerprint is computed."),
    ] = False,
) -> None:
    """Print a schema: the version that is named, else the newest one."""
    book = SchemaStore.bundled()
    name = _find_schema(book, name)
    schema = json.loads(book.definition(name))
    print_text(
        canonical_form(parse_schema_tree(schema))
        if canonical
        else json_text(schema, indent=2, ascii_only=False)
    )


@app.command(name="new-version")
def new_version(
    event: Annotated[str, typer.Argument(help="Such as page-parsed.")],
    schemas: Annotated[Path, typer.Option(help="Folder with topics, avro and released.")] = Path("schemas"),
) -> None:
    """Start the next version of a released event: its schema, those that contain it, and their topics."""
    _require_schemas(schemas)
    try:
        declarations = load_declarations(schemas)
        events = sorted({each.event for each in declarations.schemas.values()})
        if event not in events:
            fail(unknown_name("event", event, events), CommandExit.USAGE)
        files = new_version_files(declarations, schemas, event)
    except DeclarationError as failure:
        fail(str(failure), CommandExit.FAILED)
    for path, (new_path, text) in files.items():
        path.unlink()
        new_path.write_text(text, encoding="utf-8")
        print_text(f"{path} -> {new_path}" if new_path != path else str(path))


def _require_schemas(schemas: Path) -> None:
    if not (schemas / "avro").is_dir():
        fail(f"{schemas} contains no schemas; give the repository's folder with --schemas", CommandExit.USAGE)


def _find_schema(book: SchemaStore, name: str) -> str:
    """Return the name with its version: the newest one where none was named."""
    event = name.rpartition(".v")[0] or name
    versions = book.versions_of(event)
    if not versions or name not in (event, *versions):
        fail(unknown_name("schema", name, versions or book.names()), CommandExit.USAGE)
    if name != event:
        return name
    warn(f"{versions[-1]} is the newest; there are: {', '.join(versions)}")
    return versions[-1]


def _compare(declarations: Declarations, *, as_json: bool) -> list[VersionIncompatibility]:
    """Compare all versions, and print the problems."""
    released = declarations.release.schemas
    current = {name: schema.resolved for name, schema in declarations.schemas.items()}
    versions: Mapping[str, Any] = {**released, **current}
    problems = check_versions(versions)
    if not as_json:
        _print_problems(problems, released=len(released), current=len(current))
        return problems
    result = {
        "checked": sorted(versions),
        "released": sorted(released),
        "current": sorted(current),
        "problems": [_problem_json(each) for each in problems],
    }
    print_json(result, indent=1)
    return problems


def _print_problems(problems: list[VersionIncompatibility], *, released: int, current: int) -> None:
    for problem in problems:
        print_text(problem)
    for rule in sorted({problem.incompatibility.rule for problem in problems}):
        print_text(f"  {rule}: {COMPATIBILITY_RULES[rule]}")
    if not problems:
        print_text(f"{released} released and {current} current schemas compared: all versions are compatible")


def _problem_json(problem: VersionIncompatibility) -> Mapping[str, str]:
    return {"writer": problem.writer, "reader": problem.reader, **problem.incompatibility._asdict()}
