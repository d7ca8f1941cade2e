"""A robots.txt as bytes, decoded to text."""

from __future__ import annotations

import gzip
import zlib

import pytest

from strider.fetcher.core import FetchedResponse, decode_robots_body
from strider.fetcher.core.robots_body import MAX_GZIP_MEMBERS, RobotsFileFacts, read_robots_directives
from tests.unit.fetcher.builders import a_head, a_response

RULES = "User-agent: *\nDisallow: /a\n"
BOMB = gzip.compress(b"a" * 50_000_000)


def _packed(text: bytes, *, window: int) -> bytes:
    packer = zlib.compressobj(wbits=window)
    return packer.compress(text) + packer.flush()


@pytest.mark.parametrize(
    ("came", "text", "is_cut"),
    [
        pytest.param(a_response(RULES.encode()), RULES, False, id="plain"),
        pytest.param(a_response(b"\xef\xbb\xbf" + RULES.encode()), RULES, False, id="mark"),
        pytest.param(a_response(b"\xff\xfe" + RULES.encode("utf-16-le")), RULES, False, id="utf-16"),
        pytest.param(a_response(b"a\rb\r"), "a\rb\r", False, id="returns-only"),
        pytest.param(
            a_response("é".encode("latin-1"), content_type="text/plain; charset=ISO-8859-1"),
            "%E9",
            False,
            id="as-urls-escape-it",
        ),
        pytest.param(
            a_response("é".encode(), content_type="text/plain; charset=iso-8859-1"),
            "é",
            False,
            id="default-charset",
        ),
        pytest.param(
            a_response("é".encode("utf-16-be"), content_type="text/plain; charset=UTF-16BE"),
            "é",
            False,
            id="utf-16-by-head",
        ),
        pytest.param(a_response(b"a\xffb"), "a%FFb", False, id="no-utf-8"),
        pytest.param(a_response(b"a\x00b"), "ab", False, id="nul"),
        pytest.param(
            a_response(gzip.compress(RULES.encode()), content_encoding="gzip"), RULES, False, id="gzip"
        ),
        pytest.param(
            a_response(zlib.compress(RULES.encode()), content_encoding="deflate"), RULES, False, id="deflate"
        ),
        pytest.param(
            a_response(zlib.compress(RULES.encode())[2:-4], content_encoding="deflate"),
            RULES,
            False,
            id="raw-deflate",
        ),
        pytest.param(
            a_response(gzip.compress(gzip.compress(b"x")), content_encoding="gzip, gzip"),
            "x",
            False,
            id="twice",
        ),
        pytest.param(
            a_response(RULES.encode(), content_encoding="gzip"), RULES, False, id="not-packed-at-all"
        ),
        pytest.param(
            a_response(gzip.compress(b"a\n") + gzip.compress(b"b\n"), content_encoding="gzip"),
            "a\nb\n",
            False,
            id="two-members",
        ),
        pytest.param(a_response(b"", content_encoding="gzip"), "", False, id="nothing-packed"),
        pytest.param(
            a_response(gzip.compress(b"a") * 20_000, content_encoding="gzip"),
            "a" * MAX_GZIP_MEMBERS,
            True,
            id="members",
        ),
        pytest.param(
            a_response(gzip.compress(b"a\n") + bytes(512), content_encoding="gzip"), "a\n", False, id="padded"
        ),
        pytest.param(
            a_response(gzip.compress(RULES.encode())[:-8], content_encoding="gzip"), RULES, True, id="no-end"
        ),
        pytest.param(
            a_response(_packed(RULES.encode(), window=9), content_encoding="deflate"),
            RULES,
            False,
            id="window",
        ),
        pytest.param(a_response(gzip.compress(RULES.encode())), RULES, False, id="packed-without-a-word"),
        pytest.param(
            a_response(gzip.compress(gzip.compress(b"x")), content_encoding="gzip"),
            "x",
            False,
            id="twice-untold",
        ),
        pytest.param(a_response(RULES.encode(), content_encoding="UTF-8"), RULES, False, id="no-encoding"),
        pytest.param(a_response(BOMB, content_encoding="gzip"), "a" * 512_000, True, id="bomb"),
        pytest.param(a_response(b"a" * 600_000), "a" * 512_000, True, id="long"),
        pytest.param(
            FetchedResponse(a_head(), b"a" * 10, 10, is_truncated=True), "a" * 10, True, id="cut-on-the-way"
        ),
        pytest.param(
            a_response(b"a" + b"\xff" * 400_000),
            ("a" + "%FF" * 170_667)[:512_000],
            True,
            id="grows-by-escaping",
        ),
    ],
)
def test_bodies_are_decoded_within_the_limit(came: FetchedResponse, text: str, is_cut: bool) -> None:
    """Rules are read however broken the rest of the file is."""
    assert decode_robots_body(came) == (text, is_cut)


def test_rules_before_a_fault_are_binding() -> None:
    packed = gzip.compress(RULES.encode() * 4000, compresslevel=0)

    # A stored block, and then one of a type that does not exist.
    broken = packed[: 10 + 5 + 65_535] + b"\xff" * 9000

    text, is_cut = decode_robots_body(a_response(broken, content_encoding="gzip"))

    assert text.startswith(RULES * 1000)
    assert is_cut


@pytest.mark.parametrize(
    ("text", "wishes"),
    [
        pytest.param("", RobotsFileFacts(), id="nothing"),
        pytest.param("User-agent: *\nCrawl-delay: 3\n", RobotsFileFacts(3.0), id="delay"),
        pytest.param(
            "User-agent: strider\nCrawl-delay: 5\n\nUser-agent: *\nCrawl-delay: 1",
            RobotsFileFacts(5.0),
            id="ours",
        ),
        pytest.param(
            "Sitemap: https://a.test/s.xml\nSitemap: /t.xml\nSitemap: ftp://x/\nSitemap: https://a.test/s.xml",
            RobotsFileFacts(sitemaps=("https://a.test/s.xml", "https://a.test/t.xml")),
            id="sitemaps",
        ),
        pytest.param("Crawl-delay: 3\n" + "#" * 200_000, RobotsFileFacts(), id="too-long-to-read-here"),
    ],
)
def test_delay_and_sitemaps_are_read_from_the_text(text: str, wishes: RobotsFileFacts) -> None:
    found = read_robots_directives(
        text, url="https://a.test/robots.txt", user_agent="Strider/1.0 (+x)", max_sitemap_bytes=1000
    )

    assert found == wishes


def test_sitemaps_are_limited_to_the_space_left() -> None:
    text = "".join(f"Sitemap: https://a.test/{n}.xml\n" for n in range(200))

    assert (
        len(
            read_robots_directives(
                text, url="https://a.test/", user_agent="S/1", max_sitemap_bytes=100
            ).sitemaps
        )
        == 4
    )
