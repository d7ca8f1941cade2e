"""Wire URLs: WHATWG form without what only tells where the click came from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from strider.urls import (
    MAX_URL_BYTES,
    REFUSAL_REASONS,
    SCOPE_KINDS,
    SCOPE_REASONS,
    RefusedUrl,
    resolve_links,
    to_wire_url,
)

WORDS = Path(__file__).parents[3] / "schemas" / "words"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("HTTP://Example.ORG:80/a", "http://example.org/a", id="case-and-port"),
        pytest.param(
            "https://example.org:80/", "https://example.org:80/", id="the-other-scheme's-port-is-kept"
        ),
        pytest.param("http://example.org:443/", "http://example.org:443/", id="and-the-other-way-round"),
        pytest.param("http://user:secret@example.org/", "http://example.org/", id="userinfo"),
        pytest.param("http://a@b@example.org/x@y", "http://example.org/x@y", id="userinfo-with-at-signs"),
        pytest.param("http://a\\@b/", "http://a/@b/", id="backslash-is-a-slash"),
        pytest.param("http:///example.org", "http://example.org/", id="too-many-slashes"),
        pytest.param(" \thttp://exa\nmple.org/ ", "http://example.org/", id="white-space"),
        pytest.param("http://example.org/a#b", "http://example.org/a", id="fragment"),
        pytest.param("http://example.org/?b=2&a=1&", "http://example.org/?b=2&a=1&", id="query-untouched"),
        pytest.param("http://example.org/?", "http://example.org/?", id="empty-query-kept"),
        pytest.param("http://example.org/?utm_source=x", "http://example.org/", id="only-tracking"),
        pytest.param("http://a.test/?b&UTM_Id=1&a&gclid=2", "http://a.test/?b&a", id="tracking-among-others"),
        pytest.param("http://a.test/?ref=1&source=2", "http://a.test/?ref=1&source=2", id="ref-is-fetched"),
        pytest.param("http://a.test/?gclid2=1", "http://a.test/?gclid2=1", id="only-like-tracking"),
        pytest.param("http://example.org./", "http://example.org./", id="last-dot-is-fetched"),
        pytest.param(
            "http://bücher.example/ü?ü", "http://xn--bcher-kva.example/%C3%BC?%C3%BC", id="international"
        ),
        pytest.param("http://0x7f.1/", "http://127.0.0.1/", id="hexadecimal-address"),
        pytest.param("http://a.test/x^y?x^y", "http://a.test/x%5Ey?x^y", id="caret"),
    ],
)
@pytest.mark.req("S3.10.1", "S3.10.2", "S3.10.3")
def test_a_text_becomes_the_url_to_fetch(text: str, found: str) -> None:
    """Ruling C-30: the URL is requested as found, without parts that no server needs."""
    assert to_wire_url(text) == found


@pytest.mark.fault("S3")
@pytest.mark.parametrize(
    ("text", "reason", "detail"),
    [
        pytest.param("", "bad_url", "", id="nothing"),
        pytest.param("/relative", "bad_url", "", id="no-base"),
        pytest.param("http://", "bad_url", "", id="no-host"),
        pytest.param("http://a:99999/", "bad_url", "", id="port"),
        pytest.param("http://a%00b/", "bad_url", "", id="nul-in-host"),
        pytest.param("http://[::1", "bad_url", "", id="bracket"),
        pytest.param("http://1.2.3.4.5/", "bad_url", "", id="five-numbers"),
        pytest.param("http://a/\ud800", "bad_url", "", id="lone-surrogate"),
        pytest.param("http://a..b/", "bad_url", "bad_host", id="empty-label"),
        pytest.param("http://./", "bad_url", "bad_host", id="a-dot"),
        pytest.param(f"http://{'a' * 64}.org/", "bad_url", "bad_host", id="long-label"),
        pytest.param(f"http://{'a.' * 127}org/", "bad_url", "bad_host", id="long-name"),
        pytest.param("mailto:a@example.org", "refused_scheme", "no_page", id="mailto"),
        pytest.param("JavaScript:alert(1)", "refused_scheme", "no_page", id="javascript"),
        pytest.param("tel:+4912345", "refused_scheme", "no_page", id="tel"),
        pytest.param("data:text/html,x", "refused_scheme", "no_page", id="data"),
        pytest.param("file:///etc/passwd", "refused_scheme", "local", id="file"),
        pytest.param("view-source:http://a/", "refused_scheme", "local", id="view-source"),
        pytest.param("ftp://a.test/", "refused_scheme", "other", id="ftp"),
        pytest.param("gopher://a.test/", "refused_scheme", "other", id="gopher"),
        pytest.param(f"http://a.test/{'a' * 2035}", "url_too_long", "", id="one-byte-too-long"),
        pytest.param(f"http://a.test/#{'a' * 20_000}", "url_too_long", "", id="too-long-to-parse"),
    ],
)
@pytest.mark.req("S3.9.8", "S3.17.6")
def test_what_cannot_be_fetched_is_refused_with_words(text: str, reason: str, detail: str) -> None:
    """Pages link to anything; each link must end in an event with a reason, never in a traceback."""
    assert to_wire_url(text) == RefusedUrl(reason, detail)


def test_length_counts_what_is_sent() -> None:
    """A long fragment or campaign does not make a long URL."""
    longest = "http://a.test/" + "a" * (MAX_URL_BYTES - 14)

    assert to_wire_url(longest + "?utm_id=1#" + "x" * 5000) == longest


@pytest.mark.req("S3.9.7")
@pytest.mark.parametrize(
    ("href", "found"),
    [
        pytest.param("../x", "https://a.test/x", id="up"),
        pytest.param("?q", "https://a.test/b/c?q", id="query"),
        pytest.param("", "https://a.test/b/c?p", id="empty-is-the-page"),
        pytest.param("#top", "https://a.test/b/c?p", id="fragment-is-the-page"),
        pytest.param("//b.test", "https://b.test/", id="scheme-of-the-page"),
        pytest.param("https:d", "https://a.test/b/d", id="scheme-alone"),
    ],
)
def test_a_link_is_resolved_against_its_page(href: str, found: str) -> None:
    """As a browser would."""
    assert to_wire_url(href, "https://a.test/b/c?p#f") == found


@pytest.mark.parametrize(
    ("path", "resolved"),
    [
        pytest.param("/a/.b/../c", "/a/c", id="behind-a-hidden-folder"),
        pytest.param("/a/.b/..", "/a/", id="at-the-end"),
        pytest.param("/a/.b/.", "/a/.b/", id="one-dot-at-the-end"),
        pytest.param("/a/.b/%2e%2E/./c?x/../y", "/a/c?x/../y", id="escaped"),
        pytest.param("//.0/../x", "//x", id="behind-nothing"),
        pytest.param("/.b/../../../c", "/c", id="above-the-root"),
        pytest.param("/.well-known/x", "/.well-known/x", id="hidden-folders-stay"),
    ],
)
def test_dots_are_resolved_everywhere(path: str, resolved: str) -> None:
    """The parser leaves some behind folders that begin with a dot: two spellings would be two pages."""
    assert to_wire_url(f"http://a.test{path}") == f"http://a.test{resolved}"
    assert resolve_links("", [f"http://a.test{path}"] * 2).urls == [f"http://a.test{resolved}"] * 2
    assert to_wire_url("../z", f"http://a.test{path}") == to_wire_url("../z", f"http://a.test{resolved}")


@pytest.mark.parametrize("base", ["http://[", "not a url", "\ud800", "x" * 20_000])
def test_a_base_that_is_none_leaves_absolute_links(base: str) -> None:
    """A broken base element must not cost the page its links."""
    assert to_wire_url("http://a.test/x", base) == "http://a.test/x"
    assert to_wire_url("/x", base) == RefusedUrl("bad_url")


def test_reasons_are_words_of_the_contracts() -> None:
    """Events carry them unchanged."""
    decisions = yaml.safe_load((WORDS / "decision-reason.yaml").read_text(encoding="utf-8"))["words"]
    scopes = yaml.safe_load((WORDS / "scope.yaml").read_text(encoding="utf-8"))["words"]

    assert {*REFUSAL_REASONS, *SCOPE_REASONS} - {*decisions} == set()
    assert {*SCOPE_KINDS} == {*scopes}


def test_a_process_that_has_resolved_ends_without_a_word() -> None:
    """URL objects must be gone by then: nanobind reports each remaining one on stderr."""
    code = (
        "from strider.urls import resolve_links, to_wire_url\n"
        "to_wire_url('a', 'https://a.test/b')\n"
        "resolve_links('https://a.test/b', ['c', '/d?e=f', 'https://g.test/'])\n"
    )

    ended = subprocess.run(  # our own interpreter
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=True
    )

    assert (ended.stdout, ended.stderr) == (b"", b"")
