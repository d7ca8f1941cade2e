"""Options of `strider crawl`, validated: seeds, crawl spec, settings.

Decides what is wrong usage, and reports it in one line; `command` runs the plan.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

from strider.cli.arguments import file_error
from strider.cli.exit_codes import CommandExit
from strider.cli.fetch.settings import (
    NO_CONTACT,
    NO_PROXY_NAMED,
    FetchSettingsError,
    apply_overrides,
    setting_overrides,
)
from strider.cli.output import fail, warn
from strider.cli.typed_urls import announce
from strider.contracts.generated.enums import ExtractionLevel
from strider.fetcher.adapters.http.tls import make_tls_context
from strider.fetcher.settings import FetcherSettings
from strider.messaging.errors import StartRefused
from strider.parser.adapters.workers.config import check_site_parsers
from strider.parser.settings import ParserSettings
from strider.runtime.settings.base import CrawlSettings
from strider.runtime.settings.loader import SettingsError, load_settings
from strider.validator.settings import ValidatorSettings

from .command import CrawlPlan, run_plan
from .personal_headers import protect_personal_headers
from .progress import needs_contact
from .request import BadCrawlRequest, make_request, parse_listed_seed, parse_seed
from .services import ServiceConfig
from .spec_options import make_crawl_spec

MAX_HEADER_BYTES: Final = 8 * 1024

_TOKEN_CHARACTERS: Final = frozenset("!#$%&'*+-.^_`|~")
_CONNECTION_HEADERS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})
_LISTS: Final = frozenset({"urls", "include", "exclude", "headers"})


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The options of `strider crawl`."""

    urls: tuple[str, ...]
    from_file: Path | None = None
    output: Path | None = None
    form: str | None = None
    """Format of the lines; None: by the name of the output."""
    max_pages: int = 0
    max_bytes: int = 0
    max_pages_per_host: int = 0
    max_pages_per_domain: int = 0
    max_depth: int = 3
    max_seconds: int = 0
    scope: str = "host"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    extract: str = ExtractionLevel.BASIC.value
    delay_seconds: float | None = None
    per_host: int = 1
    concurrency: int = 64
    timeout_seconds: float = 30.0
    host_patience_seconds: int = 120
    headers: tuple[str, ...] = ()
    user_agent: str = ""
    contact: str = ""
    allow_private: bool = False
    ignore_robots: bool = False
    resume: Path | None = None
    only_pages: bool = False
    as_json: bool = False
    is_quiet: bool = False
    spec_file: Path | None = None
    """Settings of the crawl spec, for what no option names."""
    named: frozenset[str] = frozenset()
    """Options that were given, and have no default value."""

    @classmethod
    def from_arguments(cls, given: Mapping[str, Any]) -> CrawlOptions:
        """Return the options of the command's arguments: lists as tuples, enum members as their words."""
        values: dict[str, Any] = {}
        for name, value in given.items():
            if isinstance(value, list) or name in _LISTS:
                values[name] = tuple(value or ())
            else:
                values[name] = value.value if isinstance(value, Enum) else value
        if values["output"] == Path("-"):
            values["output"] = None
        return cls(**values)


def run(options: CrawlOptions) -> int:
    """Run a crawl; returns the exit code."""
    try:
        return run_plan(plan_crawl(options))
    except BadCrawlRequest as wrong:
        fail(str(wrong), CommandExit.USAGE)


def plan_crawl(options: CrawlOptions) -> CrawlPlan:
    """Return the plan of the options; raises BadCrawlRequest for invalid ones."""
    services = _service_config(options)
    settings = _settings(options, services.crawl)
    seeds = tuple(_read_seeds(options.urls, options.from_file))
    if not seeds and (options.urls or options.from_file):
        raise BadCrawlRequest("the input contains no URL")
    keys = services.fetcher.headers.key.get_secret_value()
    spec = make_crawl_spec(options, settings, headers=parse_headers(options.headers))
    spec, decrypt_header = protect_personal_headers(spec, seeds, keys=keys, resume=options.resume)
    request = make_request(seeds, spec)
    if needs_contact(request, settings):
        raise BadCrawlRequest(NO_CONTACT)
    return CrawlPlan(
        request,
        replace(services, crawl=settings, decrypt_header=decrypt_header),
        output=options.output,
        output_format=options.form or _format_of(options.output),
        resume=options.resume,
        max_seconds=options.max_seconds,
        only_pages=options.only_pages,
        as_json=options.as_json,
        is_quiet=options.is_quiet,
    )


def _format_of(output: Path | None) -> str:
    """Return the format for the name of an output: CSV for .csv, else JSON lines."""
    return "csv" if output is not None and output.suffix.lower() == ".csv" else "jsonl"


def _settings(options: CrawlOptions, crawl: CrawlSettings) -> CrawlSettings:
    """Return the crawl settings of the environment, with the values of options."""
    chosen = setting_overrides(
        contact=options.contact,
        user_agent=options.user_agent,
        allow_private=options.allow_private,
        delay_seconds=options.delay_seconds,
    )
    try:
        return apply_overrides(crawl, chosen)
    except FetchSettingsError as failure:
        raise BadCrawlRequest(str(failure)) from failure


def _service_config(options: CrawlOptions) -> ServiceConfig:
    """Load the settings of the services that run in this process."""
    try:
        fetcher = load_settings(FetcherSettings, os.environ).settings
        parser = load_settings(ParserSettings, os.environ).settings
        validator = load_settings(ValidatorSettings, os.environ).settings
        if fetcher.ca_file:
            make_tls_context(fetcher.ca_file, is_verified=True)
        check_site_parsers(parser.site_parsers)
    except (SettingsError, StartRefused) as failure:
        raise BadCrawlRequest(str(failure)) from failure
    if fetcher.proxies_enabled and not fetcher.proxy_urls:
        raise BadCrawlRequest(NO_PROXY_NAMED)
    return ServiceConfig(fetcher.crawl, fetcher, parser, validator, concurrency=options.concurrency)


def _read_seeds(urls: Sequence[str], from_file: Path | None) -> Iterator[str]:
    for url in urls:
        if url == "-":
            yield from _read_url_lines(sys.stdin.buffer, "standard input")
        else:
            yield announce(parse_seed(url)).wire
    if from_file is None:
        return
    try:
        with from_file.open("rb") as lines:
            yield from _read_url_lines(lines, f"--from {from_file}")
    except OSError as failure:
        raise BadCrawlRequest(file_error(from_file, failure, option="--from")) from failure


def _read_url_lines(lines: Iterable[bytes], name: str) -> Iterator[str]:
    has_note = False
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8-sig").strip()
        except UnicodeDecodeError as failure:
            raise BadCrawlRequest(
                f"{name}: line {number} is not UTF-8; expected one URL per line"
            ) from failure
        if text and not text.startswith("#"):
            seed = parse_listed_seed(text)
            if seed.note and not has_note:
                warn(f"{name}:{number}: {seed.note}; so are further lines without a scheme")
                has_note = True
            yield seed.wire


def parse_headers(texts: Sequence[str]) -> Mapping[str, str]:
    """Parse request headers; raises BadCrawlRequest."""
    headers: dict[str, str] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        is_name = bool(name) and all(letter.isalnum() or letter in _TOKEN_CHARACTERS for letter in name)
        is_text = value.isprintable() and value.isascii() and len(text) <= MAX_HEADER_BYTES
        if not (colon and is_name and name.isascii() and is_text):
            raise BadCrawlRequest(f"--header {text[:80]!r}: expected 'Name: value' in ASCII")
        if name.lower() in _CONNECTION_HEADERS:
            raise BadCrawlRequest(f"--header {name}: is set by the connection and cannot be given")
        headers[name] = value.strip()
    return headers
