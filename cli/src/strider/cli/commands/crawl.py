"""strider crawl: crawl in this process, without servers; writes one line for each URL.

Declares the options; `crawl.options` validates them and `crawl.command` runs the crawl. Exit code 1: no page
was fetched, or the output failed. Ctrl-C saves the state in the file of --resume.
"""

from __future__ import annotations

import gc
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from strider.cli.options import AllowPrivate, Contact, ExtractionOption, Headers, UserAgent
from strider.contracts.seed_limits import MAX_DEPTH, PATTERN_LIMITS, SEED_RANGES

app = typer.Typer(add_completion=False)


class ScopeOption(StrEnum):
    """Scope of the links that are followed."""

    HOST = "host"
    DOMAIN = "domain"
    ANY = "any"


class ResultFormat(StrEnum):
    """Format of the output lines."""

    JSONL = "jsonl"
    CSV = "csv"


Urls = Annotated[list[str] | None, typer.Argument(help="Start URLs; - reads URLs from standard input.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="File to write, overwritten; default or -: standard output."),
]
Form = Annotated[
    ResultFormat | None,
    typer.Option(
        "--format", help="Format of the lines; by default csv for an output that ends in .csv, else jsonl."
    ),
]
FromFile = Annotated[
    Path | None, typer.Option("--from", help="File of start URLs, one per line; # begins a comment.")
]
MaxPages = Annotated[
    int, typer.Option(min=0, max=SEED_RANGES["max_pages"][1], help="Most pages to fetch; 0: no limit.")
]
MaxBytes = Annotated[
    int,
    typer.Option(
        min=0, max=SEED_RANGES["max_bytes"][1], help="Most bytes to fetch, before decompression; 0: no limit."
    ),
]
MaxPagesPerHost = Annotated[
    int,
    typer.Option(
        min=0, max=SEED_RANGES["max_pages_per_host"][1], help="Most pages of one host; 0: no limit."
    ),
]
MaxPagesPerDomain = Annotated[
    int,
    typer.Option(
        min=0,
        max=SEED_RANGES["max_pages_per_domain"][1],
        help="Most pages of one registrable domain; 0: no limit.",
    ),
]
MaxDepth = Annotated[
    int,
    typer.Option(min=0, max=MAX_DEPTH, help="Maximum link depth; 0: the start pages only."),
]
MaxSeconds = Annotated[
    int, typer.Option(min=0, max=SEED_RANGES["max_seconds"][1], help="Stop after this time; 0: no limit.")
]
Scope = Annotated[ScopeOption, typer.Option(help="Scope of links to follow.")]
Include = Annotated[
    list[str] | None,
    typer.Option(help=f"Follow only URLs that match this pattern; repeatable, {PATTERN_LIMITS}."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(help=f"Do not follow URLs that match this pattern; repeatable, {PATTERN_LIMITS}."),
]
Extract = Annotated[
    ExtractionOption,
    typer.Option(help="What to extract: main adds main text and dates, records adds products."),
]
Delay = Annotated[
    float | None,
    typer.Option(
        "--delay",
        min=0.0,
        max=float(SEED_RANGES["delay"][1]),
        help="Crawl delay: seconds between two requests to a host; else STRIDER_HOST_DELAY.",
    ),
]
PerHost = Annotated[int, typer.Option(min=1, max=64, help="Concurrent requests to one host.")]
Concurrency = Annotated[int, typer.Option(min=1, max=2048, help="Concurrent requests in all.")]
Timeout = Annotated[float, typer.Option("--timeout", min=1.0, max=120.0, help="Seconds for one request.")]
HostPatience = Annotated[
    int,
    typer.Option(
        "--host-patience", min=0, max=31_536_000, help="Seconds after which an unreachable host is given up."
    ),
]
IgnoreRobots = Annotated[
    bool, typer.Option("--ignore-robots", help="Ignore robots.txt. Only for sites of your own.")
]
SpecFile = Annotated[
    Path | None,
    typer.Option(
        "--spec", metavar="FILE", help="Settings as JSON (*.json) or YAML; options that are given come first."
    ),
]
Resume = Annotated[
    Path | None, typer.Option(help="State file; where it exists, the crawl continues from it.")
]
OnlyPages = Annotated[
    bool, typer.Option("--only-pages", help="No lines for refused, redirected and failed URLs.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")]


@app.command()
def crawl(  # noqa: PLR0917  # options, which are given by name
    context: typer.Context,
    urls: Urls = None,
    spec_file: SpecFile = None,
    output: Output = None,
    form: Form = None,
    from_file: FromFile = None,
    max_pages: MaxPages = 0,
    max_bytes: MaxBytes = 0,
    max_pages_per_host: MaxPagesPerHost = 0,
    max_pages_per_domain: MaxPagesPerDomain = 0,
    max_depth: MaxDepth = 3,
    max_seconds: MaxSeconds = 0,
    scope: Scope = ScopeOption.HOST,
    include: Include = None,
    exclude: Exclude = None,
    extract: Extract = ExtractionOption.BASIC,
    delay_seconds: Delay = None,
    per_host: PerHost = 1,
    concurrency: Concurrency = 64,
    timeout_seconds: Timeout = 30.0,
    host_patience_seconds: HostPatience = 120,
    headers: Headers = None,
    user_agent: UserAgent = "",
    contact: Contact = "",
    allow_private: AllowPrivate = False,
    ignore_robots: IgnoreRobots = False,
    resume: Resume = None,
    only_pages: OnlyPages = False,
    as_json: AsJson = False,
    is_quiet: Quiet = False,
) -> None:
    """Crawl from start URLs in this process, without servers, and write one line per URL."""
    given = {**locals(), "named": _named(context)}
    gc.disable()  # the import of all services creates much and drops nothing; the crawl enables it again
    # --help waits for no service's libraries.
    from strider.cli.crawl.options import CrawlOptions, run  # noqa: PLC0415

    raise typer.Exit(run(CrawlOptions.from_arguments(given)))


def _named(context: typer.Context) -> frozenset[str]:
    """Return the options that were given."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(
        name for name, source in sources.items() if source is not None and source.name != "DEFAULT"
    )
