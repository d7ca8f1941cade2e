"""strider seeds: have URLs crawled.

Puts seeds on their topic, the public front door, as anyone may. Exit codes: 0 all were sent and
acknowledged, 2 something among them is no seed (the others were sent), 3 the broker does not answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import typer

from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.contracts.seed_limits import DEFAULT_DEPTH, MAX_DEPTH
from strider.messaging.errors import Unavailable
from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import RecordMetadata

from .options import Bootstrap, Extract, Headers
from .seeds_input import lines_of
from .seeds_lines import Bad, Line, SeedReader, parse_pairs
from .seeds_sending import Account, SeedSender, Teller
from .topics_broker import EXIT_USAGE, Target, fail, run_on_broker

app = typer.Typer(no_args_is_help=True, help="Have URLs crawled.")

TOLD_ONE_BY_ONE: Final = 20
"""Of a longer list only the first ones, and how many there were."""


class Reach(StrEnum):
    """How far."""

    HOST = "host"
    DOMAIN = "domain"
    ANY = "any"
    LISTED = "listed"


class Urgency(StrEnum):
    """How soon."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    DISCOVERY = "discovery"


@app.callback()
def group() -> None:
    """Have URLs crawled."""


Urls = Annotated[list[str] | None, typer.Argument(metavar="URL…|-", help="URLs; - reads lines from a pipe.")]
FromFile = Annotated[
    Path | None,
    typer.Option("--from", metavar="FILE", help="Lines: URLs, or JSON documents with the fields of a seed."),
]
Job = Annotated[str, typer.Option(help="The job that they belong to; else the standing job.")]
Depth = Annotated[
    int | None,
    typer.Option(
        help=f"Links to follow from each: {DEFAULT_DEPTH} by default and for 0, {MAX_DEPTH} at most."
    ),
]
Scope = Annotated[Reach | None, typer.Option(help="How far links may lead: host by default.")]
Priority = Annotated[Urgency | None, typer.Option(help="How soon: high by default.")]
Delay = Annotated[float | None, typer.Option(help="Seconds between two requests to a host.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Fetch them even where they are known and unchanged.")]
Include = Annotated[
    list[str] | None, typer.Option(metavar="PATTERN", help="Follow only such URLs; repeatable.")
]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="PATTERN", help="Do not follow such URLs; repeatable.")
]
MaxPages = Annotated[int | None, typer.Option(help="At most so many pages in the run.")]
MaxBytes = Annotated[int | None, typer.Option(help="At most so many bytes in the run.")]
MaxSeconds = Annotated[int | None, typer.Option(help="The run ends so long after its first request.")]
HostPages = Annotated[int | None, typer.Option(help="At most so many pages of one host.")]
HostBytes = Annotated[int | None, typer.Option(help="At most so many bytes of one host.")]
HostSeconds = Annotated[int | None, typer.Option(help="At most so long spent on requests to one host.")]
DomainPages = Annotated[int | None, typer.Option(help="At most so many pages of one registrable domain.")]
DomainBytes = Annotated[int | None, typer.Option(help="At most so many bytes of one domain.")]
DomainSeconds = Annotated[int | None, typer.Option(help="At most so long spent on requests to one domain.")]
Extraction = Annotated[
    Extract | None,
    typer.Option("--extract", help="How much of each page: main by default; `extraction` in a document."),
]
Metadata = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Comes back with each page; repeatable.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a seed.")]


@app.command()
def add(  # noqa: PLR0917  # typer names the options, nobody counts them
    urls: Urls = None,
    from_file: FromFile = None,
    job: Job = "",
    max_depth: Depth = None,
    scope: Scope = None,
    priority: Priority = None,
    delay: Delay = None,
    fresh: Fresh = False,
    include: Include = None,
    exclude: Exclude = None,
    max_pages: MaxPages = None,
    max_bytes: MaxBytes = None,
    max_seconds: MaxSeconds = None,
    max_pages_per_host: HostPages = None,
    max_bytes_per_host: HostBytes = None,
    max_seconds_per_host: HostSeconds = None,
    max_pages_per_domain: DomainPages = None,
    max_bytes_per_domain: DomainBytes = None,
    max_seconds_per_domain: DomainSeconds = None,
    extract: Extraction = None,
    metadata: Metadata = None,
    header: Headers = None,
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """Send URLs to the crawler, and wait until the broker has them."""
    said = {
        "job_id": job,
        "max_depth": max_depth,
        "scope": scope,
        "priority": priority,
        "delay": delay,
        "fresh": fresh,
        "include": include,
        "exclude": exclude,
        "max_pages": max_pages,
        "max_bytes": max_bytes,
        "max_seconds": max_seconds,
        "max_pages_per_host": max_pages_per_host,
        "max_bytes_per_host": max_bytes_per_host,
        "max_seconds_per_host": max_seconds_per_host,
        "max_pages_per_domain": max_pages_per_domain,
        "max_bytes_per_domain": max_bytes_per_domain,
        "max_seconds_per_domain": max_seconds_per_domain,
        "extraction": extract,
        "metadata": _pairs(metadata, "="),
        "headers": _pairs(header, ":"),
    }
    options = {name: wish for name, wish in said.items() if wish or (wish == 0 and wish is not False)}
    arguments = [url for url in urls or () if url != "-"]
    stream, name = _open(from_file, is_piped="-" in (urls or ()))
    if not arguments and stream is None:
        fail("no URL is named; give some, or - to read them from a pipe, or --from FILE", EXIT_USAGE)
    input_ = lines_of(arguments, stream, name)
    account = run_on_broker(bootstrap, lambda target: _send(target, options, input_, as_json=as_json))
    raise typer.Exit(EXIT_USAGE if account.bad or not account.sent else 0)


def _pairs(texts: list[str] | None, separator: str) -> Mapping[str, str]:
    try:
        return parse_pairs(texts or (), separator)
    except ValueError as failure:
        fail(str(failure), EXIT_USAGE)


def _open(from_file: Path | None, *, is_piped: bool) -> tuple[BinaryIO | None, str]:
    if from_file is not None and is_piped:
        fail("--from and - exclude each other", EXIT_USAGE)
    if from_file is not None:
        try:
            return from_file.open("rb"), str(from_file)
        except OSError as failure:
            fail(f"{from_file}: {failure.strerror}", EXIT_USAGE)
    return (sys.stdin.buffer, "-") if is_piped else (None, "")


async def _send(
    target: Target,
    options: Mapping[str, Any],
    lines: AsyncIterator[Line | Bad],
    *,
    as_json: bool,
) -> Account:
    reader = SeedReader(options, allow_private=target.allows_private, now_ms=round(time.time() * 1000))
    if why := reader.option_fault():
        fail(why, EXIT_USAGE)
    bus, voice = KafkaBus(target.connection), _Voice(as_json=as_json)
    if note := reader.option_note():
        voice.note(note)
    sender = SeedSender(bus, reader, teller=voice.teller())
    try:
        await sender.send(lines)
    except OSError as failure:
        fail(f"cannot read on: {failure.strerror}", EXIT_USAGE)
    except Unavailable:
        if sender.account.sent:
            print(f"{sender.account.sent} seeds were acknowledged before that", file=sys.stderr)
        raise
    finally:
        await bus.close()
    if not (sender.account.sent or sender.account.bad):
        fail("there is no URL in it", EXIT_USAGE)
    voice.end(sender.account)
    return sender.account


class _Voice:
    """Tells what happens: what was sent on standard output, all else on the other."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._told = 0

    def teller(self) -> Teller:
        """Give the ways to tell."""
        return Teller(sent=self.sent, bad=self.bad, note=self.note)

    def sent(self, url: str, acknowledged: RecordMetadata) -> None:
        """Tell where a seed is."""
        topic, partition, offset = acknowledged
        self._told += 1
        if self._as_json:
            place = {"url": url, "topic": topic, "partition": partition, "offset": offset}
            _print(json.dumps(place, ensure_ascii=False))
        elif self._told <= TOLD_ONE_BY_ONE:
            _print(f"{url} -> {topic}[{partition}]@{offset}")

    def bad(self, bad: Bad) -> None:
        """Tell what is no seed."""
        print(f"strider: {bad.place}: {bad.why}", file=sys.stderr)

    def note(self, text: str) -> None:
        """Tell what a person may not expect."""
        print(f"strider: {text}", file=sys.stderr)

    def end(self, account: Account) -> None:
        """Tell how many there were."""
        if not self._as_json and (account.sent > TOLD_ONE_BY_ONE or account.bad):
            _print(
                f"{account.sent} sent to {SEEDS_SUBMITTED.name} ({len(account.partitions)} partitions), "
                f"{account.bad} refused"
            )


def _print(line: str) -> None:
    try:
        print(line)
    except BrokenPipeError:
        # Somebody piped this to `head`: the seeds go on, their lines need not.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
