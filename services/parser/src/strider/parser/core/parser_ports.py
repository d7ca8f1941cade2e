"""Limits for parsing a page, and the functions that the core calls for it.

Knows no library and decides nothing; adapters provide the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from strider.contracts.generated.enums import ExtractionLevel

from .document.pdf import ReadPdf, pdf_unsupported
from .document.streamed_body import BodyStream
from .html.models import ExtractionDepth, HtmlExtract
from .site_parser_fields import RunSiteParser, no_site_parser
from .unreadable_pages import ParseFailure


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """A body with its content encodings undone."""

    content: bytes
    is_whole: bool = True
    """False if the body is truncated; then the content is what could be decoded."""


class PageOptions(NamedTuple):
    """Options of the crawl spec of a page; the defaults are those of the process."""

    extraction: str = ""
    """Extraction level; empty means the default."""
    with_markdown: bool = False
    parser: str = ""
    """Name of the site parser to use, or NO_SITE_PARSER; empty means the one of the page's site."""


DEFAULT_OPTIONS: Final = PageOptions()

NO_SITE_PARSER: Final = "off"


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits of parsing, and the extraction level."""

    max_decoded_bytes: int = 10 * 1024 * 1024
    max_links: int = 1_000
    robot_name: str = "strider"
    """Our robot name in lower case, by which pages may address us alone."""
    extraction: str = ExtractionLevel.BASIC
    with_markdown: bool = False
    site_parsers: str = ""
    """Selected versions of site parsers as `name=version`; others use their newest version."""
    pdf_seconds: float = 1.0
    """CPU time in seconds after which no further page of a PDF is started."""
    max_sitemap_bytes: int = 50 * 1024 * 1024
    """Limit for documents requested as sitemaps: the sitemap protocol allows 50 MiB."""

    @property
    def extraction_depth(self) -> ExtractionDepth:
        """The parts of a page that the HTML reader has to extract."""
        return ExtractionDepth(
            has_blocks=self.extraction != ExtractionLevel.BASIC,
            with_markdown=self.with_markdown,
            with_records=self.extraction == ExtractionLevel.RECORDS,
        )


DecodeBody = Callable[[bytes, str, int], DecodedBody | ParseFailure]
"""Decode a body: arguments are body, Content-Encoding and the maximum decoded size in bytes."""


OpenBodyStream = Callable[[bytes, str, int], BodyStream | None]
"""Open a body as a stream, with the same arguments; None if it needs to be decoded as a whole."""


def no_body_stream(_body: bytes, _content_encoding: str, _max_bytes: int) -> None:
    """Return None: no body is streamed."""
    return


@dataclass(frozen=True, slots=True)
class ParserTools:
    """The functions by which adapters read bodies and documents."""

    decode_body: DecodeBody
    read_html: Callable[[bytes, ExtractionDepth], HtmlExtract]
    cpu_seconds: Callable[[], float]
    read_site: RunSiteParser = no_site_parser
    read_pdf: ReadPdf = pdf_unsupported
    open_body_stream: OpenBodyStream = no_body_stream
