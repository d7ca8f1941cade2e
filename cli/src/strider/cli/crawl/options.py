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
from strider.cli.seeds.spec_files import InvalidSettings, read_spec_file
from strider.cli.typed_urls import announce
from strider.contracts.generated.enums import ExtractionLevel
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.specs.crawl_specs import SpecLayer, combine_layers
from strider.contracts.specs.fields import conflict_fault
from strider.fetcher.adapters.http.tls import make_tls_context
from strider.fetcher.settings import FetcherSettings
from strider.messaging.errors import StartRefused
from strider.parser.adapters.workers.config import check_site_parsers
from strider.parser.settings import ParserSettings
from strider.politeness import header_fault
from strider.runtime.settings.base import CrawlSettings
from strider.runtime.settings.loader import SettingsError, load_settings
from strider.urls import spec_scope_fault
from strider.validator.settings import ValidatorSettings

from .command import CrawlPlan, run_plan
from .personal_headers import protect_personal_headers
from .progress import needs_contact
from .request import BadCrawlRequest, make_request, parse_listed_seed, parse_seed
from .services import ServiceConfig

MAX_HEADER_BYTES: Final = 8 * 1024

_TOKEN_CHARACTERS: Final = frozenset("!#$%&'*+-.^_`|~")
_CONNECTION_HEADERS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})
OPTION_OF_FIELD: Final[Mapping[str, str]] = {
    "scope": "scope",
    "include": "include",
    "exclude": "exclude",
    "max_depth": "max_depth",
    "max_pages": "max_pages",
    "max_bytes": "max_bytes",
    "max_pages_per_host": "max_pages_per_host",
    "max_pages_per_domain": "max_pages_per_domain",
    "delay_seconds": "delay_seconds",
    "max_in_flight_per_group": "per_host",
    "request_timeout_seconds": "timeout_seconds",
    "host_patience_seconds": "host_patience_seconds",
    "respect_robots": "ignore_robots",
    "extraction": "extract",
}
"""Field of a crawl spec → option of the command that decides it."""

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
            if name == "context":
                continue
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
    spec = _crawl_spec(options, settings, headers=parse_headers(options.headers))
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


def _crawl_spec(
    options: CrawlOptions, settings: CrawlSettings, *, headers: Mapping[str, str]
) -> CrawlSpecDeclared:
    """Return the crawl spec of a crawl; raises BadCrawlRequest."""
    from_file = {} if options.spec_file is None else _file_settings(options.spec_file)
    defaults = _option_values(options, settings)
    given = {name: value for name, value in defaults.items() if OPTION_OF_FIELD[name] in options.named}
    if "user_agent" in options.named:
        from_file.pop("user_agent", None)  # the option decides for all requests
    layers = (
        ("defaults", defaults),
        ("--spec", from_file),
        ("options", given),
        ("--header", {"headers": headers}),
    )
    spec = combine_layers([SpecLayer(name, values) for name, values in layers]).spec
    if options.spec_file is not None:
        _check_spec(spec, options.spec_file)
    return spec


def _option_values(options: CrawlOptions, settings: CrawlSettings) -> dict[str, Any]:
    """Return the fields that options decide, with their values or defaults."""
    values = {name: getattr(options, option) for name, option in OPTION_OF_FIELD.items()}
    robots = settings.respect_robots and not options.ignore_robots
    return values | {"delay_seconds": settings.host_delay_seconds, "respect_robots": robots}


def _file_settings(path: Path) -> dict[str, Any]:
    try:
        return read_spec_file(path, option="--spec")
    except InvalidSettings as failure:
        text = str(failure)
        raise BadCrawlRequest(text if text.startswith("--spec") else f"--spec {text}") from failure


def _check_spec(spec: CrawlSpecDeclared, path: Path) -> None:
    if spec.continuous:
        raise BadCrawlRequest(f"--spec {path}: continuous: a crawl in one process ends; leave it out")
    if fault := spec_scope_fault(spec) or header_fault(spec.headers) or conflict_fault(spec):
        raise BadCrawlRequest(f"--spec {path}: {fault}")


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
