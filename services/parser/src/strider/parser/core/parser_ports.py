"""Within which limits a page is read, and with which tools: what unpacks and walks trees is given.

Knows no library and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from strider.contracts.generated.enums import ExtractionLevel

from .document.pdf import ReadPdf, pdf_unsupported
from .document.streamed_body import BodyStream
from .html.models import Depth, HtmlExtract
from .site_parser_fields import RunSiteParser, no_site_parser
from .unreadable_pages import ParseFailure


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """A body without its content encodings."""

    content: bytes
    is_whole: bool = True
    """False where it breaks off, and this is what came before."""


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """How much of a page is read, and for whom."""

    max_decoded_bytes: int = 10 * 1024 * 1024
    max_links: int = 1_000
    robot_name: str = "strider"
    """The name, in lower case, by which pages may speak to us alone."""
    extraction: str = ExtractionLevel.BASIC
    with_markdown: bool = False
    site_parsers: str = ""
    """Which versions of site parsers read, as `name=version`; whoever is not named reads in the newest."""
    pdf_seconds: float = 1.0
    """Processor time after which no further page of a PDF is begun."""
    max_sitemap_bytes: int = 50 * 1024 * 1024
    """Of what was asked for as a sitemap: so much the protocol allows."""

    @property
    def extraction_depth(self) -> Depth:
        """What the reading of a page has to bring."""
        return Depth(
            has_blocks=self.extraction != ExtractionLevel.BASIC,
            with_markdown=self.with_markdown,
            with_records=self.extraction == ExtractionLevel.RECORDS,
        )


DecodeBody = Callable[[bytes, str, int], DecodedBody | ParseFailure]
"""Takes body, Content-Encoding and the most bytes that may come out."""


OpenBodyStream = Callable[[bytes, str, int], BodyStream | None]
"""Takes the same, and gives the body in portions; None where it has to be unpacked as a whole."""


def no_body_stream(_body: bytes, _content_encoding: str, _max_bytes: int) -> None:
    """Open none."""
    return


@dataclass(frozen=True, slots=True)
class ParserTools:
    """What reads for us."""

    decode_body: DecodeBody
    read_html: Callable[[bytes, Depth], HtmlExtract]
    cpu_seconds: Callable[[], float]
    read_site: RunSiteParser = no_site_parser
    read_pdf: ReadPdf = pdf_unsupported
    open_body: OpenBodyStream = no_body_stream
