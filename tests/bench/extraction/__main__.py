"""python -m tests.bench.extraction: main text, bylines, pagination, products of others; writes the document.

Ours and the peers' figures come from the same run on the same files. The pages are for measuring: a larger
part of each set is kept back.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import trafilatura
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import detect_encoding
from resiliparse.parse.html import HTMLTree
from selectolax.lexbor import LexborHTMLParser

from strider.contracts.generated.enums import ExtractionLevel
from strider.contracts.generated.events import PageParsed
from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import ParseLimits
from strider.parser.core.html.metadata import resolve_url
from tests.unit.parser.pages import a_page

from .bylines import DAY_CHARS, Byline, Noted, bylines
from .products import products

ROOT: Final = Path(__file__).parents[3]
CORPORA: Final = ROOT.parent / "shared" / "corpora"
PAGE: Final = ROOT / "docs" / "extraction.md"
READ: Final = make_reader(ParseLimits(extraction=ExtractionLevel.MAIN))

HEAD: Final = """# Extraction

Written by `make extraction`; do not edit. All figures of a table are from one run on the same files.

## Main text

Word-level F1 (words as multisets, lower case) on {count} pages of WCXB's development set, by type of page.
CPU is that of everything from bytes to text, for the page in the mean ({kilobytes:.0f} KB); ours includes
title, metadata, links, visible text, pagination, kind and fingerprints.

"""


@dataclass(slots=True)
class Score:
    """What a reader came to on some pages."""

    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu_seconds: float = 0.0

    def mean(self, kind: str) -> float:
        """Give the mean of a type; of all for the empty one."""
        values = self.values[kind] if kind else [value for each in self.values.values() for value in each]
        return sum(values) / len(values)


def words_of(text: str) -> Counter[str]:
    """Count words."""
    return Counter(re.findall(r"\w+", text.lower()))


def f1_of(found: Counter[str], wanted: Counter[str]) -> float:
    """Compare two multisets."""
    common = (found & wanted).total()
    return 2 * common / (found.total() + wanted.total()) if common else float(not found and not wanted)


def _ours(content: bytes, url: str) -> str:
    return _parsed(content, url).main_text


def _trafilatura(content: bytes, url: str) -> str:
    del url
    return trafilatura.extract(content) or ""


def _resiliparse(content: bytes, url: str) -> str:
    del url
    return str(
        extract_plain_text(HTMLTree.parse_from_bytes(content, detect_encoding(content)), main_content=True)
    )


READERS: Final[Mapping[str, Callable[[bytes, str], str]]] = {
    "strider": _ours,
    "trafilatura": _trafilatura,
    "resiliparse": _resiliparse,
}


def main_text() -> str:
    """Measure main text."""
    scores = {name: Score() for name in READERS}
    counts: Counter[str] = Counter()
    size = 0
    for file in sorted((CORPORA / "wcxb-dev" / "html").glob("*.html.gz")):
        told = json.loads((CORPORA / "wcxb-dev" / "ground-truth" / f"{file.name[:4]}.json").read_text())
        wanted = words_of(told["ground_truth"]["main_content"] or "")
        kind = told["_internal"]["page_type"]["primary"]
        content = gzip.decompress(file.read_bytes())
        url = resolve_url(told["url"], "") or "https://page.invalid/"
        counts[kind] += 1
        size += len(content)
        for name, read in READERS.items():
            began = time.process_time()
            text = read(content, url)
            scores[name].cpu_seconds += time.process_time() - began
            scores[name].values[kind].append(f1_of(words_of(text), wanted))
    total = counts.total()
    rows = [f"| {kind} | {counts[kind]} | {_means(scores, kind)} |" for kind in sorted(counts)]
    rows.append(f"| **all** | {total} | {_means(scores, '')} |")
    cpu = " | ".join(f"{score.cpu_seconds / total * 1e3:.1f}" for score in scores.values())
    rows.append(f"| CPU, ms a page | | {cpu} |")
    head = f"| type | pages | {' | '.join(READERS)} |\n|---|---|{'---|' * len(READERS)}"
    return HEAD.format(count=total, kilobytes=size / total / 1024) + "\n".join((head, *rows)) + "\n"


def _means(scores: Mapping[str, Score], kind: str) -> str:
    return " | ".join(f"{score.mean(kind):.3f}" for score in scores.values())


Found = dict[str, set[str]]
"""next, previous, page → URLs."""

KINDS: Final = {"next": "NEXT", "previous": "PREV", "page": "PAGE"}


def _listed() -> Iterator[tuple[str, bytes, str, Mapping[str, str]]]:
    with (CORPORA / "pagination" / "data.csv").open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            file = CORPORA / "pagination" / "html" / f"{row['File Name']}.html.gz"
            if file.exists() and not row["failed"]:
                yield (
                    resolve_url(row["Page URL"], ""),
                    gzip.decompress(file.read_bytes()),
                    row["Encoding"],
                    row,
                )


def _wanted(tree: LexborHTMLParser, row: Mapping[str, str], base: str) -> Found:
    found: Found = {kind: set() for kind in KINDS}
    for kind, column in KINDS.items():
        for selector in filter(None, map(str.strip, row[column].split(" , "))):
            for match in tree.css(selector):
                node = match
                while node.tag != "a" and node.parent is not None:
                    node = node.parent
                found[kind].add(
                    resolve_url(node.attributes.get("href") or "", base) if node.tag == "a" else ""
                )
    return found


def _our_pages(page: PageParsed) -> Found:
    return {"next": {page.next_url}, "previous": {page.previous_url}, "page": set(page.page_urls)}


def _baseline(tree: LexborHTMLParser, base: str) -> Found:
    """What most crawlers do: rel=next, rel=prev, and ?page=N."""

    def urls(selector: str) -> set[str]:
        return {resolve_url(node.attributes.get("href") or "", base) for node in tree.css(selector)}

    numbered = {url for url in urls("a[href]") if re.search(r"[?&]page=\d+", url)}
    return {
        "next": urls('[rel~="next"]'),
        "previous": urls('[rel~="prev"],[rel~="previous"]'),
        "page": numbered,
    }


def pagination() -> str:
    """Measure pagination: a page's next link is right where it is one of those that were marked."""
    tallies: dict[str, Counter[tuple[str, str]]] = {"strider": Counter(), "baseline": Counter()}
    count = 0
    for url, content, encoding, row in _listed():
        page = READ(a_page(content, url=url, content_type=f"text/html; charset={encoding}"), content)
        tree = LexborHTMLParser(content.decode(encoding, "replace"))
        wanted = _wanted(tree, row, page.base_url)
        count += 1
        for name, found in (("strider", _our_pages(page)), ("baseline", _baseline(tree, page.base_url))):
            for kind in KINDS:
                _tally(tallies[name], kind, found[kind] - {"", url}, wanted[kind] - {"", url})
    rows = [
        f"| {name} | {' | '.join(_rates(tally, kind) for kind in KINDS)} |" for name, tally in tallies.items()
    ]
    head = (
        f"\n## Pagination\n\nPrecision / recall on {count} pages of autopager's set, whose next, previous and"
        " numbered links\nare marked (not all of them: a found link that was not marked counts as wrong)."
        " The baseline is rel=next, rel=prev and `?page=N`.\n\n"
        "| | next | previous | numbered |\n|---|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"


def _tally(tally: Counter[tuple[str, str]], kind: str, found: set[str], wanted: set[str]) -> None:
    if kind == "page":
        right, wrong, missed = len(found & wanted), len(found - wanted), len(wanted - found)
    else:
        right = int(bool(found & wanted))
        wrong, missed = int(bool(found) and not right), int(bool(wanted) and not right)
    tally.update({(kind, "right"): right, (kind, "wrong"): wrong, (kind, "missed"): missed})


def _rates(tally: Counter[tuple[str, str]], kind: str) -> str:
    right, wrong, missed = (tally[kind, what] for what in ("right", "wrong", "missed"))
    return f"{right / max(1, right + wrong):.3f} / {right / max(1, right + missed):.3f}"


def _noted() -> Iterator[Noted]:
    for file in sorted((CORPORA / "wcxb-dev" / "html").glob("*.html.gz")):
        told = json.loads((CORPORA / "wcxb-dev" / "ground-truth" / f"{file.name[:4]}.json").read_text())
        truth, url = told["ground_truth"], resolve_url(told["url"], "") or "https://page.invalid/"
        byline = Byline(truth["author"] or "", (truth["publish_date"] or "")[:DAY_CHARS])
        yield Noted(gzip.decompress(file.read_bytes()), url, byline)


def _parsed(content: bytes, url: str) -> PageParsed:
    return READ(a_page(content, url=url, content_type=""), content)


def _all_pages() -> Iterator[tuple[bytes, str]]:
    for file in sorted((CORPORA / "wcxb-dev" / "html").glob("*.html.gz")):
        told = json.loads((CORPORA / "wcxb-dev" / "ground-truth" / f"{file.name[:4]}.json").read_text())
        yield gzip.decompress(file.read_bytes()), resolve_url(told["url"], "") or "https://page.invalid/"
    for url, content, _, _ in _listed():
        yield content, url
    for file in sorted((CORPORA / "structured").rglob("*.html")):
        yield file.read_bytes(), "https://page.invalid/"


def main(arguments: Sequence[str]) -> int:
    """Measure all; 2 where the corpora are not there."""
    del arguments
    if not CORPORA.is_dir():
        sys.stderr.write(f"no corpora in {CORPORA}: nothing to measure\n")
        return 2
    page = main_text() + bylines(_noted(), _parsed) + pagination() + products(_all_pages())
    PAGE.write_text(page, encoding="utf-8")
    sys.stdout.write(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
