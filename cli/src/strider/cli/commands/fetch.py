"""strider fetch: fetch URLs as the fetcher service would, and print the complete result.

Exit code 1: a URL was neither fetched nor unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strider.cli.arguments import file_error
from strider.cli.exit_codes import CommandExit
from strider.cli.options import AllowPrivate, AsJsonLines, Contact, Headers, UserAgent
from strider.cli.output import fail, json_text, log_to_stderr, print_text

if TYPE_CHECKING:
    from strider.cli.fetch.client import FetchAttempt, FetchOptions

app = typer.Typer(add_completion=False)


Urls = Annotated[list[str], typer.Argument(help="URLs; a bare host name means https.")]
Follow = Annotated[bool, typer.Option("--follow/--no-follow", help="Follow redirects.")]
Timeout = Annotated[float, typer.Option(min=0.1, max=120.0, help="Seconds for one request.")]
MaxBytes = Annotated[int, typer.Option(min=1, help="Largest body in bytes, before decompression.")]
Etag = Annotated[str, typer.Option(help="Send If-None-Match with this ETag.")]
Since = Annotated[str, typer.Option(help="Send If-Modified-Since with this HTTP date.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Do not verify TLS certificates.")]
Delay = Annotated[
    float | None, typer.Option(min=0.0, help="Crawl delay: seconds between two requests to a host.")
]
BodyFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="File for the last body, as it was received.")
]


@app.command()
def fetch(  # noqa: PLR0917  # options, which are given by name
    urls: Urls,
    as_json: AsJsonLines = False,
    follow: Follow = True,
    timeout: Timeout = 30.0,
    max_bytes: MaxBytes = 10 * 1024 * 1024,
    header: Headers = None,
    etag: Etag = "",
    since: Since = "",
    insecure: Insecure = False,
    delay: Delay = None,
    user_agent: UserAgent = "",
    contact: Contact = "",
    allow_private: AllowPrivate = False,
    output: BodyFile = None,
) -> None:
    """Fetch URLs as the fetcher would, one after the other, and print each result.

    Ignores robots.txt: `strider robots check` evaluates it.
    """
    from strider.cli.fetch.client import FetchOptions  # noqa: PLC0415  # --help waits for no library
    from strider.cli.fetch.settings import setting_overrides  # noqa: PLC0415

    with _reported_usage():
        _check(etag, since, output)
        options = FetchOptions(
            deadline_seconds=timeout,
            max_body_bytes=max_bytes,
            headers=_parse_headers(header),
            etag=etag,
            last_modified=since,
            is_insecure=insecure,
            follows_redirects=follow,
        )
        overrides = setting_overrides(
            contact=contact, user_agent=user_agent, allow_private=allow_private, delay_seconds=delay
        )
        is_complete = asyncio.run(_fetch(urls, options, overrides, as_json=as_json, output=output))
    raise typer.Exit(CommandExit.DONE if is_complete else CommandExit.FAILED)


def _parse_headers(texts: list[str] | None) -> Mapping[str, str]:
    from strider.cli.crawl.options import parse_headers  # noqa: PLC0415  # as above

    return parse_headers(texts or ())


@contextmanager
def _reported_usage() -> Iterator[None]:
    """End the command with one line for an invalid option."""
    from strider.cli.crawl.request import BadCrawlRequest  # noqa: PLC0415  # as above
    from strider.cli.fetch.client import FetchUsageError  # noqa: PLC0415

    try:
        yield
    except (FetchUsageError, BadCrawlRequest, _BadOptionError) as wrong:
        fail(str(wrong), CommandExit.USAGE)


class _BadOptionError(ValueError):
    """An invalid option; the message is one line."""


def _check(etag: str, since: str, output: Path | None) -> None:
    """Validate options before the first request, which would otherwise fail late."""
    if not etag.isprintable():
        raise _BadOptionError("--etag: contains a control character")
    if since:
        try:
            parsedate_to_datetime(since)
        except ValueError:
            reason = "expected an HTTP date, such as 'Thu, 19 Nov 2026 10:00:00 GMT'"
            raise _BadOptionError(f"--since {since[:80]!r}: {reason}") from None
    if output is not None:
        try:
            output.open("ab").close()
        except OSError as failure:
            raise _BadOptionError(file_error(output, failure, option="--output")) from failure


async def _fetch(
    texts: list[str],
    options: FetchOptions,
    overrides: dict[str, object],
    *,
    as_json: bool,
    output: Path | None,
) -> bool:
    """Fetch and print; returns whether every URL was fetched or has not changed."""
    from strider.cli.fetch import client, report  # noqa: PLC0415  # as above
    from strider.cli.typed_urls import announce  # noqa: PLC0415
    from strider.runtime.clocks import SystemClock  # noqa: PLC0415

    log_to_stderr("error")
    settings, clock = client.load_fetcher_settings(overrides), SystemClock()
    found = [(text, announce(client.parse_url_argument(text, settings))) for text in texts]
    fetcher = client.SingleFetcher(settings, clock=clock)
    is_complete = True
    try:
        for text, url in found:
            attempts: tuple[FetchAttempt, ...] = await fetcher.fetch(url.wire, options)
            result = report.fetch_report(text, attempts, options=options, settings=settings)
            lines = [json_text(result)] if as_json else report.report_lines(result)
            print_text("\n".join(lines), flush=True)
            is_complete = is_complete and result["outcome"] in report.SUCCESS_OUTCOMES
            if output is not None:
                await asyncio.to_thread(output.write_bytes, attempts[-1].body)
    finally:
        await fetcher.close()
    return is_complete
