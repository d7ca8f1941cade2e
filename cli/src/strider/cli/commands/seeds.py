"""strider seeds: submit URLs to the crawler.

Publishes seeds: where there is an owner's key, signed on `seeds-owned`, else on `seeds-submitted`.
Exit code 2: some lines are not seeds; the others were published. With --wait, the run of the seeds is closed
once they are acknowledged, and the command ends with it.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import typer

from strider.cli.arguments import file_error
from strider.cli.connections import BrokerTarget, run_with_broker
from strider.cli.exit_codes import CommandExit
from strider.cli.frontier.run_end import end_exit_code, end_fields, print_end, wait_for_runs
from strider.cli.options import Bootstrap, ExtractionOption, Headers
from strider.cli.output import counted, fail, json_text, print_status, print_text, warn
from strider.cli.seeds.credentials import find_credentials
from strider.cli.seeds.reader import BadLine, InputLine, SeedReader, parse_pairs, parse_url_list
from strider.cli.seeds.sender import SeedSender, SendCounters, SendListener
from strider.cli.seeds.spec_files import InvalidSettings, parse_assignments, read_spec_file
from strider.cli.stdio import discard_stdout
from strider.contracts.seed_limits import DEFAULT_DEPTH, MAX_DEPTH, PATTERN_LIMITS
from strider.messaging.errors import Unavailable
from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import RecordMetadata

app = typer.Typer(no_args_is_help=True, help="Submit URLs to the crawler.")

MAX_PRINTED: Final = 20
"""Seeds that are printed one by one; of a longer list only the number."""


class SeedScope(StrEnum):
    """Scope of the links that are followed from a seed."""

    HOST = "host"
    DOMAIN = "domain"
    ANY = "any"
    LISTED = "listed"


class SeedPriority(StrEnum):
    """Priority of a seed."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    DISCOVERY = "discovery"


@app.callback()
def group() -> None:
    """Submit URLs to the crawler."""


Urls = Annotated[list[str] | None, typer.Argument(metavar="URL…|-", help="URLs; - reads lines from a pipe.")]
FromFile = Annotated[
    Path | None,
    typer.Option("--from", metavar="FILE", help="Lines: URLs, or JSON documents with the fields of a seed."),
]
Job = Annotated[str, typer.Option("--job", help="Job of the seeds; default: adhoc.")]
Run = Annotated[
    str, typer.Option("--run", help="Run of the seeds; default: one for each day, or a new one with --wait.")
]
Wait = Annotated[
    bool,
    typer.Option(
        "--wait", help="Close the run of these seeds, and wait until it has ended. Ctrl-C leaves it going."
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(help=f"Maximum link depth, 1 to {MAX_DEPTH} (default: {DEFAULT_DEPTH})."),
]
Scope = Annotated[
    SeedScope | None,
    typer.Option(help="Scope of links to follow (default: host); listed: none, since seeds list no hosts."),
]
Priority = Annotated[SeedPriority | None, typer.Option(help="Priority (default: high).")]
Delay = Annotated[float | None, typer.Option(help="Crawl delay: seconds between two requests to a host.")]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh",
        help="Send no If-None-Match and If-Modified-Since: fetch the body even where it is unchanged.",
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help=f"Follow only URLs that match; repeatable, {PATTERN_LIMITS}."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help=f"Do not follow URLs that match; repeatable, {PATTERN_LIMITS}."),
]
MaxPages = Annotated[int | None, typer.Option(help="Most pages of the run.")]
MaxBytes = Annotated[int | None, typer.Option(help="Most bytes of the run.")]
MaxSeconds = Annotated[int | None, typer.Option(help="Seconds from the first request to the end of the run.")]
HostPages = Annotated[int | None, typer.Option(help="Most pages of one host.")]
HostBytes = Annotated[int | None, typer.Option(help="Most bytes of one host.")]
HostSeconds = Annotated[int | None, typer.Option(help="Most seconds spent on requests to one host.")]
DomainPages = Annotated[int | None, typer.Option(help="Most pages of one registrable domain.")]
DomainBytes = Annotated[int | None, typer.Option(help="Most bytes of one registrable domain.")]
DomainSeconds = Annotated[
    int | None, typer.Option(help="Most seconds spent on requests to one registrable domain.")
]
Extraction = Annotated[
    ExtractionOption | None,
    typer.Option("--extract", help="What to extract (default: main); `extraction` in a JSON document."),
]
Metadata = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Metadata copied to each page result; repeatable."),
]
SpecFile = Annotated[
    Path | None,
    typer.Option("--spec", metavar="FILE", help="Further settings of the run: a crawl spec, JSON or YAML."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A further setting, such as use_cookies=true; repeatable."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object per seed.")]


_NO_FIELDS: Final = frozenset({"urls", "from_file", "waits", "bootstrap", "as_json", "spec_file", "settings"})
"""Arguments of the command that are no fields of a seed."""


@app.command()
def add(  # noqa: PLR0917  # options, which are given by name
    urls: Urls = None,
    from_file: FromFile = None,
    job_id: Job = "",
    execution_id: Run = "",
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
    extraction: Extraction = None,
    metadata: Metadata = None,
    headers: Headers = None,
    spec_file: SpecFile = None,
    settings: Settings = None,
    waits: Wait = False,
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """Publish URLs as seeds, and wait until the broker has acknowledged them."""
    given = {name: value for name, value in dict(locals()).items() if name not in _NO_FIELDS}
    given["execution_id"] = execution_id or (_new_run_name() if waits else "")
    given |= {"metadata": _pairs("--metadata", metadata, "="), "headers": _pairs("--header", headers, ":")}
    given["spec"] = _spec_settings(spec_file, settings)
    options = {name: value for name, value in given.items() if _is_given(value)}
    _add(options, urls, from_file, _Reporting(bootstrap, as_json=as_json, waits=waits))


@dataclass(frozen=True, slots=True)
class _Reporting:
    """Broker of the seeds, form of the output, and whether their end is waited for."""

    bootstrap: str
    as_json: bool
    waits: bool


def _spec_settings(spec_file: Path | None, assignments: list[str] | None) -> dict[str, Any]:
    """Return the settings of the file, and those of the options, which come first."""
    try:
        settings = read_spec_file(spec_file, option="--spec") if spec_file is not None else {}
        return {**settings, **parse_assignments(assignments or ())}
    except InvalidSettings as failure:
        fail(str(failure), CommandExit.USAGE)


def _new_run_name() -> str:
    """Return the name of a run that no other sender has."""
    return f"cli-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


def _is_given(value: object) -> bool:
    return bool(value) or (value == 0 and value is not False)


def _add(
    options: Mapping[str, Any], urls: list[str] | None, from_file: Path | None, reporting: _Reporting
) -> None:
    arguments = [url for url in urls or () if url != "-"]
    stream, name = _open(from_file, is_piped="-" in (urls or ()))
    if not arguments and stream is None:
        fail("no URL is given; name some, or - to read them from a pipe, or --from FILE", CommandExit.USAGE)
    lines = parse_url_list(arguments, stream, name)
    source = f"--from {name}" if from_file is not None else "standard input"
    counters, end_code = run_with_broker(
        reporting.bootstrap, lambda target: _send(target, options, lines, source, reporting)
    )
    is_complete = counters.sent and not counters.bad
    raise typer.Exit(end_code if is_complete else CommandExit.USAGE)


def _pairs(option: str, texts: list[str] | None, separator: str) -> Mapping[str, str]:
    try:
        return parse_pairs(texts or (), separator)
    except ValueError as failure:
        fail(f"{option} {failure}", CommandExit.USAGE)


def _open(from_file: Path | None, *, is_piped: bool) -> tuple[BinaryIO | None, str]:
    if from_file is not None and is_piped:
        fail("--from and - exclude each other", CommandExit.USAGE)
    if from_file is not None:
        try:
            return from_file.open("rb"), str(from_file)
        except OSError as failure:
            fail(file_error(from_file, failure, option="--from"), CommandExit.USAGE)
    return (sys.stdin.buffer, "-") if is_piped else (None, "")


async def _send(
    target: BrokerTarget,
    options: Mapping[str, Any],
    lines: AsyncIterator[InputLine | BadLine],
    source: str,
    reporting: _Reporting,
) -> tuple[SendCounters, CommandExit]:
    reader = SeedReader(
        options,
        credentials=find_credentials(
            os.environ, stack_key=target.stack_key, stack_headers_key=target.stack_headers_key
        ),
        allow_private=target.allows_private,
        now_ms=round(time.time() * 1000),
    )
    if error := reader.option_error():
        fail(error, CommandExit.USAGE)
    bus = KafkaBus(target.connection)
    printer = _SeedPrinter(reader.topic.name, as_json=reporting.as_json)
    sender = SeedSender(bus, reader, listener=printer.listener(), closes_runs=reporting.waits)
    try:
        try:
            await sender.send(lines)
        except OSError as failure:
            fail(file_error(source, failure), CommandExit.USAGE)
        if not (sender.counters.sent or sender.counters.bad):
            fail("the input contains no URL", CommandExit.USAGE)
        printer.print_total(sender.counters)
        return sender.counters, await _wait_for_end(target, bus, sender.counters, reporting)
    except Unavailable:
        if sender.counters.sent:
            print_status(f"acknowledged before the failure: {counted(sender.counters.sent, 'seed')}")
        raise
    finally:
        await bus.close()


async def _wait_for_end(
    target: BrokerTarget, bus: KafkaBus, counters: SendCounters, reporting: _Reporting
) -> CommandExit:
    """Wait until the runs that were closed have ended, and print their ends."""
    if not counters.runs:
        return CommandExit.DONE
    ends = await wait_for_runs(target, bus, counters.runs)
    for end in ends.values():
        _print(json_text(end_fields(end), ascii_only=False)) if reporting.as_json else print_end(end)
    return end_exit_code(ends)


class _SeedPrinter:
    """Prints published seeds on standard output, refused lines and warnings on standard error."""

    def __init__(self, topic: str, *, as_json: bool) -> None:
        self._topic = topic
        self._as_json = as_json
        self._printed = 0

    def listener(self) -> SendListener:
        """Return the callbacks of the sender."""
        return SendListener(sent=self.print_sent, bad=self.print_bad, warning=warn)

    def print_sent(self, url: str, acknowledged: RecordMetadata) -> None:
        """Print the position of a published seed."""
        topic, partition, offset = acknowledged
        self._printed += 1
        if self._as_json:
            place = {"url": url, "topic": topic, "partition": partition, "offset": offset}
            _print(json_text(place, ascii_only=False))
        elif self._printed <= MAX_PRINTED:
            _print(f"{url} -> {topic}[{partition}]@{offset}")

    def print_bad(self, bad: BadLine) -> None:
        """Print a line that is not a seed."""
        warn(f"{bad.place}: {bad.reason}")

    def print_total(self, counters: SendCounters) -> None:
        """Print the totals where not every seed was printed."""
        if not self._as_json and (counters.sent > MAX_PRINTED or counters.bad):
            spread = counted(len(counters.partitions), "partition")
            _print(f"{counters.sent} sent to {self._topic} ({spread}), {counters.bad} refused")


def _print(line: str) -> None:
    try:
        print_text(line)
    except BrokenPipeError:
        # The output was piped to `head`: the seeds are published all the same.
        discard_stdout()
