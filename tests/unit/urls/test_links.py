"""All links of a page are resolved at once."""

from __future__ import annotations

import pytest

from strider.urls import RefusedUrl, ResolvedLinks, resolve_links, to_wire_url, url_key_of, url_key_of_text
from strider.urls.links import CACHED_LINKS, _resolved_absolute_links
from strider.urls.url_key import DEFAULT_KEY_RULES

PAGE = "https://www.example.org/a/b.html?x#y"

TEXTS_OF_ABSOLUTE = [
    pytest.param("https://a.test/b", id="plain"),
    pytest.param("http://a.test/b/?c=1&utm_source=x", id="query"),
    pytest.param("http:///a.test/b", id="three slashes"),
    pytest.param("https://a.test\\b", id="backslash"),
    pytest.param("http://a.test/b\n/../c#d", id="line end and dots"),
    pytest.param("http://10.0.0.1/", id="private"),
    pytest.param("https://", id="no host"),
    pytest.param("http://ä.test/é", id="letters"),
]


@pytest.mark.req("S3.9.7", "S3.9.8", "S3.9.9")
def test_lists_are_parallel_to_the_links() -> None:
    """The caller must find each result at the index of its anchor."""
    hrefs = ["/c/?b=1&a=2&utm_id=3#z", "mailto:x@y", "//other.test", "http://[", "http://10.0.0.1/", "d"]

    assert resolve_links(PAGE, hrefs) == ResolvedLinks(
        urls=[
            "https://www.example.org/c/?b=1&a=2",
            "",
            "https://other.test/",
            "",
            "",
            "https://www.example.org/a/d",
        ],
        keys=[
            "https://www.example.org/c?a=2&b=1",
            "",
            "https://other.test/",
            "",
            "",
            "https://www.example.org/a/d",
        ],
        hosts=["www.example.org", "", "other.test", "", "", "www.example.org"],
        reasons=["", "refused_scheme", "", "bad_url", "policy_blocked", ""],
        details=["", "no_page", "", "", "private_address", ""],
    )


def test_private_links_can_be_allowed_and_metadata_never() -> None:
    """A crawl of an internal network is a setting."""
    found = resolve_links(PAGE, ["http://127.0.0.1:8000/", "http://169.254.169.254/"], allow_private=True)

    assert found.urls == ["http://127.0.0.1:8000/", ""]
    assert found.details == ["", "metadata_address"]


def test_addresses_can_be_left_to_the_caller_to_judge() -> None:
    hrefs = ["http://127.0.0.1:8000/", "http://169.254.169.254/", "http://a..b/"]

    found = resolve_links(PAGE, hrefs, allow_private=None)

    assert found.urls == [*hrefs[:2], ""]
    assert resolve_links(PAGE, hrefs, allow_private=True).urls == [hrefs[0], "", ""], (
        "nobody takes over the answers"
    )


def test_no_links_are_no_links() -> None:
    """Most pages of some sites have none."""
    assert resolve_links(PAGE, []) == ResolvedLinks([], [], [], [], [])


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([], id="plain-ones-alone"),
        pytest.param(["/c\n/d"], id="a-line-end-within-one"),
        pytest.param(["/c/./d"], id="dots"),
        pytest.param(["/c/"], id="a-last-slash"),
        pytest.param(["/" + "c" * 1_024], id="a-long-one"),
        pytest.param([""], id="an-empty-one"),
        pytest.param(["mailto:x@y"], id="no-page"),
    ],
)
def test_many_plain_links_are_read_as_each_alone(others: list[str]) -> None:
    """The single check that all links are plain must never be wrong."""
    hrefs = ["/a", "/b/c.html", *others, "/e=f"]

    together = resolve_links(PAGE, hrefs)

    assert list(zip(*together, strict=True)) == [
        row for href in hrefs for row in zip(*resolve_links(PAGE, [href]), strict=True)
    ]
    assert together.keys[0] == url_key_of_text("/a", PAGE)
    assert together.keys[2] == ("" if others == ["mailto:x@y"] else url_key_of_text(hrefs[2], PAGE))


@pytest.mark.parametrize(
    "href", ["//a.test/", "//a.test//", "//a.test///b//", "//a.test//?x", "//a.test/b/?", "//a.test."]
)
def test_a_repeated_link_gives_the_same_verdict(href: str) -> None:
    """The second time the cache is used."""
    found = resolve_links(PAGE, [href, href, href])

    assert len({*found.keys}) == len({*found.urls}) == 1
    assert found.keys[0] == url_key_of_text(href, PAGE)


@pytest.mark.parametrize("href", TEXTS_OF_ABSOLUTE)
def test_an_absolute_link_is_the_same_on_every_page(href: str) -> None:
    """A cached result is valid for every base."""
    bases = (PAGE, "http://b.test/x/?y", "ftp://c.test/")
    alone = []
    for base in bases:
        _resolved_absolute_links.cache_clear()
        alone.append(resolve_links(base, [href]))

    assert [resolve_links(base, [href]) for base in (*bases, PAGE)] == [alone[0]] * 4
    assert alone == [alone[0]] * 3


def test_links_of_events_and_of_pages_are_cached_apart() -> None:
    """URLs of events are resolved less strictly, so their results must not be used for pages."""
    odd = "https://a.test/a\\b"

    resolve_links(PAGE, ["https://a.test/"])
    resolve_links(None, [odd])

    assert resolve_links(PAGE, [odd]).urls == ["https://a.test/a/b"]


def test_the_cache_of_links_is_bounded() -> None:
    """A crawl of a million hosts meets a billion links."""
    resolve_links(PAGE, (f"https://a.test/{number}?a" for number in range(3 * CACHED_LINKS)))

    assert (
        len(_resolved_absolute_links(False, DEFAULT_KEY_RULES)) <= CACHED_LINKS
    )  # as it is called by the service


def test_hostile_links_cost_a_word_each() -> None:
    """S13: a page may have links of 100 KB and texts that are not Unicode."""
    found = resolve_links(PAGE, ["x" * 100_000, "\ud800", "https://" + "a" * 3000 + "/", "/" + "a" * 3000])

    assert found.reasons == ["url_too_long", "bad_url", "url_too_long", "url_too_long"]


@pytest.mark.parametrize(
    "base", [PAGE, "http://a.test:80/x/", "http://u:p@127.1/", "file:///C:/x", "no base"]
)
@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/a/b.html", id="plain"),
        pytest.param("/a?b=1&utm_id=2&c", id="query"),
        pytest.param("/a/?", id="empty_query"),
        pytest.param("/a/./b/../c", id="dots"),
        pytest.param("/a/%2e%2E/b", id="escaped_dots"),
        pytest.param("/a/.b/../c", id="hidden_folder"),
        pytest.param("//b.test/c", id="another_host"),
        pytest.param("/\\b.test/c", id="another_host_spelt_oddly"),
        pytest.param("/a//", id="slashes"),
        pytest.param("/a b\t\n", id="white_space"),
        pytest.param("/a\n", id="line_end"),
        pytest.param("/a'?b='c'", id="quotes"),
        pytest.param("/@b:80;c,d=e!f$g*(h)+~i_j-k", id="marks"),
        pytest.param("/a#b", id="fragment"),
        pytest.param("/" + "a" * 2_048, id="long"),
        pytest.param("/é", id="letters"),
    ],
)
def test_what_needs_no_parser_gives_what_the_parser_gives(base: str, path: str) -> None:
    """Most links of a page are paths of its own host, or already wire URLs."""
    hrefs = [f"https://www.example.org{path}", path, f"https://www.example.org{path}"]

    found = resolve_links(base, hrefs, allow_private=True)

    expected = [to_wire_url(href, base) for href in hrefs]
    assert found.urls == ["" if isinstance(url, RefusedUrl) else url for url in expected]
    assert found.keys == ["" if isinstance(url, RefusedUrl) else url_key_of(url) for url in expected]


@pytest.mark.parametrize(
    "href",
    [
        *("/a", "/a/", "/a/b.html", "/.a/b", "/a/../b", "//b.test/c", "/a//", "/a//b", "/", "/a?b", "/a%7E"),
        *("/a#b", "/" + "a" * 2_100),
    ],
)
def test_paths_of_the_own_host_are_found_and_keyed_like_any_other(href: str) -> None:
    """Plain links take a shorter path."""
    found = resolve_links(PAGE, ["/first", href])
    alone = to_wire_url(href, PAGE)

    assert found.urls[1] == ("" if isinstance(alone, RefusedUrl) else alone)
    assert found.keys[1] == ("" if isinstance(alone, RefusedUrl) else url_key_of(alone))
