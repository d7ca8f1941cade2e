"""Document kinds: bytes take precedence over the label."""

from __future__ import annotations

import pytest

from strider.parser.core.document.content_type_sniffing import is_binary, sniff_document_kind

HTML = b"<!DOCTYPE html><html><body>x"
RSS = b'<?xml version="1.0"?>\n<rss version="2.0"><channel>'


@pytest.mark.parametrize(
    ("content", "content_type", "expected"),
    [
        pytest.param(HTML, "text/html", "html", id="page"),
        pytest.param(HTML, "", "html", id="page-without-label"),
        pytest.param(HTML, "text/plain", "html", id="page-labelled-as-text"),
        pytest.param(HTML, "application/json", "html", id="page-labelled-as-json"),
        pytest.param(HTML, "application/octet-stream", "html", id="page-labelled-as-anything"),
        pytest.param(b"hello", "text/html", "html", id="text-labelled-as-page"),
        pytest.param(b"<!-- hi --><div>x", "", "html", id="comment-first"),
        pytest.param(b"\xef\xbb\xbf\n <html>", "", "html", id="mark-and-space-first"),
        pytest.param("<html>".encode("utf-16"), "", "html", id="utf-16"),
        pytest.param(
            b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "x"><html>',
            "application/xhtml+xml",
            "html",
            id="xhtml",
        ),
        pytest.param(b"%PDF-1.7", "text/html", "pdf", id="pdf-labelled-as-page"),
        pytest.param(b"\x89PNG\r\n\x1a\n", "text/html", "image", id="picture-labelled-as-page"),
        pytest.param(b"RIFF\x10\x00\x00\x00WEBPVP8 ", "", "image", id="webp"),
        pytest.param(b"\x00\x01\x02\x03" * 50, "text/html", "other", id="binary-labelled-as-page"),
        pytest.param(b"PK\x03\x04", "text/plain", "other", id="zip"),
        pytest.param(b"{\\rtf1\\ansi x}", "application/rtf", "other", id="rich-text"),
        pytest.param(b"%!PS-Adobe-3.0\nx", "application/postscript", "other", id="postscript"),
        pytest.param(b"BMW is a car maker", "text/plain", "text", id="text-that-begins-like-a-bitmap"),
        pytest.param(RSS, "text/html", "feed", id="feed-labelled-as-page"),
        pytest.param(RSS, "application/rss+xml", "feed", id="feed"),
        pytest.param(b'<feed xmlns="http://www.w3.org/2005/Atom">', "", "feed", id="atom"),
        pytest.param(b'<?xml version="1.0"?><urlset xmlns="x">', "text/xml", "sitemap", id="sitemap"),
        pytest.param(b"<sitemapindex >", "application/xml", "sitemap_index", id="sitemap-index"),
        pytest.param(b"<note><to>x</to></note>", "text/xml", "xml", id="xml"),
        pytest.param(b'{"a": 1}', "application/json; charset=utf-8", "json", id="json"),
        pytest.param(b'[{"a": 1}]', "", "json", id="json-without-label"),
        pytest.param(b'{"a": 1}', "application/ld+json", "json", id="json-by-suffix"),
        pytest.param(b"a,b\n1,2", "text/csv", "text", id="csv"),
        pytest.param(b"just words", "", "text", id="words"),
        pytest.param(b"\x1b$B$3$l$O\x1b(B", "text/plain", "text", id="iso-2022-jp"),
    ],
)
def test_the_bytes_decide_before_the_label(content: bytes, content_type: str, expected: str) -> None:
    assert sniff_document_kind(content, content_type=content_type, request_kind="page") == expected


def test_a_robots_file_is_one_whatever_it_looks_like() -> None:
    assert sniff_document_kind(b"User-agent: *", content_type="text/html", request_kind="robots") == "robots"


def test_a_stray_control_byte_makes_no_binary() -> None:
    assert not is_binary(b"<p>" + b"word " * 100 + b"\x00")


def test_nothing_is_no_binary() -> None:
    assert not is_binary(b"")
