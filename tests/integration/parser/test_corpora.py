"""Public corpora: every page has an event, in time, that can be encoded."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import PAGES_PARSED
from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import ParseLimits, fit_event
from tests.unit.parser.pages import a_page

from .feed_expectations import BASE, expectations

CORPORA = Path(__file__).parents[4] / "shared" / "corpora"
CODEC = Codec(SchemaStore.bundled())
READER = make_reader(ParseLimits())
SECONDS_A_PAGE = 2.0

FILES = sorted(
    path
    for folder in ("wcxb-dev", "pagination", "structured", "feeds", "sitemaps", "robots")
    for path in (CORPORA / folder).rglob("*")
    if path.is_file() and path.suffix in {".gz", ".html", ".xml", ".txt", ".rss", ".atom", ".json"}
)

pytestmark = pytest.mark.skipif(not FILES, reason=f"no corpora at {CORPORA}")


def check(path: Path) -> str:
    content = path.read_bytes()
    body = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    began = time.process_time()
    page = READER(a_page(body, body_bytes=len(body), content_type=""), body)
    took = time.process_time() - began
    event = fit_event(page, may_store=False).event

    assert took < SECONDS_A_PAGE, path
    assert len(CODEC.encode(PAGES_PARSED, event).value) <= PAGES_PARSED.max_bytes, path
    return page.outcome


def test_a_sample_of_all_corpora_is_read() -> None:
    outcomes = {check(path) for path in FILES[:: max(1, len(FILES) // 150)]}

    assert outcomes <= {"parsed", "partly_parsed", "empty", "unsupported"}
    assert "parsed" in outcomes


@pytest.mark.slow
def test_all_corpora_are_read() -> None:
    outcomes = {check(path) for path in FILES}

    assert outcomes <= {"parsed", "partly_parsed", "empty", "unsupported"}


def test_pages_of_the_article_corpus_have_title_text_and_links() -> None:
    """The content of the extraction corpora is extracted."""
    files = [path for path in FILES if "wcxb-dev" in path.parts and path.name.endswith(".html.gz")][::25]
    found = [READER(a_page(body), body) for body in (gzip.decompress(path.read_bytes()) for path in files)]

    assert len(found) >= 10
    with_all = [page for page in found if page.title and page.text_chars > 200 and page.link_urls]
    assert len(with_all) >= 0.9 * len(found)


def test_feeds_have_the_links_titles_and_dates_that_other_parsers_find() -> None:
    """The threshold is 98 %; response headers are not part of a feed's file."""
    read = make_reader(ParseLimits(extraction="records"))
    met, missed = 0, []
    for wanted in expectations(CORPORA / "feeds"):
        content = wanted.path.read_bytes()
        page = read(a_page(content, url=BASE, content_type=""), content)
        said = json.loads(page.structured_json)[0] if page.structured_json else {"entries": []}
        if wanted.is_met(said):
            met += 1
        else:
            missed.append(wanted)

    assert met + len(missed) > 100
    assert met / (met + len(missed)) >= 0.98, missed


def test_json_ld_is_read_as_others_expect_it() -> None:
    """Broken files are included: the expectations were written for a repairing tool."""
    read = make_reader(ParseLimits(extraction="records"))
    missed = []
    for path in sorted((CORPORA / "structured").rglob("*.jsonld")):
        wanted = json.loads(path.read_text())
        if isinstance(wanted, list) and path.with_suffix(".html").exists():
            content = path.with_suffix(".html").read_bytes()
            page = read(a_page(content, content_type=""), content)
            told = json.loads(page.structured_json or "[]")
            items = next((group["items"] for group in told if group["format"] == "json-ld"), [])
            missed += [path.name] * (items != wanted)

    assert missed == []


def test_rdfa_is_read_as_others_expect_it() -> None:
    """Subjects and values in any order; blank node names are the reader's own."""
    read = make_reader(ParseLimits(extraction="records"))
    missed = []
    for path in sorted((CORPORA / "structured").glob("w*/*.expanded.json")):
        content = path.with_name(path.name.replace(".expanded.json", ".html")).read_bytes()
        page = read(a_page(content, url="http://www.example.com/index.html"), content)
        told = json.loads(page.structured_json or "[]")
        items = next((group["items"] for group in told if group["format"] == "rdfa"), [])
        if in_any_order(items) != in_any_order(json.loads(path.read_text())):
            missed.append(path.name)

    assert missed == []


def in_any_order(told: Any) -> Any:
    if isinstance(told, dict):
        return {name: in_any_order(value) for name, value in told.items()}
    if isinstance(told, list):
        return sorted(map(in_any_order, told), key=lambda one: json.dumps(one, sort_keys=True))
    return "_:" if isinstance(told, str) and told.startswith("_:") else told
