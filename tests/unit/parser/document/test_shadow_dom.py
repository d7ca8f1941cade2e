"""Declared shadow roots are part of their page; other templates are not."""

from __future__ import annotations

import time

import pytest

from strider.parser.core import ParseLimits
from strider.parser.core.document.shadow_dom import inline_shadow_roots
from tests.unit.parser.pages import read

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
    began = time.process_time()
    inline_shadow_roots(content)

    assert time.process_time() - began < 2
