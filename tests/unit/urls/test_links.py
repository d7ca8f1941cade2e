"""All links of a page at once."""

from __future__ import annotations

import pytest

from strider.urls import Links, Refused, as_found, key, key_of, links

PAGE = "https://www.example.org/a/b.html?x#y"


@pytest.mark.req("S3.9.7", "S3.9.8", "S3.9.9")
def test_lists_are_parallel_to_the_links() -> None:
    """Whoever gave the anchors must find each answer at its place."""
    hrefs = ["/c/?b=1&a=2&utm_id=3#z", "mailto:x@y", "//other.test", "http://[", "http://10.0.0.1/", "d"]

    assert links(PAGE, hrefs) == Links(
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
    """A crawl of one's own network is a setting."""
    found = links(PAGE, ["http://127.0.0.1:8000/", "http://169.254.169.254/"], allow_private=True)

    assert found.urls == ["http://127.0.0.1:8000/", ""]
    assert found.details == ["", "metadata_address"]


def test_no_links_are_no_links() -> None:
    """Most pages of some sites have none."""
    assert links(PAGE, []) == Links([], [], [], [], [])


@pytest.mark.parametrize(
    "href", ["//a.test/", "//a.test//", "//a.test///b//", "//a.test//?x", "//a.test/b/?", "//a.test."]
)
def test_what_is_met_again_gives_the_same_answer(href: str) -> None:
    """The second time there is a short cut."""
    found = links(PAGE, [href, href, href])

    assert len({*found.keys}) == len({*found.urls}) == 1
    assert found.keys[0] == key(href, PAGE)


def test_hostile_links_cost_a_word_each() -> None:
    """S13: a page may hold links of 100 KB and texts that are no text."""
    found = links(PAGE, ["x" * 100_000, "\ud800", "https://" + "a" * 3000 + "/", "/" + "a" * 3000])

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
    """Most links of a page are paths of its own host, or stand there as they are found."""
    hrefs = [f"https://www.example.org{path}", path, f"https://www.example.org{path}"]

    found = links(base, hrefs, allow_private=True)

    expected = [as_found(href, base) for href in hrefs]
    assert found.urls == ["" if isinstance(url, Refused) else url for url in expected]
    assert found.keys == ["" if isinstance(url, Refused) else key_of(url) for url in expected]


@pytest.mark.parametrize(
    "href",
    [
        *("/a", "/a/", "/a/b.html", "/.a/b", "/a/../b", "//b.test/c", "/a//", "/a//b", "/", "/a?b", "/a%7E"),
        *("/a#b", "/" + "a" * 2_100),
    ],
)
def test_paths_of_the_own_host_are_found_and_keyed_like_any_other(href: str) -> None:
    """What is plain goes a shorter way."""
    found = links(PAGE, ["/first", href])
    alone = as_found(href, PAGE)

    assert found.urls[1] == ("" if isinstance(alone, Refused) else alone)
    assert found.keys[1] == ("" if isinstance(alone, Refused) else key_of(alone))
