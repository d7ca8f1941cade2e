"""Within which limits a page is read, and with which tools: what unpacks and walks trees is given.

Knows no library and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from strider.contracts.generated.enums import ExtractionLevel

from .outcomes import Unreadable
from .pdfs import ReadPdf, no_pdf
from .portions import Portions
from .readings import Depth, HtmlReading
from .sitefields import ReadSite, no_site


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A body without its content encodings."""

    content: bytes
    is_whole: bool = True
    """False where it breaks off, and this is what came before."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a page is read, and for whom."""

    max_decoded_bytes: int = 10 * 1024 * 1024
    max_links: int = 1_000
    robot: str = "strider"
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
    def depth(self) -> Depth:
        """What the reading of a page has to bring."""
        return Depth(
            has_blocks=self.extraction != ExtractionLevel.BASIC,
            with_markdown=self.with_markdown,
            with_records=self.extraction == ExtractionLevel.RECORDS,
        )


Unpack = Callable[[bytes, str, int], Unpacked | Unreadable]
"""Takes body, Content-Encoding and the most bytes that may come out."""


OpenBody = Callable[[bytes, str, int], Portions | None]
"""Takes the same, and gives the body in portions; None where it has to be unpacked as a whole."""


def not_in_portions(_body: bytes, _content_encoding: str, _max_bytes: int) -> None:
    """Open none."""
    return


@dataclass(frozen=True, slots=True)
class Tools:
    """What reads for us."""

    unpack: Unpack
    read_html: Callable[[bytes, Depth], HtmlReading]
    cpu_seconds: Callable[[], float]
    read_site: ReadSite = no_site
    read_pdf: ReadPdf = no_pdf
    open_body: OpenBody = not_in_portions
