"""strider sources: list, add and change websites to watch.

The commands are requests to the HTTP API; with --dsn, or with POSTGRES_DSN and no API that is named, they
write to PostgreSQL themselves.

Exit code 1: there is no such source, another one has the name, or it was changed meanwhile; of `audit`: it
found sources, and was not asked to change them. Exit code 2: a field cannot have the value that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypeVar

import typer

from strider.cli.api.connection import open_api, uses_api
from strider.cli.connections import run_reported
from strider.cli.exit_codes import CommandExit
from strider.cli.options import ApiToken, ApiUrl, AsJson, Dsn, Yes
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
    from strider.contracts.generated.events import SourceSaved

SHALLOW_DEPTH: Final = 1
"""Links from a start URL up to which only the start page's own list is crawled."""

NO_SOURCES: Final = "no sources; add one with: strider sources add NAME URL"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Access:
    """Options that decide how a command reaches the sources."""

    api_url: str
    token: str
    dsn: str


class SourceCommands(Protocol):
    """Sources as commands use them: over the API, or in PostgreSQL."""

    async def find(self, name: str) -> SourceSaved:
        """Return the source of an id, or of a name."""

    async def all(self, *, enabled: bool | None = None, name: str = "") -> list[SourceSaved]:
        """Return the sources, ordered by name."""

    async def add(self, document: Mapping[str, Any]) -> SourceSaved:
        """Add a source."""

    async def change(
        self, source_id: str, document: Mapping[str, Any], *, version: int | None = None
    ) -> SourceSaved:
        """Change fields of a source, None for the default; its jobs follow."""

    async def switch(self, source_id: str, *, is_enabled: bool) -> SourceSaved:
        """Enable or disable a source; its jobs follow."""

    async def remove(self, source_id: str, *, is_forced: bool) -> None:
        """Remove a source."""

    async def plan_sync(self) -> Sequence[Any]:
        """Return how jobs differ from sources."""

    async def apply_sync(self, steps: Any) -> Sequence[Any]:
        """Apply differences; return what was done."""


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
def list_sources(  # noqa: PLR0917  # options, which are given by name
    enabled: Annotated[
        bool | None, typer.Option("--enabled/--disabled", help="Only enabled, or only disabled ones.")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Only those with this part in their name.")] = "",
    as_json: AsJson = False,
    dsn: Dsn = "",
    api_url: ApiUrl = "",
    token: ApiToken = "",
) -> None:
    """List sources, by name."""
    _print_sources(
        _with_sources(Access(api_url, token, dsn), lambda sources: sources.all(enabled=enabled, name=name)),
        as_json=as_json,
    )


@app.command()
def show(
    source: Named, as_json: AsJson = False, dsn: Dsn = "", api_url: ApiUrl = "", token: ApiToken = ""
) -> None:
    """Show one source with all its fields."""
    found = _with_sources(Access(api_url, token, dsn), lambda sources: sources.find(source))
    _print_source(found, as_json=as_json)


@app.command()
def add(  # noqa: PLR0917  # options, which are given by name
    name: Annotated[str, typer.Argument(help="Name, which no other source has.")],
    url: Annotated[str, typer.Argument(help="First start URL.")],
    settings: Settings = None,
    as_json: AsJson = False,
    dsn: Dsn = "",
    api_url: ApiUrl = "",
    token: ApiToken = "",
) -> None:
    """Add a source; its fields are listed in docs/sources.md."""
    document = {"name": name, "url": url, **_document(settings, ())}
    saved = _with_sources(Access(api_url, token, dsn), lambda sources: sources.add(document))
    _print_saved("added", saved, as_json=as_json)


@app.command()
def edit(  # noqa: PLR0917  # options, which are given by name
    source: Named,
    settings: Settings = None,
    unset: Unset = None,
    version: Version = None,
    as_json: AsJson = False,
    dsn: Dsn = "",
    api_url: ApiUrl = "",
    token: ApiToken = "",
) -> None:
    """Change fields of a source."""
    document = _document(settings, unset or ())
    if not document:
        fail("nothing to change: give --set FIELD=VALUE or --unset FIELD", CommandExit.USAGE)

    async def work(sources: SourceCommands) -> SourceSaved:
        found = await sources.find(source)
        return await sources.change(found.source_id, document, version=version)

    _print_saved("saved", _with_sources(Access(api_url, token, dsn), work), as_json=as_json)


@app.command()
def enable(
    source: Named, as_json: AsJson = False, dsn: Dsn = "", api_url: ApiUrl = "", token: ApiToken = ""
) -> None:
    """Enable a source: its jobs run; one is made where it has an interval and no job."""
    _switch(source, Access(api_url, token, dsn), is_enabled=True, as_json=as_json)


@app.command()
def disable(
    source: Named, as_json: AsJson = False, dsn: Dsn = "", api_url: ApiUrl = "", token: ApiToken = ""
) -> None:
    """Disable a source: its scheduled jobs are paused; a run that has started continues."""
    _switch(source, Access(api_url, token, dsn), is_enabled=False, as_json=as_json)


@app.command()
def remove(  # noqa: PLR0917  # options, which are given by name
    source: Named,
    is_forced: Annotated[bool, typer.Option("--force", help="Also while jobs of it exist.")] = False,
    is_confirmed: Yes = False,
    dsn: Dsn = "",
    api_url: ApiUrl = "",
    token: ApiToken = "",
) -> None:
    """Remove a source; its pages stay."""
    access = Access(api_url, token, dsn)
    found = _with_sources(access, lambda sources: sources.find(source))
    confirm(f"Remove the source {found.name} ({found.url})?", is_confirmed=is_confirmed)
    _with_sources(
        Access(api_url, token, dsn), lambda sources: sources.remove(found.source_id, is_forced=is_forced)
    )
    print_text(f"removed {found.name}")


@app.command()
def audit(
    is_raising: Annotated[
        bool, typer.Option("--raise", help=f"Save them with a depth of {DEFAULT_DEPTH} links.")
    ] = False,
    dsn: Dsn = "",
    api_url: ApiUrl = "",
    token: ApiToken = "",
    as_json: AsJson = False,
) -> None:
    """List the sources that follow no link, or one, from their start URLs."""
    found = _with_sources(Access(api_url, token, dsn), lambda sources: _audit(sources, is_raising=is_raising))
    _print_sources(found, as_json=as_json)
    if found and not is_raising:
        raise typer.Exit(CommandExit.FAILED)


@app.command()
def sync(  # noqa: PLR0917  # options, which are given by name
    is_applied: Annotated[bool, typer.Option("--apply", help="Apply the differences.")] = False,
    is_confirmed: Yes = False,
    as_json: AsJson = False,
    dsn: Dsn = "",
    api_url: ApiUrl = "",
    token: ApiToken = "",
) -> None:
    """Show how jobs differ from enabled and disabled sources; with --apply make, pause and resume jobs."""
    steps = _with_sources(Access(api_url, token, dsn), lambda sources: sources.plan_sync())
    pending = [step for step in steps if step.action != "skip"]
    if is_applied and pending:
        if not as_json:
            _print_steps(steps, as_json=False)
        confirm(f"Apply {counted(len(pending), 'change')} to jobs?", is_confirmed=is_confirmed)
        steps = _with_sources(Access(api_url, token, dsn), lambda sources: sources.apply_sync(steps))
    _print_steps(steps, as_json=as_json, is_applied=is_applied)


def is_shallow(source: SourceSaved) -> bool:
    """Whether a source follows no link, or one; 0 counts, as it may have been meant as "no links"."""
    return source.max_depth <= SHALLOW_DEPTH


async def _audit(sources: SourceCommands, *, is_raising: bool) -> list[SourceSaved]:
    found = [source for source in await sources.all() if is_shallow(source)]
    if not is_raising:
        return found
    depth = {"max_depth": DEFAULT_DEPTH}
    return [await sources.change(each.source_id, depth, version=each.version) for each in found]


def _switch(name: str, access: Access, *, is_enabled: bool, as_json: bool) -> None:
    async def work(sources: SourceCommands) -> SourceSaved:
        return await sources.switch((await sources.find(name)).source_id, is_enabled=is_enabled)

    _print_saved("enabled" if is_enabled else "disabled", _with_sources(access, work), as_json=as_json)


def _with_sources(access: Access, work: Callable[[SourceCommands], Coroutine[Any, Any, T]]) -> T:
    """Run work on the sources; a fault of the request ends the command with one line for each."""
    from strider.crawl.sources.documents import InvalidSource  # noqa: PLC0415  # --help is fast
    from strider.jobs.sources.models import SourceFault  # noqa: PLC0415

    try:
        if uses_api(access.api_url, access.dsn):
            return _with_api(access, work)
        return run_reported(lambda: _with_record(access.dsn, work))
    except InvalidSource as failure:
        for fault in failure.faults[:-1]:
            warn(str(fault))
        fail(str(failure.faults[-1]), CommandExit.USAGE)
    except SourceFault as failure:
        fail(str(failure), CommandExit.FAILED)


def _with_api(access: Access, work: Callable[[SourceCommands], Coroutine[Any, Any, T]]) -> T:
    from strider.cli.sources.remote import RemoteSources  # noqa: PLC0415  # as above

    with open_api(access.api_url, access.token) as api:
        return run_reported(lambda: work(RemoteSources(api)))


async def _with_record(dsn: str, work: Callable[[SourceCommands], Coroutine[Any, Any, T]]) -> T:
    from strider.cli.sources.record import open_record  # noqa: PLC0415  # as above

    async with open_record(dsn) as record:
        return await work(record)


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


def _print_steps(steps: Sequence[Any], *, as_json: bool, is_applied: bool = False) -> None:
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
