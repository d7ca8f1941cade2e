"""A page's links: which are accepted, which are not and why, and what is only counted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.ids import key_fingerprint
from strider.link_ingestion.core import unknown_rules
from strider.link_ingestion.core.page_links import MAX_FEEDS_PER_PAGE

from .builders import PAGE_URL, a_page, admitted, doubted, hash_of, numbered, refused, some_rules, taken

HOME = "https://www.a.test"


@pytest.mark.req("S3.11.1", "S3.11.2", "S3.11.4")
def test_links_in_scope_are_published_with_key_and_host() -> None:
    """What the frontier knows them by is computed here, once."""
    admission = admitted(a_page(f"{HOME}/b?y=2&x=1", f"{HOME}/c/"))

    (links,) = admission.candidates
    keys = [hash_of(f"{HOME}/b?x=1&y=2"), hash_of(f"{HOME}/c")]
    assert links.via == "link"
    assert links.links == [
        (f"{HOME}/b?y=2&x=1", keys[0], "www.a.test", key_fingerprint(keys[0]), "", ""),
        (f"{HOME}/c/", keys[1], "www.a.test", key_fingerprint(keys[1]), "", ""),
    ]
    assert (admission.depth, admission.found, admission.refusals.count) == (1, 2, 0)


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        pytest.param("https://other.test/", "out_of_scope", id="another host"),
        pytest.param("https://a.test/", "out_of_scope", id="the domain's other host"),
        pytest.param(f"{HOME}/x.jpg", "refused_file_type", id="a picture"),
        pytest.param(f"{HOME}/x.ZIP?y", "refused_file_type", id="an archive, shouted, with a query"),
        pytest.param("http://127.0.0.1/", "policy_blocked", id="the machine itself"),
        pytest.param("http://169.254.169.254/latest", "policy_blocked", id="a cloud's vault"),
        pytest.param(f"{HOME}/{'a' * 3000}", "url_too_long", id="too long"),
        pytest.param("ftp://www.a.test/x", "refused_scheme", id="another scheme"),
        pytest.param("http://[", "bad_url", id="no URL"),
    ],
)
def test_each_refusal_has_its_word(link: str, reason: str) -> None:
    """Why was this URL not crawled? Here is where it is known."""
    admission = admitted(a_page(link))

    assert list(refused(admission).values()) == [reason]
    assert taken(admission) == []


@pytest.mark.parametrize(
    "link",
    [
        pytest.param(f"{HOME}/wiki/Amazon.com", id="com is a company"),
        pytest.param(f"{HOME}/a.html", id="html"),
        pytest.param(f"{HOME}/paper.pdf", id="the parser may read PDF"),
        pytest.param("http://www.a.test:8080/", id="ports and schemes are no bounds"),
        pytest.param(f"{HOME}/v1.2/notes", id="a dot in a folder"),
    ],
)
def test_what_looks_odd_and_is_welcome(link: str) -> None:
    """A rule too many loses pages silently."""
    assert taken(admitted(a_page(link))) == [link]


@pytest.mark.req("S3.9.8")
def test_links_that_lead_to_no_document_are_not_worth_a_word() -> None:
    """A mail address is no URL that could have been crawled."""
    admission = admitted(a_page("mailto:a@b.test", "javascript:x()", "tel:1"))

    assert (admission.refusals.count, admission.candidates) == (0, [])


@pytest.mark.req("S3.9.10")
def test_the_same_page_by_other_spellings_is_one_link() -> None:
    """A page that links to itself or twice to another gives the frontier one entry."""
    page = a_page(
        f"{HOME}/b",
        f"{HOME}/b/",
        f"{HOME}/b?utm_source=x&ref=y",
        PAGE_URL,
        "https://x.test/",
        "https://x.test",
    )
    admission = admitted(page)

    assert taken(admission) == [f"{HOME}/b"]
    assert admission.repeated == 4
    assert list(refused(admission)) == ["https://x.test/"]


@pytest.mark.parametrize(
    ("rules", "welcome"),
    [
        pytest.param({"scope": "host"}, ["www.a.test"], id="host"),
        pytest.param({"scope": "domain"}, ["www.a.test", "a.test", "b.c.a.test"], id="domain"),
        pytest.param({"scope": "any"}, ["www.a.test", "a.test", "b.c.a.test", "other.test"], id="any"),
        pytest.param({"scope": "listed"}, [], id="no list, as of a seed"),
        pytest.param({"scope": "listed", "hosts": ("other.test",)}, ["other.test"], id="listed hosts"),
        pytest.param(
            {"scope": "listed", "domains": ("a.test",)},
            ["www.a.test", "a.test", "b.c.a.test"],
            id="listed domain",
        ),
        pytest.param(
            {"scope": "host", "hosts": ("other.test",)}, ["www.a.test", "other.test"], id="host and another"
        ),
    ],
)
def test_scopes(rules: dict[str, Any], welcome: list[str]) -> None:
    """How far links may lead, seen from the page's own host."""
    hosts = ("www.a.test", "a.test", "b.c.a.test", "other.test")
    admission = admitted(a_page(*(f"https://{host}/x" for host in hosts)), some_rules(**rules))

    assert taken(admission) == [f"https://{host}/x" for host in welcome]
    assert set(refused(admission).values()) <= {"out_of_scope"}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param({"include": ("/docs/*",)}, {"/docs/a": "", "/b": "not_included"}, id="include"),
        pytest.param({"exclude": ("/docs/*",)}, {"/docs/a": "excluded", "/b": ""}, id="exclude"),
        pytest.param(
            {"include": ("/docs/*",), "exclude": ("re:a$",)},
            {"/docs/a": "excluded", "/docs/b": "", "/b": "not_included"},
            id="exclude wins",
        ),
        pytest.param({"path_prefixes": ("/docs",)}, {"/docs/a": "", "/b": "out_of_scope"}, id="paths"),
        pytest.param({"schemes": ("http",)}, {"/b": "refused_scheme"}, id="schemes"),
        pytest.param({"allowed_ports": (80, 8080)}, {"/b": "refused_port"}, id="ports"),
        pytest.param({"allowed_ports": (443,)}, {"/b": ""}, id="a scheme's own port"),
        pytest.param(
            {"refused_file_types": (".PDF",)}, {"/b.pdf": "refused_file_type", "/b.jpg": ""}, id="own types"
        ),
        pytest.param(
            {"refused_file_types": ("html",)}, {"/b.html": "refused_file_type", "/b": ""}, id="even pages"
        ),
        pytest.param({"max_url_bytes": 25}, {"/b": "", "/" + "b" * 30: "url_too_long"}, id="length"),
    ],
)
def test_the_limits_of_a_spec_are_applied(rules: dict[str, Any], expected: dict[str, str]) -> None:
    """Each limit of a spec holds for links; a misread one would crawl without it."""
    admission = admitted(a_page(*(HOME + path for path in expected)), some_rules(**rules))

    answers = dict.fromkeys(taken(admission), "") | refused(admission)
    assert answers == {HOME + path: reason for path, reason in expected.items()}


@pytest.mark.req("S3.11.5")
@pytest.mark.req("S0.4.5")
@pytest.mark.parametrize(
    ("depth", "is_followed"), [pytest.param(2, True, id="the last step"), pytest.param(3, False, id="beyond")]
)
def test_depth_is_held_against_what_is_new(depth: int, is_followed: bool) -> None:
    """A page at the limit links to its home page like all others; only what is unknown is too deep."""
    admission = admitted(a_page(f"{HOME}/b", depth=depth), some_rules(max_depth=3))

    assert (doubted(admission) == {}) is is_followed
    assert admission.depth == depth + 1
    assert admission.refusals.count == 0


def test_no_more_links_than_the_spec_takes() -> None:
    """The first ones are the best ones: the parser has ranked them."""
    admission = admitted(a_page(*numbered(5)), some_rules(max_links_per_page=3))

    assert taken(admission) == list(numbered(3))
    assert doubted(admission) == dict.fromkeys(numbered(5)[3:], "too_many_links")


@pytest.mark.req("S3.11.6")
def test_a_thousand_links_of_a_page_are_taken_by_default() -> None:
    admission = admitted(a_page(*numbered(1_001)))

    assert taken(admission) == list(numbered(1_000))
    assert doubted(admission) == {numbered(1_001)[-1]: "too_many_links"}


@pytest.mark.parametrize(
    ("page", "rules", "followed"),
    [
        pytest.param({"link_rels": (1, 8)}, {}, [f"{HOME}/2"], id="a link"),
        pytest.param({"nofollow": True}, {}, [], id="a page"),
        pytest.param(
            {"nofollow": True, "link_rels": (1, 0)},
            {"respect_nofollow": False},
            [f"{HOME}/1", f"{HOME}/2"],
            id="not in the options",
        ),
        pytest.param(
            {"link_rels": (1,)}, {}, [f"{HOME}/1", f"{HOME}/2"], id="flags of another length are none"
        ),
    ],
)
def test_nofollow(page: dict[str, Any], rules: dict[str, Any], followed: list[str]) -> None:
    """Left alone where the page or the link asks for it, unless the spec says otherwise."""
    admission = admitted(a_page(f"{HOME}/1", f"{HOME}/2", **page), some_rules(**rules))

    assert taken(admission) == followed
    assert set(doubted(admission).values()) <= {"nofollow"}


def test_what_a_page_names_besides_its_links() -> None:
    """A refresh, a canonical form and translations are ways to pages that no anchor leads to."""
    page = a_page(
        f"{HOME}/a",
        refresh_url=f"{HOME}/moved",
        canonical_url="https://www.a.test/canonical#x",
        alternate_urls=(f"{HOME}/de", f"{HOME}/feed", "/relative"),
        alternate_types=("", "application/rss+xml", "text/html; charset=utf-8"),
        nofollow=True,
    )
    admission = admitted(page)

    assert {each.via: each.urls for each in admission.candidates} == {
        "link": [f"{HOME}/a"],
        "refresh": [f"{HOME}/moved"],
        "canonical": [f"{HOME}/canonical"],
        "alternate": [f"{HOME}/de", f"{HOME}/relative"],
    }
    assert doubted(admission) == {f"{HOME}/a": "nofollow"}


def test_what_a_sitemap_lists() -> None:
    """Its kinds and dates go with its entries, and the limit of links does not hold for it."""
    page = a_page(
        document_kind="sitemap",
        kind="sitemap",
        entry_urls=(f"{HOME}/1", "https://other.test/", f"{HOME}/more.xml"),
        entry_kinds=("page", "page", "sitemap"),
        entry_lastmods_ms=(5, 6, -1),
    )
    (entries,) = admitted(page, some_rules(max_links_per_page=1)).candidates

    assert (entries.via, entries.urls, entries.kinds, entries.lastmods_ms, entries.objections) == (
        "sitemap",
        [f"{HOME}/1", f"{HOME}/more.xml"],
        ["page", "sitemap"],
        [5, -1],
        ["", ""],
    )


def test_what_a_feed_lists_came_by_a_feed() -> None:
    """Lists of another length than the entries' say nothing about them."""
    page = a_page(document_kind="feed", entry_urls=(f"{HOME}/1",), entry_kinds=("page", "page"))
    (entries,) = admitted(page).candidates

    assert (entries.via, entries.urls, entries.kinds, entries.lastmods_ms) == ("feed", [f"{HOME}/1"], [], [])


def test_refusals_beyond_the_limit_are_counted() -> None:
    """A page of ten thousand foreign links must not become a message of a megabyte."""
    admission = admitted(a_page(*numbered(7, "other.test")), listed=3)

    assert list(refused(admission)) == list(numbered(3, "other.test"))
    assert (admission.refusals.count, admission.refusals.not_listed) == (7, 4)


def test_a_text_that_is_no_url_is_clipped() -> None:
    """16 KB of nonsense in an href are recorded by their first words."""
    (told,) = refused(admitted(a_page("http://[" + "ü" * 5000)))

    assert len(told) == 500


def test_private_links_are_welcome_where_they_are_allowed() -> None:
    """One's own network is crawled by setting; metadata services never are."""
    page = a_page("http://127.0.0.1/b", "http://169.254.169.254/", url="http://127.0.0.1/a")

    assert taken(admitted(page, allow_private=True)) == ["http://127.0.0.1/b"]
    assert set(refused(admitted(page)).values()) == {"policy_blocked"}


def test_without_its_spec_no_new_link_of_a_page_is_published() -> None:
    """It is unknown how far they may lead; what is no URL is refused as such all the same."""
    admission = admitted(a_page(f"{HOME}/a", "https://other.test/", "http://["), unknown_rules())

    assert doubted(admission) == {f"{HOME}/a": "unknown_spec", "https://other.test/": "unknown_spec"}
    assert refused(admission) == {"http://[": "bad_url"}


def test_a_spec_that_cannot_be_used_lets_nothing_through() -> None:
    """A pattern of a later version, or of none: crawling without it would be crawling too much."""
    rules = some_rules(include=("re:(?=x)",))

    assert doubted(admitted(a_page(f"{HOME}/a"), rules)) == {f"{HOME}/a": "unknown_spec"}
    assert rules.barrier_detail.startswith("the crawl spec cannot be used: ")


def test_links_that_the_parser_dropped_are_found_all_the_same() -> None:
    """The number of links says how large the page was, not how many travelled."""
    assert admitted(a_page(*numbered(2), links_found=5_000, links_dropped=4_998)).found == 5_000


@given(st.lists(st.text(max_size=20) | st.sampled_from(numbered(5)), max_size=20), st.integers(0, 6))
def test_every_link_is_accounted_for(texts: list[str], depth: int) -> None:
    """Taken, doubted, refused, repeated, or (mailto and its like) nothing: none is lost, none twice."""
    admission = admitted(a_page(*texts, depth=depth))
    going = taken(admission) + list(doubted(admission))

    assert len(set(going)) == len(going)
    silent = len(texts) - len(going) - admission.refusals.count - admission.repeated
    assert 0 <= silent <= sum(":" in text for text in texts)


@pytest.mark.req("S1.14.12")
@pytest.mark.parametrize(
    ("feeds", "is_start", "kinds"),
    [
        pytest.param(True, True, {f"{HOME}/feed.xml": "feed", f"{HOME}/a": "page"}, id="discovered"),
        pytest.param(True, False, {f"{HOME}/feed.xml": "page", f"{HOME}/a": "page"}, id="no-start-page"),
        pytest.param(False, True, {f"{HOME}/feed.xml": "page", f"{HOME}/a": "page"}, id="by-default"),
    ],
)
def test_feeds_of_start_pages_are_links_where_they_are_discovered(
    feeds: bool, is_start: bool, kinds: dict[str, str]
) -> None:
    """An anchor to the same file does not know that it is a feed, so what the head says comes first."""
    page = a_page(
        f"{HOME}/a", f"{HOME}/feed.xml", feed_urls=(f"{HOME}/feed.xml",), is_start=is_start, depth=0
    )

    found = admitted(page, feeds=feeds).candidates

    assert {
        url: kind for each in found for url, kind in zip(each.urls, each.kinds or ["page"] * 9, strict=False)
    } == kinds


def test_a_page_that_names_thousands_of_feeds_brings_few() -> None:
    """The first ones in scope; of the others those that are known already are no objection."""
    elsewhere = [f"https://feeds{number}.elsewhere.test/rss" for number in range(50)]
    own = [f"{HOME}/feeds/{number}" for number in range(10_000)]
    page = a_page(feed_urls=(*elsewhere, *own), is_start=True, depth=0)

    found = admitted(page, feeds=True)

    (feeds,) = found.candidates
    assert [url for url, objection in zip(feeds.urls, feeds.objections, strict=True) if not objection] == [
        f"{HOME}/feeds/{number}" for number in range(MAX_FEEDS_PER_PAGE)
    ]
    assert set(feeds.objections[MAX_FEEDS_PER_PAGE:]) == {"too_many_links"}
    assert (len(feeds.objections), found.refusals.count) == (10_000, 50)


def test_feeds_of_start_pages_are_links_where_the_crawl_uses_feeds() -> None:
    """Whatever the deployment says for all others."""
    page = a_page(feed_urls=(f"{HOME}/feed.xml",), is_start=True, depth=0)

    assert [each.kinds for each in admitted(page, some_rules(use_feeds=True)).candidates] == [["feed"]]
    assert admitted(page, some_rules(use_feeds=False)).candidates == []


@pytest.mark.parametrize(
    ("kind", "uses", "expected"), [("sitemap", True, 1), ("sitemap", False, 0), ("feed", False, 1)]
)
def test_entries_of_sitemaps_are_links_unless_the_crawl_uses_none(
    kind: str, uses: bool, expected: int
) -> None:
    page = a_page(kind=kind, document_kind=kind, entry_urls=(f"{HOME}/entry",), depth=0)

    found = admitted(page, some_rules(use_sitemaps=uses))

    assert sum(len(each.urls) for each in found.candidates) == expected
