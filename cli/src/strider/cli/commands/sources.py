"""strider sources: list, add and change websites to watch.

Exit code 1: there is no such source, another one has the name, or it was changed meanwhile; of `audit`: it
found sources, and was not asked to change them. Exit code 2: a field cannot have the value that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from strider.cli.connections import run_reported
from strider.cli.exit_codes import CommandExit
from strider.cli.options import AsJson, Dsn, Yes
from strider.cli.output import (
    confirm,
    counted,
    fail,
    print_fields,
    print_json,
    print_listing,
    print_text,
    warn,
)
from strider.contracts.seed_limits import DEFAULT_DEPTH

if TYPE_CHECKING:
    from strider.cli.sources.record import SourceRecord
    from strider.contracts.generated.events import SourceSaved
    from strider.jobs.sources.sync import SyncStep

SHALLOW_DEPTH: Final = 1
"""Links from a start URL up to which only the start page's own list is crawled."""

NO_SOURCES: Final = "no sources; add one with: strider sources add NAME URL"

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="List, add and change sources: websites to watch.")

Named = Annotated[str, typer.Argument(metavar="SOURCE", help="Id or name of a source.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="A field, such as max_depth=2; repeatable."),
]
Unset = Annotated[
    list[str] | None,
    typer.Option("--unset", metavar="FIELD", help="A field that gets its default; repeatable."),
]
Version = Annotated[
    int | None, typer.Option("--version", min=1, help="Change only this version, as `show` prints it.")
]


@app.command("list")
def list_sources(
    enabled: Annotated[
        bool | None, typer.Option("--enabled/--disabled", help="Only enabled, or only disabled ones.")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Only those with this part in their name.")] = "",
    as_json: AsJson = False,
    dsn: Dsn = "",
) -> None:
    """List sources, by name."""
    _print_sources(_with_record(dsn, lambda record: record.all(enabled=enabled, name=name)), as_json=as_json)


@app.command()
def show(source: Named, as_json: AsJson = False, dsn: Dsn = "") -> None:
    """Show one source with all its fields."""
    found = _with_record(dsn, lambda record: record.find(source))
    _print_source(found, as_json=as_json)


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name, which no other source has.")],
    url: Annotated[str, typer.Argument(help="First start URL.")],
    settings: Settings = None,
    as_json: AsJson = False,
    dsn: Dsn = "",
) -> None:
    """Add a source; its fields are listed in docs/sources.md."""
    document = {"name": name, "url": url, **_document(settings, ())}
    saved = _with_record(dsn, lambda record: record.editor.add(document, by=record.user))
    _print_saved("added", saved, as_json=as_json)


@app.command()
def edit(  # noqa: PLR0917  # options, which are given by name
    source: Named,
    settings: Settings = None,
    unset: Unset = None,
    version: Version = None,
    as_json: AsJson = False,
    dsn: Dsn = "",
) -> None:
    """Change fields of a source."""
    document = _document(settings, unset or ())
    if not document:
        fail("nothing to change: give --set FIELD=VALUE or --unset FIELD", CommandExit.USAGE)

    async def work(record: SourceRecord) -> SourceSaved:
        from strider.crawl.sources.documents import changed_source  # noqa: PLC0415  # --help is fast

        saved = await record.editor.change(
            (await record.find(source)).source_id,
            lambda stored: changed_source(stored, document, allow_private=record.editor.allow_private),
            by=record.user,
            versions=None if version is None else {version},
        )
        if "enabled" in document:
            await record.sync.align(saved.source_id)
        return saved

    _print_saved("saved", _with_record(dsn, work), as_json=as_json)


@app.command()
def enable(source: Named, as_json: AsJson = False, dsn: Dsn = "") -> None:
    """Enable a source: its jobs run; one is made where it has an interval and no job."""
    _switch(source, dsn, is_enabled=True, as_json=as_json)


@app.command()
def disable(source: Named, as_json: AsJson = False, dsn: Dsn = "") -> None:
    """Disable a source: its scheduled jobs are paused; a run that has started continues."""
    _switch(source, dsn, is_enabled=False, as_json=as_json)


@app.command()
def remove(
    source: Named,
    is_forced: Annotated[bool, typer.Option("--force", help="Also while jobs of it exist.")] = False,
    is_confirmed: Yes = False,
    dsn: Dsn = "",
) -> None:
    """Remove a source; its pages stay."""
    found = _with_record(dsn, lambda record: record.find(source))
    confirm(f"Remove the source {found.name} ({found.url})?", is_confirmed=is_confirmed)
    _with_record(dsn, lambda record: record.editor.remove(found.source_id, is_forced=is_forced))
    print_text(f"removed {found.name}")


@app.command()
def audit(
    is_raising: Annotated[
        bool, typer.Option("--raise", help=f"Save them with a depth of {DEFAULT_DEPTH} links.")
    ] = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """List the sources that follow no link, or one, from their start URLs."""
    found = _with_record(dsn, lambda record: _audit(record, is_raising=is_raising))
    _print_sources(found, as_json=as_json)
    if found and not is_raising:
        raise typer.Exit(CommandExit.FAILED)


@app.command()
def sync(
    is_applied: Annotated[bool, typer.Option("--apply", help="Apply the differences.")] = False,
    is_confirmed: Yes = False,
    as_json: AsJson = False,
    dsn: Dsn = "",
) -> None:
    """Show how jobs differ from enabled and disabled sources; with --apply make, pause and resume jobs."""
    steps = _with_record(dsn, lambda record: record.sync.plan())
    pending = [step for step in steps if step.action != "skip"]
    if is_applied and pending:
        if not as_json:
            _print_steps(steps, as_json=False)
        confirm(f"Apply {counted(len(pending), 'change')} to jobs?", is_confirmed=is_confirmed)
        steps = _with_record(dsn, lambda record: record.sync.apply(steps))
    _print_steps(steps, as_json=as_json, is_applied=is_applied)


def is_shallow(source: SourceSaved) -> bool:
    """Whether a source follows no link, or one; 0 counts, as it may have been meant as "no links"."""
    return source.max_depth <= SHALLOW_DEPTH


async def _audit(record: SourceRecord, *, is_raising: bool) -> list[SourceSaved]:
    found = [source for source in await record.all() if is_shallow(source)]
    if not is_raising:
        return found
    return [
        await record.editor.change(
            source.source_id,
            lambda stored: replace(stored, max_depth=DEFAULT_DEPTH) if is_shallow(stored) else stored,
            by=record.user,
        )
        for source in found
    ]


def _switch(name: str, dsn: str, *, is_enabled: bool, as_json: bool) -> None:
    async def work(record: SourceRecord) -> SourceSaved:
        saved = await record.editor.change(
            (await record.find(name)).source_id,
            lambda stored: replace(stored, enabled=is_enabled),
            by=record.user,
        )
        await record.sync.align(saved.source_id)
        return saved

    _print_saved("enabled" if is_enabled else "disabled", _with_record(dsn, work), as_json=as_json)


def _with_record(dsn: str, work: Callable[[SourceRecord], Coroutine[Any, Any, T]]) -> T:
    """Run work on the record; a fault of the request ends the command with one line for each."""
    from strider.cli.sources.record import open_record  # noqa: PLC0415  # --help is fast
    from strider.crawl.sources.documents import InvalidSource  # noqa: PLC0415
    from strider.jobs.sources.models import SourceFault  # noqa: PLC0415

    async def run() -> T:
        async with open_record(dsn) as record:
            return await work(record)

    try:
        return run_reported(run)
    except InvalidSource as failure:
        for fault in failure.faults[:-1]:
            warn(str(fault))
        fail(str(failure.faults[-1]), CommandExit.USAGE)
    except SourceFault as failure:
        fail(str(failure), CommandExit.FAILED)


def _document(settings: Sequence[str] | None, unset: Sequence[str]) -> dict[str, Any]:
    from strider.cli.sources.typed_fields import FieldError, parse_settings  # noqa: PLC0415  # as above

    try:
        return parse_settings(settings or (), unset)
    except FieldError as failure:
        fail(str(failure), CommandExit.USAGE)


def _print_saved(word: str, source: SourceSaved, *, as_json: bool) -> None:
    from strider.crawl.sources.documents import warnings_about  # noqa: PLC0415  # as above

    for text in warnings_about(source):
        warn(text)
    if as_json:
        _print_source(source, as_json=True)
    else:
        print_text(f"{word} {source.name}: {source.source_id}, version {source.version}")


def _print_source(source: SourceSaved, *, as_json: bool) -> None:
    from strider.crawl.sources.documents import plain_value  # noqa: PLC0415  # as above

    record = {name: plain_value(value) for name, value in source.to_record().items()}
    if as_json:
        print_json(record)
    else:
        print_fields({name: _value_text(value) for name, value in record.items()})


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}={text}" for name, text in value.items())
    return "" if value is None else str(value)


def _print_sources(sources: Sequence[SourceSaved], *, as_json: bool) -> None:
    print_listing(
        [source.to_record() for source in sources],
        ("name", "id", "enabled", "max_depth", "minutes", "url"),
        [
            (
                source.name,
                source.source_id,
                "yes" if source.enabled else "no",
                str(source.max_depth),
                str(source.interval_minutes or "-"),
                source.url,
            )
            for source in sources
        ],
        as_json=as_json,
        empty=NO_SOURCES,
        wrapped=("name", "url"),
        default=dict,
    )


def _print_steps(steps: Sequence[SyncStep], *, as_json: bool, is_applied: bool = False) -> None:
    fields = ("action", "source_id", "source", "job_id", "detail")
    shown = [{name: str(getattr(step, name)) for name in fields} for step in steps]
    print_listing(
        [{**each, "applied": is_applied and each["action"] != "skip"} for each in shown],
        ("action", "source", "job", "detail"),
        [(each["action"], each["source"], each["job_id"], each["detail"]) for each in shown],
        as_json=as_json,
        empty="jobs are as their sources want them",
        wrapped=("detail",),
    )
