"""`strider proxies`: who asks in our place, whether they work, and how well they did.

Exit codes: 0 done, 1 a proxy does not work, 2 wrong usage or settings, 3 the database is not reachable.
Passwords are shown by nothing here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final, NoReturn, TypeVar

import typer

from .options import AsJsonLines

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_UNREACHABLE: Final = 3

NO_PROXIES: Final = "no proxies: set CRAWLER_PROXY_URLS, or strider proxies add URL"

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="Look after the proxies that requests go by way of.")

Dsn = Annotated[
    str,
    typer.Option("--dsn", help="Database; else POSTGRES_DSN, else the stack that runs here.", metavar="DSN"),
]
Urls = Annotated[list[str], typer.Argument(help="http://, https:// or socks5://user:password@host:port")]


@app.command("list")
def list_proxies(as_json: AsJsonLines = False, dsn: Dsn = "") -> None:
    """List proxies: those of CRAWLER_PROXY_URLS, else those of the table with what became of them."""
    from .proxies_asking import known, object_of  # noqa: PLC0415  # --help waits for none

    rows = _run(lambda: known(dsn))
    for row in rows:
        told = object_of(row)
        typer.echo(json.dumps(told) if as_json else _line_of(told))
    if not rows and not as_json:
        typer.echo(NO_PROXIES)


Page = Annotated[str, typer.Argument(help="Page to fetch by way of each; without it they are greeted.")]


@app.command("test")
def try_proxies(url: Page = "", as_json: AsJsonLines = False, dsn: Dsn = "") -> None:
    """Try every proxy: whether it is there and knows our account, and whether a page comes through."""
    from .proxies_asking import known, tried  # noqa: PLC0415

    async def run() -> bool:
        is_well = True
        rows = await known(dsn)
        if not rows and not as_json:
            typer.echo(NO_PROXIES)
        for row in rows:
            told = await tried(row, url)
            is_well = is_well and bool(told["works"])
            typer.echo(json.dumps(told) if as_json else _verdict_of(told))
        return is_well

    raise typer.Exit(0 if _run(run) else EXIT_FAILED)


@app.command()
def add(urls: Urls, dsn: Dsn = "") -> None:
    """Put proxies into the table, their passwords sealed with CRAWLER_PROXY_KEY; or back into use."""
    from .proxies_asking import added  # noqa: PLC0415

    for name in _run(lambda: added(urls, dsn)):
        typer.echo(f"added {name}")


@app.command()
def remove(urls: Urls, dsn: Dsn = "") -> None:
    """Take proxies out of the table; which one is said by its URL, with the user but without a password."""
    from .proxies_asking import removed  # noqa: PLC0415

    code = 0
    for name, was_there in _run(lambda: removed(urls, dsn)):
        typer.echo(f"removed {name}" if was_there else f"there is no {name}")
        code = code if was_there else EXIT_FAILED
    raise typer.Exit(code)


@app.command()
def key() -> None:
    """Print a new key for CRAWLER_PROXY_KEY."""
    from strider.storage.encryption import generate_key  # noqa: PLC0415

    typer.echo(generate_key())


def _run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    from strider.messaging.errors import StartRefused, Unavailable  # noqa: PLC0415
    from strider.storage.errors import StoreRejected  # noqa: PLC0415

    try:
        return asyncio.run(work())
    except Unavailable as failure:
        _end(str(failure), EXIT_UNREACHABLE)
    except StoreRejected as failure:
        _end(f"{failure}; is the database migrated (strider migrate up)?", EXIT_UNREACHABLE)
    except (StartRefused, ValueError) as failure:
        _end(str(failure), EXIT_USAGE)


def _end(line: str, code: int) -> NoReturn:
    typer.echo(f"strider proxies: {line}", err=True)
    raise typer.Exit(code)


def _line_of(told: dict[str, Any]) -> str:
    state = "in use" if told["is_active"] else "disabled"
    account = f" as {told['username']}" if told["username"] else ""
    counts = f"{told['success_count']} answers, {told['failure_count']} failures in a row"
    return f"{state:9} {told['proxy']}{account}  {counts}, {told['average_ms']:.0f} ms"


def _verdict_of(told: dict[str, Any]) -> str:
    mark = "works" if told["works"] else "fails"
    account = f" as {told['username']}" if told["username"] else ""
    why = f"{told['error']}: {told['message']}" if told["error"] else f"{told['total_ms']:.0f} ms"
    status = f"status {told['status']}, " if told["status"] else ""
    return f"{mark:6} {told['proxy']}{account}  {status}{why}"
