"""What does a PDF say? The shape between whoever reads one and the event.

It has text, a title and links like a page, but neither regions nor markup: all of its text is main text.
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
    """What was found in a document, as it stands there."""

    title: str = ""
    author: str = ""
    language: str = ""
    text: str = ""
    """A line for each line, single spaces within, page after page."""
    hrefs: Sequence[str] = ()
    is_whole: bool = True
    """False where pages are missing: broken ones, or those that there was no time for."""


ReadPdf = Callable[[bytes, float], PdfExtract | ParseFailure]
"""Takes a document and the processor time after which no further page of it is begun."""


def pdf_unsupported(content: bytes, seconds: float) -> ParseFailure:
    """Read nothing: nobody here knows PDF."""
    del content, seconds
    return ParseFailure(ParseOutcome.UNSUPPORTED, f"{PDF}: strider-parser[pdf] is not installed")


def pdf_fields(pdf: PdfExtract, *, extraction: str) -> dict[str, Any]:
    """Write what it says of itself, and its text as main text where that is asked for."""
    said: dict[str, Any] = {
        "title": " ".join(pdf.title.split())[:MAX_TITLE_CHARS],
        "author": " ".join(pdf.author.split())[:MAX_AUTHOR_CHARS],
    }
    if said["title"]:
        said["title_source"] = PDF
    if pdf.language:
        said |= {"language": normalize_language(pdf.language), "language_confidence": 0.8}
    if extraction != ExtractionLevel.BASIC:
        text = pdf.text
        said |= {"extraction": extraction, "main_text": text, "main_text_chars": len(text)}
        said["simhash"] = simhash(text)
    return said


def pdf_outlinks(pdf: PdfExtract, url: str, *, max_links: int) -> Outlinks:
    """Resolve what it leads to; its links have neither words nor flags."""
    count = len(pdf.hrefs)
    anchors = Anchors(pdf.hrefs, ("",) * count, ("",) * count, (ELSEWHERE,) * count)
    return find_outlinks(anchors, base=url, max_links=max_links)
