"""XHTML that is sent as XML has the content of its elements, though HTML would parse it differently."""

from __future__ import annotations

import json
from time import process_time

import pytest

from strider.parser.core import ParseLimits
from strider.parser.core.document.xhtml import xhtml_to_html
from tests.unit.parser.pages import read

XHTML = "application/xhtml+xml; charset=utf-8"


@pytest.mark.parametrize("content_type", [XHTML, "application/xml", "text/xml"])
def test_an_empty_element_takes_nothing_into_itself(content_type: str) -> None:
    """In HTML everything after it would be part of the title or the script."""
    page = read(
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>'
        '<script src="a.js"/><style type="text/css"/><meta name="description" content="D"/></head><body>'
        '<h1>Head</h1><a id="top"/><iframe src="/f"/><textarea/><p>One<br/>two.</p>'
        '<a href="/b/">B</a></body></html>',
        content_type=content_type,
    )

    assert (page.title, page.title_source, page.description) == ("Head", "h1", "D")
    assert (page.text, page.link_urls) == (
        "Head\nOne\ntwo.\nB",
        ("https://site.test/b/", "https://site.test/f"),
    )


def test_sections_of_cdata_are_text() -> None:
    page = read(
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title><![CDATA[A & B <c>]]></title>'
        '<script type="application/ld+json">//<![CDATA[\n{"@type": "Thing", "name": "a < b"}\n//]]></script>'
        "</head><body><p><![CDATA[1 < 2 & \xe4]]></p><!-- <![CDATA[no]]> <b/> --></body></html>",
        content_type=XHTML,
        limits=ParseLimits(extraction="records"),
    )

    assert (page.title, page.text) == ("A & B <c>", "1 < 2 & ä")
    assert json.loads(page.structured_json)[0]["items"] == [{"@type": "Thing", "name": "a < b"}]


def test_what_is_sent_as_html_is_read_as_html() -> None:
    """Like browsers, whatever the XML declaration states."""
    page = read(
        '<?xml version="1.0"?><html><body><p/><i/>One<div/>two</body></html>', content_type="text/html"
    )

    assert page.text == "One\ntwo"
    assert xhtml_to_html(b"<a href=/b/>B</a><br/><p>x</p>") == b"<a href=/b/>B</a><br/><p>x</p>"


@pytest.mark.parametrize(
    "piece", [b"<!--", b"<![CDATA[", b"<script>", b'<a "', b"<a '\"", b"<a/", b"<b/>", b'<a b="/>']
)
def test_it_takes_time_by_the_length_of_the_page(piece: bytes) -> None:
    content = piece * 200_000
    before = process_time()
    xhtml_to_html(content)

    assert process_time() - before < 2
