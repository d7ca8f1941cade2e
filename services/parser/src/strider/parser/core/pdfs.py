"""What does a PDF say? The shape between whoever reads one and the event.

It has text, a title and links like a page, but neither regions nor markup: all of its text is main text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import ExtractionLevel, ParseOutcome

from .fingerprints import simhash
from .metadata import MAX_TITLE_CHARS, as_language
from .outcomes import Unreadable
from .outlinks import Outlinks, find_outlinks
from .readings import ELSEWHERE, Anchors

PDF: Final = "pdf"
MAX_AUTHOR_CHARS: Final = 200


@fast_dataclass(frozen=True, slots=True)
class PdfReading:
    """What was found in a document, as it stands there."""

    title: str = ""
    author: str = ""
    language: str = ""
    text: str = ""
    """A line for each line, single spaces within, page after page."""
    hrefs: Sequence[str] = ()
    is_whole: bool = True
    """False where pages are missing: broken ones, or those that there was no time for."""


ReadPdf = Callable[[bytes, float], PdfReading | Unreadable]
"""Takes a document and the processor time after which no further page of it is begun."""


def no_pdf(content: bytes, seconds: float) -> Unreadable:
    """Read nothing: nobody here knows PDF."""
    del content, seconds
    return Unreadable(ParseOutcome.UNSUPPORTED, f"{PDF}: strider-parser[pdf] is not installed")


def of_pdf(reading: PdfReading, *, extraction: str) -> dict[str, Any]:
    """Write what it says of itself, and its text as main text where that is asked for."""
    said: dict[str, Any] = {
        "title": " ".join(reading.title.split())[:MAX_TITLE_CHARS],
        "author": " ".join(reading.author.split())[:MAX_AUTHOR_CHARS],
    }
    if said["title"]:
        said["title_source"] = PDF
    if reading.language:
        said |= {"language": as_language(reading.language), "language_confidence": 0.8}
    if extraction != ExtractionLevel.BASIC:
        text = reading.text
        said |= {"extraction": extraction, "main_text": text, "main_text_chars": len(text)}
        said["simhash"] = simhash(text)
    return said


def links_of_pdf(reading: PdfReading, url: str, *, max_links: int) -> Outlinks:
    """Resolve what it leads to; its links have neither words nor flags."""
    count = len(reading.hrefs)
    anchors = Anchors(reading.hrefs, ("",) * count, ("",) * count, (ELSEWHERE,) * count)
    return find_outlinks(anchors, base=url, max_links=max_links)
