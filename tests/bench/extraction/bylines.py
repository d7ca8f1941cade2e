"""Who wrote a page and when it was published, held against what people have noted of WCXB's pages.

A name or a day counts as right where it is the same but for case and marks between its words. Where nothing
was noted, whatever is found counts as wrong, though lists and services often say both.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from trafilatura.metadata import extract_metadata

from strider.contracts.generated.events import PageParsed

HEAD: Final = """
## Author and date

Precision and recall of who wrote the same pages and of the day they were published: the same words, or the
same day, as noted by people. Where nothing was noted (many pages that are no articles), all found is wrong.

| | noted | strider | trafilatura |
|---|---|---|---|
"""
DAY_CHARS: Final = 10


class Byline(NamedTuple):
    """What is known of a page."""

    author: str = ""
    day: str = ""


class Noted(NamedTuple):
    """A page, and what people have noted of it."""

    content: bytes
    url: str
    byline: Byline


def _trafilatura(page: Noted) -> Byline:
    found = extract_metadata(page.content.decode("utf-8", "replace"))
    return Byline() if found is None else Byline(found.author or "", found.date or "")


def bylines(pages: Iterable[Noted], read: Callable[[bytes, str], PageParsed]) -> str:
    """Measure; gives the section."""

    def ours(page: Noted) -> Byline:
        parsed = read(page.content, page.url)
        return Byline(parsed.author, parsed.published_at[:DAY_CHARS])

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    readers: Mapping[str, Callable[[Noted], Byline]] = {"strider": ours, "trafilatura": _trafilatura}
    tallies: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in readers}
    wanted: Counter[str] = Counter()
    for page in pages:
        for part, noted in page.byline._asdict().items():
            wanted[part] += bool(noted)
        for name, reader in readers.items():
            for part, found in reader(page)._asdict().items():
                noted = _words(getattr(page.byline, part))
                tallies[name][part, "found"] += bool(found)
                tallies[name][part, "right"] += bool(found) and _words(found) == noted
    rows = [
        f"| {part} | {count} | {' | '.join(_rates(tally, part, count) for tally in tallies.values())} |\n"
        for part, count in wanted.items()
    ]
    return HEAD + "".join(rows)


def _words(said: str) -> list[str]:
    return re.findall(r"\w+", said.lower())


def _rates(tally: Counter[tuple[str, str]], part: str, wanted: int) -> str:
    right = tally[part, "right"]
    return f"{right / max(1, tally[part, 'found']):.3f} / {right / max(1, wanted):.3f}"
