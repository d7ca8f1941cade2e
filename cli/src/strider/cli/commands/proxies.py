"""strider proxies: list, test, add and remove the proxies that requests go through.

Never prints a password. Exit code 1: a proxy does not work, or is not in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final, TypeVar

import typer

from strider.cli.connections import run_reported
from strider.cli.exit_codes import CommandExit
from strider.cli.options import AsJson, AsJsonLines, Dsn
from strider.cli.output import fail, print_json, print_listing, print_text

NO_PROXIES: Final = "no proxies: set CRAWLER_PROXY_URLS, or run: strider proxies add URL"

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="List, test, add and remove proxies.")

Urls = Annotated[list[str], typer.Argument(help="http://, https:// or socks5://user:password@host:port")]
Page = Annotated[str, typer.Argument(help="Page to fetch through each proxy; without it only a handshake.")]


@app.command("list")
def list_all(as_json: AsJson = False, dsn: Dsn = "") -> None:
    """List the proxies of CRAWLER_PROXY_URLS, else those of the table with their statistics."""
    from strider.cli.fetch.proxies_client import list_proxies, proxy_json  # noqa: PLC0415  # --help is fast

    proxies = [proxy_json(proxy) for proxy in _run(lambda: list_proxies(dsn))]
    headers = ("proxy", "state", "user", "successes", "failures in a row", "mean ms")
    print_listing(proxies, headers, [_proxy_row(each) for each in proxies], as_json=as_json, empty=NO_PROXIES)


@app.command("test")
def check_dependencies(url: Page = "", as_json: AsJsonLines = False, dsn: Dsn = "") -> None:
    """Test every proxy: whether it answers, accepts our login, and fetches a page."""
    from strider.cli.fetch.proxies_client import check_proxy, list_proxies  # noqa: PLC0415  # as above

    async def run() -> bool:
        all_work = True
        proxies = await list_proxies(dsn)
        if not proxies and not as_json:
            print_text(NO_PROXIES)
        for proxy in proxies:
            result = await check_proxy(proxy, url)
            all_work = all_work and bool(result["works"])
            if as_json:
                print_json(result)
            else:
                print_text(_result_line(result))
        return all_work

    all_work = _run(run)
    raise typer.Exit(CommandExit.DONE if all_work else CommandExit.FAILED)


@app.command()
def add(urls: Urls, dsn: Dsn = "") -> None:
    """Add proxies to the table, passwords encrypted with CRAWLER_PROXY_KEY; enable known ones again."""
    from strider.cli.fetch.proxies_client import add_proxies  # noqa: PLC0415  # as above

    names = _run(lambda: add_proxies(urls, dsn))
    for name in names:
        print_text(f"added {name}")


@app.command()
def remove(urls: Urls, dsn: Dsn = "") -> None:
    """Remove proxies from the table, named by their URL with the user and without a password."""
    from strider.cli.fetch.proxies_client import remove_proxies  # noqa: PLC0415  # as above

    removed = _run(lambda: remove_proxies(urls, dsn))
    for name, was_there in removed:
        print_text(f"removed {name}" if was_there else f"there is no {name}")
    all_there = all(was_there for _, was_there in removed)
    raise typer.Exit(CommandExit.DONE if all_there else CommandExit.FAILED)


@app.command()
def key() -> None:
    """Print a new key for CRAWLER_PROXY_KEY."""
    from strider.storage.encryption import generate_key  # noqa: PLC0415  # as above

    print_text(generate_key())


def _run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    try:
        return run_reported(work)
    except ValueError as failure:  # an invalid proxy URL, key or page URL
        fail(str(failure), CommandExit.USAGE)


def _proxy_row(fields: dict[str, Any]) -> tuple[str, ...]:
    state = "in use" if fields["is_active"] else "disabled"
    counts = str(fields["success_count"]), str(fields["failure_count"])
    return fields["proxy"], state, fields["username"] or "", *counts, f"{fields['average_ms']:.0f}"


def _result_line(result: dict[str, Any]) -> str:
    mark = "works" if result["works"] else "fails"
    account = f" as {result['username']}" if result["username"] else ""
    text = f"{result['error']}: {result['message']}" if result["error"] else f"{result['total_ms']:.0f} ms"
    status = f"status {result['status']}, " if result["status"] else ""
    return f"{mark}  {result['proxy']}{account}  {status}{text}"
