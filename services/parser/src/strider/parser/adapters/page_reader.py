"""Parse one page in this process: the core with its tools.

Used by worker processes, and by the service itself where it parses pages in its own process. Decides only
which outcomes the failures of the tools become.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache
from typing import Final, Protocol

from selectolax.lexbor import SelectolaxError

from strider.contracts.generated.enums import ParseOutcome
from strider.contracts.generated.events import PageFetched, PageParsed
from strider.parser.core import (
    DEFAULT_OPTIONS,
    PageOptions,
    ParseFailure,
    ParseLimits,
    ParserTools,
    parse,
    unreadable_page,
)
from strider.parser.core.document.pdf import pdf_unsupported
from strider.sites import load_installed_parsers, select_parsers

from .content_encoding import open_body, unpack
from .html_tree.reader import read_html
from .html_tree.site_selectors import make_named_reader, make_site_reader
from .pdf import read_pdf

PARSER_TOOLS: Final = ParserTools(
    decode_body=unpack,
    read_html=read_html,
    cpu_seconds=time.thread_time,
    read_pdf=read_pdf,
    open_body_stream=open_body,
)


MAX_KNOWN_OPTIONS: Final = 64
"""Options of crawl specs that are kept prepared."""


class PageReader(Protocol):
    """Parses pages."""

    def __call__(self, page: PageFetched, body: bytes, options: PageOptions = DEFAULT_OPTIONS) -> PageParsed:
        """Parse a page with its body as sent."""


def make_reader(limits: ParseLimits, *, reads_pdf: bool = True) -> PageReader:
    """Return a page reader with these limits."""
    chosen = select_parsers(load_installed_parsers().parsers, limits.site_parsers)
    tools = replace(
        PARSER_TOOLS, read_site=make_site_reader(chosen), read_pdf=read_pdf if reads_pdf else pdf_unsupported
    )

    @lru_cache(maxsize=MAX_KNOWN_OPTIONS)
    def prepare(options: PageOptions) -> tuple[ParserTools, ParseLimits]:
        own = replace(
            limits,
            extraction=options.extraction or limits.extraction,
            with_markdown=options.with_markdown or limits.with_markdown,
        )
        if not options.parser:
            return tools, own
        return replace(tools, read_site=make_named_reader(chosen, options.parser)), own

    def read(page: PageFetched, body: bytes, options: PageOptions = DEFAULT_OPTIONS) -> PageParsed:
        own_tools, own_limits = prepare(options)
        return parse(page, body, tools=own_tools, limits=own_limits)

    return guard_reader(read)


def guard_reader(read: PageReader) -> PageReader:
    """Wrap a page reader so that failures of its tools become outcomes instead of exceptions."""

    def read_guarded(page: PageFetched, body: bytes, options: PageOptions = DEFAULT_OPTIONS) -> PageParsed:
        try:
            return read(page, body, options)
        except MemoryError:
            return unreadable_page(page, ParseFailure(ParseOutcome.OUT_OF_MEMORY, "over the limit of memory"))
        except SelectolaxError as failure:
            return unreadable_page(page, ParseFailure(ParseOutcome.MALFORMED, str(failure)))

    return read_guarded
