"""PDF: text, title and links; encrypted, broken and endless documents are reported."""

from __future__ import annotations

import sys

import pytest

from strider.contracts.generated.events import PageParsed
from strider.parser.adapters import pdf as pdfs
from strider.parser.core import ParseLimits
from tests.unit.parser import pages
from tests.unit.parser.pdfs import a_pdf, locked, packed

OF_PDF = {"content_type": "application/pdf"}


def read(document: bytes, limits: ParseLimits | None = None, **fields: str) -> PageParsed:
    return pages.read(document, limits=limits, **{**OF_PDF, **fields})


def test_a_pdf_has_text_title_and_links() -> None:
    page = read(
        a_pdf(
            ["First page  of it.", "Second page."],
            title="On streams",
            links=["https://other.test/a#x", "/b", "mailto:x@y", "/b"],
        )
    )

    assert (page.outcome, page.document_kind, page.truncated) == ("parsed", "pdf", False)
    assert page.text == "First page of it.\nSecond page."
    assert (page.title, page.title_source, page.author) == ("On streams", "pdf", "J. Doe")
    assert page.language == "de-AT"
    assert page.link_urls == ("https://other.test/a", "https://site.test/b")
    assert page.link_anchors == ("", "")
    assert (page.word_count, page.text_hash != "", page.extraction) == (6, True, "basic")


def test_its_text_is_main_text_at_that_level() -> None:
    page = read(a_pdf(), ParseLimits(extraction="main"))

    assert (page.extraction, page.main_text, page.main_text_chars) == ("main", page.text, len(page.text))
    assert page.simhash != 0


@pytest.mark.parametrize(
    ("document", "content_type"),
    [
        pytest.param(a_pdf(), "text/html", id="labelled-as-page"),
        pytest.param(b"X-Mailer: 1\r\n\r\n" + a_pdf(), "application/pdf", id="behind-something-else"),
        pytest.param(locked(a_pdf(), password=""), "application/pdf", id="locked-without-a-password"),
    ],
)
def test_what_is_a_pdf_is_read_as_one(document: bytes, content_type: str) -> None:
    assert read(document, content_type=content_type).text == "Walking on streams."


@pytest.mark.parametrize(
    ("document", "outcome", "message"),
    [
        pytest.param(locked(a_pdf(), password="x"), "unsupported", "password", id="locked"),
        pytest.param(b"%PDF-1.7\n%%EOF", "malformed", "Error", id="only-a-beginning"),
        pytest.param(a_pdf(catalog=b"<< /Type /Catalog >>"), "malformed", "Error", id="no-pages"),
    ],
)
def test_an_unreadable_document_has_a_reason(document: bytes, outcome: str, message: str) -> None:
    page = read(document)

    assert (page.outcome, page.document_kind) == (outcome, "pdf")
    assert message in page.error_message


def test_a_broken_page_costs_itself() -> None:
    streams = [packed(b"0 " * 20_000_000), packed(b"BT /F1 12 Tf (Still here.) Tj ET")]

    page = read(a_pdf(streams=streams))

    assert (page.outcome, page.truncated, page.text) == ("partly_parsed", True, "Still here.")


def test_without_time_no_further_page_is_begun() -> None:
    page = read(a_pdf(["x"] * 3), ParseLimits(pdf_seconds=-1.0))

    assert (page.outcome, page.text, page.title) == ("partly_parsed", "", "A paper")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pdfs._load_pypdf.cache_clear()
    monkeypatch.setitem(sys.modules, "pypdf", None)

    page = read(a_pdf())

    assert (page.outcome, page.error_class) == ("unsupported", "unsupported_document")
    assert "strider-parser[pdf]" in page.error_message
