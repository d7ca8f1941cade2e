"""URLs are accepted or refused by the scope of a crawl."""

from __future__ import annotations

import pytest

from strider.urls import CrawlScope, InvalidPattern, RefusedUrl, build_scope


def _scope(kind: str, *seeds: str, **more: list[str]) -> CrawlScope:
    scope = build_scope(kind, seeds, **more)  # type: ignore[arg-type]  # lists of texts
    assert isinstance(scope, CrawlScope)
    return scope


@pytest.mark.parametrize(
    ("kind", "url", "refusal"),
    [
        pytest.param("host", "https://www.example.co.uk:8443/x", "", id="host-any-port-and-scheme"),
        pytest.param("host", "http://www.example.co.uk./x", "", id="host-last-dot"),
        pytest.param("host", "http://example.co.uk/", "out_of_scope", id="host-is-not-its-parent"),
        pytest.param("domain", "http://news.example.co.uk/", "", id="domain-has-hosts"),
        pytest.param("domain", "http://other.co.uk/", "out_of_scope", id="a-public-suffix-is-no-domain"),
        pytest.param("any", "http://elsewhere.test/", "", id="any"),
        pytest.param("listed", "http://www.example.co.uk/", "out_of_scope", id="listed-ignores-the-seed"),
    ],
)
def test_a_scope_begins_at_its_seeds(kind: str, url: str, refusal: str) -> None:
    """The four values of the contracts."""
    assert _scope(kind, "http://www.example.co.uk/a").refusal_reason(url) == refusal


def test_lists_add_to_the_seeds() -> None:
    """A crawl spec may name more hosts and domains."""
    scope = _scope("host", "http://a.test/", hosts=["B.test"], domains=["example.org"])

    assert [
        scope.refusal_reason(url) for url in ("http://b.test/", "http://x.example.org/", "http://c.test/")
    ] == [
        "",
        "",
        "out_of_scope",
    ]


@pytest.mark.parametrize(
    ("url", "refusal"),
    [
        pytest.param("http://a.test/docs", "", id="the-folder"),
        pytest.param("http://a.test/docs/x?y", "", id="within"),
        pytest.param("http://a.test/%64ocs/x", "", id="escaped"),
        pytest.param("http://a.test/docsearch", "out_of_scope", id="only-begins-alike"),
        pytest.param("http://a.test/?/docs/", "out_of_scope", id="in-the-query"),
    ],
)
def test_a_prefix_is_a_folder(url: str, refusal: str) -> None:
    """`/docs` means that folder, and not every path that begins with these letters."""
    assert _scope("host", "http://a.test/", path_prefixes=["/docs"]).refusal_reason(url) == refusal


@pytest.mark.parametrize(
    ("pattern", "url", "fits"),
    [
        pytest.param("/blog/*", "http://a.test/blog/x", True, id="path"),
        pytest.param("/blog/*", "http://a.test/en/blog/x", False, id="path-from-its-start"),
        pytest.param("*.pdf", "http://a.test/x/y.pdf", True, id="ending"),
        pytest.param("*.pdf", "http://a.test/y.pdf?dl=1", False, id="ending-includes-query"),
        pytest.param("page=?", "http://a.test/homepage=3", False, id="a-whole-part"),
        pytest.param("page=?", "http://a.test/list/page=3", True, id="one-letter"),
        pytest.param("http://*.test/x", "http://b.test/x", True, id="whole-url"),
        pytest.param("http://a.test/", "http://a.test/x", False, id="whole-url-to-its-end"),
        pytest.param("/a.b", "http://a.test/axb", False, id="a-dot-is-a-dot"),
        pytest.param("/x?filter[a]=*", "http://a.test/x?filter[a]=1", True, id="brackets-are-letters"),
        pytest.param("/x[0-9]", "http://a.test/x1", False, id="brackets-are-no-class"),
        pytest.param(r"re:/\d{4}/\d{2}/", "http://a.test/x/2024/05/y", True, id="expression-anywhere"),
        pytest.param(r"re:^https://", "http://a.test/", False, id="expression-anchored"),
    ],
)
def test_patterns_fit(pattern: str, url: str, fits: bool) -> None:
    """Globs, or regular expressions."""
    assert (_scope("any", include=[pattern]).refusal_reason(url) == "") is fits


def test_what_is_excluded_wins() -> None:
    """With both, exclude patterns win."""
    scope = _scope("any", include=["/blog/*"], exclude=["*draft*"])

    assert scope.refusal_reason("http://a.test/blog/draft-1") == "excluded"
    assert scope.refusal_reason("http://a.test/shop") == "not_included"
    assert scope.refusal_reason("http://a.test/blog/1") == ""


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("re:(", id="open-group"),
        pytest.param("re:(?=a)", id="look-ahead"),
        pytest.param(r"re:(a)\1", id="back-reference"),
        pytest.param("re:((a{100}){100}){100}", id="too-large-compiled"),
        pytest.param("[", id="open-class"),
        pytest.param("/a]", id="closed-class"),
        pytest.param("/a]b[c", id="crossed"),
        pytest.param("/[[a]]", id="nested"),
        pytest.param("re:[", id="open-class-of-an-expression"),
        pytest.param("", id="empty"),
        pytest.param("a" * 513, id="long"),
        pytest.param("\ud800", id="no-text"),
    ],
)
def test_a_bad_pattern_comes_back(pattern: str) -> None:
    """The author gets an error message; the crawl spec is refused, nothing is raised."""
    answer = build_scope("any", exclude=[pattern])

    assert isinstance(answer, InvalidPattern)
    assert answer.detail


def test_other_bad_words_come_back() -> None:
    """Kind and seed."""
    assert build_scope("planet") == InvalidPattern(
        "planet", "unknown scope; allowed: host, domain, any, listed", "scope"
    )
    assert build_scope("host", ["tel:1"]) == RefusedUrl("refused_scheme", "no_page")


@pytest.mark.parametrize(
    ("more", "is_hosts_only"),
    [
        pytest.param({}, True, id="a-host"),
        pytest.param({"hosts": ["b.test"], "domains": ["c.test"]}, True, id="hosts"),
        pytest.param({"path_prefixes": ["/docs"]}, False, id="paths"),
        pytest.param({"include": ["/x"]}, False, id="include"),
        pytest.param({"exclude": ["/x"]}, False, id="exclude"),
    ],
)
def test_a_scope_of_hosts_is_named_as_such(more: dict[str, list[str]], is_hosts_only: bool) -> None:
    """Then a page of a thousand links needs one check per host."""
    assert _scope("host", "http://a.test/", **more).is_by_host_only is is_hosts_only


def test_host_and_path_are_separate_functions() -> None:
    """Host check and path check together give the result of `refusal_reason`."""
    scope = _scope("host", "http://a.test/", path_prefixes=["/docs"], exclude=["*.pdf"])

    assert (scope.includes_host("a.test"), scope.includes_host("b.test")) == (True, False)
    urls = ["http://a.test/docs/x", "http://a.test/x", "http://a.test/docs/x.pdf"]
    assert [scope.path_refusal_reason(url) for url in urls] == [scope.refusal_reason(url) for url in urls]
    assert [scope.path_refusal_reason(url) for url in urls] == ["", "out_of_scope", "excluded"]
