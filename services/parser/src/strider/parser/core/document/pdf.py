"""Model of an extracted PDF, and its event fields.

A PDF has text, a title and links like a page, but neither regions nor markup: all of its text is main text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import ExtractionLevel, ParseOutcome
from strider.parser.core.content.simhash import simhash
from strider.parser.core.html.metadata import MAX_TITLE_CHARS, normalize_language
from strider.parser.core.html.models import ELSEWHERE, Anchors
from strider.parser.core.html.outlinks import Outlinks, find_outlinks
from strider.parser.core.unreadable_pages import ParseFailure

PDF: Final = "pdf"
MAX_AUTHOR_CHARS: Final = 200


@fast_dataclass(frozen=True, slots=True)
class PdfExtract:
    """Content extracted from a PDF, unchanged."""

    title: str = ""
    author: str = ""
    language: str = ""
    text: str = ""
    """One line per line of the PDF, with single spaces, page after page."""
    hrefs: Sequence[str] = ()
    is_whole: bool = True
    """False if pages are missing: damaged ones, or those beyond the CPU time limit."""


ReadPdf = Callable[[bytes, float], PdfExtract | ParseFailure]
"""Read a PDF: arguments are its bytes and the CPU seconds after which no further page is started."""


def pdf_unsupported(content: bytes, seconds: float) -> ParseFailure:
    """Report PDF as unsupported: no PDF library is installed."""
    del content, seconds
    return ParseFailure(ParseOutcome.UNSUPPORTED, f"{PDF}: strider-parser[pdf] is not installed")


def pdf_fields(pdf: PdfExtract, *, extraction: str) -> dict[str, Any]:
    """Return the event fields of a PDF; with main text if the extraction level asks for it."""
    fields: dict[str, Any] = {
        "title": " ".join(pdf.title.split())[:MAX_TITLE_CHARS],
        "author": " ".join(pdf.author.split())[:MAX_AUTHOR_CHARS],
    }
    if fields["title"]:
        fields["title_source"] = PDF
    if pdf.language:
        fields |= {"language": normalize_language(pdf.language), "language_confidence": 0.8}
    if extraction != ExtractionLevel.BASIC:
        text = pdf.text
        fields |= {"extraction": extraction, "main_text": text, "main_text_chars": len(text)}
        fields["simhash"] = simhash(text)
    return fields


def pdf_outlinks(pdf: PdfExtract, url: str, *, max_links: int) -> Outlinks:
    """Return the resolved links of a PDF, which have neither anchor text nor flags."""
    count = len(pdf.hrefs)
    anchors = Anchors(pdf.hrefs, ("",) * count, ("",) * count, (ELSEWHERE,) * count)
    return find_outlinks(anchors, base=url, max_links=max_links)
