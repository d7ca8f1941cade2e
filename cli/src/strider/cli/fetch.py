"""`strider fetch`: one fetch as the service would make it, and everything that came of it.

Exit codes: 0 every URL was fetched (or has not changed), 1 one was not, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import asyncio
import json
import sys
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .options import AllowPrivate, AsJsonLines, Contact, Headers, UserAgent

if TYPE_CHECKING:
    from .fetching import Attempt, Wanted

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2

app = typer.Typer(add_completion=False)


@app.command()
def fetch(  # noqa: PLR0917  # each is an option
    urls: Annotated[list[str], typer.Argument(help="What to fetch; a bare name means https.")],
    as_json: AsJsonLines = False,
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Fetch what redirects lead to.")
    ] = True,
    timeout: Annotated[float, typer.Option(min=0.1, max=120.0, help="Seconds for one request.")] = 30.0,
    max_bytes: Annotated[int, typer.Option(min=1, help="Longest body, as it is sent.")] = 10 * 1024 * 1024,
    header: Headers = None,
    etag: Annotated[str, typer.Option(help="Ask only for what has another ETag.")] = "",
    since: Annotated[str, typer.Option(help="Ask only for what has changed since this HTTP date.")] = "",
    insecure: Annotated[bool, typer.Option("--insecure", help="Take any certificate.")] = False,
    delay: Annotated[
        float | None, typer.Option(min=0.0, help="Seconds between two requests to a host.")
    ] = None,
    user_agent: UserAgent = "",
    contact: Contact = "",
    allow_private: AllowPrivate = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the last body, as it was sent.")
    ] = None,
) -> None:
    """Fetch URLs as the fetcher would, one after the other, and say what came of each.

    robots.txt is not asked: `strider robots check` does that.
    """
    from .crawl_order import headers_of  # noqa: PLC0415  # --help waits for none
    from .embedded.wish import BadWish  # noqa: PLC0415
    from .fetching import BadAsking, Wanted  # noqa: PLC0415
    from .manners import chosen_manners  # noqa: PLC0415

    try:
        _check(etag, since, output)
        wanted = Wanted(
            deadline_seconds=timeout,
            max_body_bytes=max_bytes,
            headers=headers_of(header or ()),
            etag=etag,
            last_modified=since,
            is_insecure=insecure,
            follows=follow,
        )
        chosen = chosen_manners(
            contact=contact, user_agent=user_agent, allow_private=allow_private, delay_seconds=delay
        )
        code = asyncio.run(_fetch(urls, wanted, chosen, as_json=as_json, output=output))
    except (BadAsking, BadWish, _BadOptionError) as wrong:
        typer.echo(f"strider fetch: {wrong}", err=True)
        code = EXIT_USAGE
    raise typer.Exit(code)


class _BadOptionError(ValueError):
    """An option that cannot be meant, in one sentence."""


def _check(etag: str, since: str, output: Path | None) -> None:
    """Find out before anything is asked what would else come to light behind it."""
    if not etag.isprintable():
        raise _BadOptionError("--etag: must have no control character in it")
    if since:
        try:
            parsedate_to_datetime(since)
        except ValueError:
            why = "wanted is an HTTP date, such as 'Thu, 19 Nov 2026 10:00:00 GMT'"
            raise _BadOptionError(f"--since {since[:80]!r}: {why}") from None
    if output is not None:
        try:
            output.open("ab").close()
        except OSError as failure:
            raise _BadOptionError(f"--output {output}: {failure.strerror}") from failure


async def _fetch(
    texts: list[str], wanted: Wanted, chosen: dict[str, object], *, as_json: bool, output: Path | None
) -> int:
    from strider.runtime.clocks import SystemClock  # noqa: PLC0415  # as above
    from strider.urls import RefusedUrl  # noqa: PLC0415

    from . import fetch_lines, fetching  # noqa: PLC0415

    fetching.quiet_logs()
    settings, clock = fetching.settings_of(chosen), SystemClock()
    found = [(text, fetching.read_url(text, settings)) for text in texts]
    fetches = fetching.SingleFetches(settings, clock=clock)
    code = 0
    try:
        for text, url in found:
            attempts: tuple[Attempt, ...] = (
                (fetching.refusal(text, url, wanted, clock=clock),)
                if isinstance(url, RefusedUrl)
                else await fetches.fetch(url, wanted)
            )
            told = fetch_lines.object_of(text, attempts, wanted=wanted, settings=settings)
            typer.echo(json.dumps(told) if as_json else "\n".join(fetch_lines.lines_of(told)))
            sys.stdout.flush()
            if told["outcome"] not in fetch_lines.GOOD:
                code = EXIT_FAILED
            if output is not None:
                await asyncio.to_thread(output.write_bytes, attempts[-1].body)
    finally:
        await fetches.close()
    return code
