"""XHTML that is sent as XML has the content of its elements, though HTML would parse it differently."""

from __future__ import annotations

import json

import pytest

from strider.parser.core import ParseLimits
from strider.parser.core.document.markup_rewriting import inline_shadow_roots, xhtml_to_html
from tests.processor_cost import assert_cheap
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

    assert_cheap(lambda: xhtml_to_html(content), yardsticks=300)


OPEN, CLOSED = b"<shadow-root>", b"</shadow-root>"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"<template shadowrootmode=open>a</template>", OPEN + b"a" + CLOSED, id="open"),
        pytest.param(
            b'<TEMPLATE id=">" shadowrootmode="closed">a</TEMPLATE >', OPEN + b"a" + CLOSED, id="closed"
        ),
        pytest.param(
            b"<template><template shadowrootmode=open>a</template></template>b",
            b"<template>" + OPEN + b"a" + CLOSED + b"</template>b",
            id="within-a-template",
        ),
        pytest.param(
            b"<template shadowrootmode=open><template>a</template>b</template>",
            OPEN + b"<template>a</template>b" + CLOSED,
            id="a-template-within",
        ),
        pytest.param(
            b"<template shadowrootmode=open><script>'</template>'</script><!-- </template> -->b</template>",
            OPEN + b"<script>'</template>'</script><!-- </template> -->b" + CLOSED,
            id="beside-markup",
        ),
        pytest.param(b"<template shadowrootmode=none>a</template>", None, id="another-mode"),
        pytest.param(b"<template x-shadowrootmode=open>a</template>", None, id="another-attribute"),
        pytest.param(b"<templates shadowrootmode=open>a</templates>", None, id="another-element"),
        pytest.param(b"</template>shadowrootmode", None, id="an-end-alone"),
        pytest.param(b"<!-- <template shadowrootmode=open>", None, id="a-remark"),
    ],
)
def test_which_templates_are_seen(content: bytes, expected: bytes | None) -> None:
    assert inline_shadow_roots(content) == (content if expected is None else expected)


def test_the_content_of_a_shadow_root_is_part_of_the_page() -> None:
    page = read(
        b"<main><h1>Shop</h1><p>Open: <my-hours><template shadowrootmode=open><b>nine</b> to five "
        b"<a href=/hours>Hours</a></template></my-hours> daily</p><template><a href=/no>no</a></template>",
        limits=ParseLimits(extraction="main"),
        url="https://site.test/",
    )

    assert page.link_urls == ("https://site.test/hours",)
    assert page.text.split() == ["Shop", "Open:", "nine", "to", "five", "Hours", "daily"]
    assert "nine to five" in " ".join(page.main_text.split())
    assert page.paragraph_count == 1


@pytest.mark.parametrize(
    "piece", [b"<!--", b"<script>", b"<template ", b"<template shadowrootmode=open>", b'<template "']
)
def test_time_grows_with_the_page_alone(piece: bytes) -> None:
    content = b"shadowrootmode" + piece * (2_000_000 // len(piece))

    assert_cheap(lambda: inline_shadow_roots(content), yardsticks=300)
