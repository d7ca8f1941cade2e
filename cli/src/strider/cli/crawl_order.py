"""What the options of `strider crawl` come to: seeds, a crawl spec, manners.

Decides what is wrong usage, and says so in one line; everything else is `embedded`'s.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from strider.contracts.generated.enums import ExtractionLevel
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.seed_limits import seed_range_error
from strider.fetcher.adapters.http.tls import make_tls_context
from strider.fetcher.settings import FetcherSettings
from strider.messaging.errors import StartRefused
from strider.parser.adapters.workers.config import check_site_parsers
from strider.parser.settings import ParserSettings
from strider.runtime.settings.base import CrawlSettings
from strider.runtime.settings.loader import SettingsError, load_settings
from strider.validator.settings import ValidatorSettings

from .embedded.members import Manners
from .embedded.running import Order, run_crawl
from .embedded.showing import needs_contact, say
from .embedded.wish import BadWish, make_wish, read_listed, read_seed
from .manners import NO_PROXY, BadManners, chosen_manners, with_manners

EXIT_USAGE: Final = 2
MAX_HEADER_BYTES: Final = 8 * 1024

_NAME_MARKS: Final = frozenset("!#$%&'*+-.^_`|~")
_OURS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})


_RANGED: Final = (
    "max_depth",
    "max_pages",
    "max_bytes",
    "max_seconds",
    "max_pages_per_host",
    "max_pages_per_domain",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line, read."""

    urls: tuple[str, ...]
    from_file: Path | None = None
    output: Path | None = None
    form: str = "jsonl"
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


def carry_out(asked: Asked) -> int:
    """Crawl; gives the exit code."""
    try:
        return run_crawl(order_of(asked))
    except BadWish as wrong:
        say(f"strider crawl: {wrong}")
        return EXIT_USAGE


def order_of(asked: Asked) -> Order:
    """Read the options; raises BadWish for what cannot be done."""
    services = _services(asked)
    settings = _settings(asked, services.crawl)
    wish = make_wish(_seeds(asked.urls, asked.from_file), _spec(asked, settings))
    if needs_contact(wish, settings):
        raise BadWish(
            "say --contact with a URL or mail address (or set STRIDER_CONTACT), so that sites know whom to "
            "write to; without it only loopback is crawled"
        )
    return Order(
        wish,
        replace(services, crawl=settings),
        output=asked.output,
        form=asked.form,
        resume=asked.resume,
        max_seconds=asked.max_seconds,
        only_pages=asked.only_pages,
        as_json=asked.as_json,
        is_quiet=asked.is_quiet,
    )


def _spec(asked: Asked, settings: CrawlSettings) -> CrawlSpecDeclared:
    for name in _RANGED:
        if fault := seed_range_error(name, getattr(asked, name), display_name=f"--{name.replace('_', '-')}"):
            raise BadWish(fault)
    return CrawlSpecDeclared(
        crawl_spec_id="",
        scope=asked.scope,
        include=asked.include,
        exclude=asked.exclude,
        max_depth=asked.max_depth,
        max_pages=asked.max_pages,
        max_bytes=asked.max_bytes,
        max_pages_per_host=asked.max_pages_per_host,
        max_pages_per_domain=asked.max_pages_per_domain,
        delay_seconds=settings.host_delay_seconds,
        max_in_flight_per_group=asked.per_host,
        request_timeout_seconds=asked.timeout_seconds,
        host_patience_seconds=asked.host_patience_seconds,
        respect_robots=settings.respect_robots and not asked.ignore_robots,
        extraction=asked.extract,
        headers=headers_of(asked.headers),
    )


def _settings(asked: Asked, crawl: CrawlSettings) -> CrawlSettings:
    """Take what the environment says, and what was said here instead."""
    chosen = chosen_manners(
        contact=asked.contact,
        user_agent=asked.user_agent,
        allow_private=asked.allow_private,
        delay_seconds=asked.delay_seconds,
    )
    try:
        return with_manners(crawl, chosen)
    except BadManners as failure:
        raise BadWish(str(failure)) from failure


def _services(asked: Asked) -> Manners:
    """Take what the environment says of the services that a crawl in one process is made of."""
    try:
        fetcher = load_settings(FetcherSettings, os.environ).settings
        parser = load_settings(ParserSettings, os.environ).settings
        validator = load_settings(ValidatorSettings, os.environ).settings
        if fetcher.ca_file:
            make_tls_context(fetcher.ca_file, is_verified=True)
        check_site_parsers(parser.site_parsers)
    except (SettingsError, StartRefused) as failure:
        raise BadWish(str(failure)) from failure
    if fetcher.proxies_enabled and not fetcher.proxy_urls:
        raise BadWish(NO_PROXY)
    return Manners(fetcher.crawl, fetcher, parser, validator, concurrency=asked.concurrency)


def _seeds(urls: Sequence[str], from_file: Path | None) -> Iterator[str]:
    for url in urls:
        if url == "-":
            yield from _urls_of(sys.stdin.buffer, "standard input")
        else:
            yield read_seed(url)
    if from_file is None:
        return
    try:
        with from_file.open("rb") as lines:
            yield from _urls_of(lines, f"--from {from_file}")
    except OSError as failure:
        raise BadWish(f"--from {from_file}: {failure.strerror}") from failure


def _urls_of(lines: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8-sig").strip()
        except UnicodeDecodeError as failure:
            raise BadWish(f"{name}: line {number} is no UTF-8; wanted are URLs, one a line") from failure
        if text and not text.startswith("#"):
            yield read_listed(text)


def headers_of(texts: Sequence[str]) -> Mapping[str, str]:
    """Read the headers that a person wants to send; raises BadWish."""
    headers: dict[str, str] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        is_name = bool(name) and all(letter.isalnum() or letter in _NAME_MARKS for letter in name)
        is_text = value.isprintable() and value.isascii() and len(text) <= MAX_HEADER_BYTES
        if not (colon and is_name and name.isascii() and is_text):
            raise BadWish(f"--header {text[:80]!r}: wanted is 'Name: value' in plain characters")
        if name.lower() in _OURS:
            raise BadWish(f"--header {name}: this one belongs to the connection and cannot be set")
        headers[name] = value.strip()
    return headers
