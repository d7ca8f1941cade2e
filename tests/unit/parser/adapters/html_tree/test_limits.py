"""Documents beyond the depth and attribute limits are cut before parsing; usual ones are not."""

from __future__ import annotations

from random import Random

import pytest

from strider.parser.adapters.html_tree.limits import (
    LONG_TAG_BYTES,
    MAX_DEPTH,
    UNCHECKED_BYTES,
    _long_tags,
    find_cut_offset,
)
from strider.parser.adapters.html_tree.reader import read_html


def test_usual_documents_have_no_limit() -> None:
    content = b"<p>x<br><li>y<img src=z>" * 20_000

    assert find_cut_offset(content) is None


def test_siblings_are_not_deep() -> None:
    """Unclosed elements with an implied end add no depth."""
    assert find_cut_offset(b"<div><p>x</div>" * 20_000) is None


def test_small_documents_are_not_looked_at() -> None:
    assert find_cut_offset(b"<div>" * (UNCHECKED_BYTES // 5)) is None


def test_the_limit_is_found_where_it_is_passed() -> None:
    assert find_cut_offset(b"<div>" * 50_000) == MAX_DEPTH * 5


def test_a_bottomless_document_is_read_up_to_the_limit() -> None:
    """Lexbor would take minutes over it."""
    reading = read_html(b"<a href=/top>top</a>" + b"<div>x" * 200_000)

    assert reading.is_truncated
    assert [anchor.href for anchor in reading.anchors] == ["/top"]
    assert reading.text.startswith("top\nx\nx")


def test_an_element_of_endless_attributes_is_where_reading_ends() -> None:
    """Lexbor would take a minute over it."""
    before = b"<p>before" * 10_000
    content = before + b"<p " + b" ".join(b"a%d=1" % number for number in range(200_000)) + b">after"

    assert find_cut_offset(content) == len(before)
    assert read_html(content).text.endswith("before\nbefore")


def test_long_values_are_no_attributes() -> None:
    """Inline images are long, and so are texts and scripts."""
    content = (
        b"<img src='data:"
        + b"x" * 99_000
        + b"'><script>"
        + b"a b " * 50_000
        + b"</script><p>"
        + b"a b " * 50_000
    )

    assert find_cut_offset(content) is None


def test_anchors_end_each_other() -> None:
    reading = read_html(b"".join(b"<a href=/%d>x " % number for number in range(20_000)))

    assert (len(reading.anchors), reading.is_truncated) == (20_000, False)


def test_of_a_million_anchors_the_first_are_looked_at() -> None:
    reading = read_html(b"<a href=/x>x</a>" * 20_001)

    assert (len(reading.anchors), reading.is_truncated) == (20_000, True)


def test_long_pieces_are_found_wherever_they_lie() -> None:
    """Searching around every 4,096th byte must find all that splitting would find."""
    chance = Random(4_096)
    lengths = (0, 1, 100, 4_094, 4_095, 4_096, 4_097, 8_191, 8_192, 8_193, 20_000)
    for _ in range(300):
        pieces = [b"x" * chance.choice(lengths) for _ in range(chance.randrange(1, 12))]
        content, expected, at = b"<".join(pieces), [], len(pieces[0])
        for piece in pieces[1:]:
            if len(piece) >= LONG_TAG_BYTES:
                expected.append((at, at + 1 + len(piece)))
            at += 1 + len(piece)

        assert list(_long_tags(content)) == expected


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"<div data-state='" + b"many words with spaces " * 5_000 + b"'>", id="a long value"),
        pytest.param(b"<div data-html='" + b"<p>a b</p> " * 8_000 + b"'>", id="markup in a value"),
        pytest.param(b"<svg>" + b"<path d='M0 0'/>" * 5_000 + b"</svg>", id="drawings"),
        pytest.param(b"<script>" + b"'<div>' + " * 9_000 + b"</script>", id="markup in a script"),
        pytest.param(b"<!--" + b"<div>" * 15_000 + b"-->", id="markup in a remark"),
    ],
)
def test_what_only_looks_beyond_reason_is_read_whole(content: bytes) -> None:
    """Forums and shops send their data in one attribute; that is much text, and neither deep nor wide."""
    assert find_cut_offset(content + b"<p>End</p>" + b" " * UNCHECKED_BYTES) is None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"<svg><div>" + b"<path/>" * 20_000, id="drawings outside of a drawing"),
        pytest.param(b"<a x='>' " + b"b c " * 20_000 + b">", id="attributes behind a bracket in a value"),
        pytest.param(b"<a x=y='" + b"b c " * 20_000 + b"'>", id="attributes that pretend to be a value"),
    ],
)
def test_what_pretends_to_be_harmless_is_cut(content: bytes) -> None:
    assert find_cut_offset(content) is not None
