"""robots.txt as in RFC 9309, and where that is silent as in Google's public specification.

The cases follow the clauses of the RFC and the behaviours that Google's specification tests name; each tests
several URLs of one text, so that denied and allowed ones are next to each other.
"""

from __future__ import annotations

import pytest

from strider.politeness import RobotsTxt
from strider.politeness.robots.tokenizer import MAX_LINE_CHARACTERS

DENY = "Disallow: /\n"


def _case(name: str, text: str, agent: str, *, yes: str = "", no: str = "") -> object:
    return pytest.param(text, agent, yes.split(), no.split(), id=name)


def _only(rule: str) -> str:
    """Return a text that allows what one rule matches, and nothing else."""
    return f"user-agent: FooBot\ndisallow: /\n{rule}\n"


GROUPS = (
    "allow: /foo/bar/\n\nuser-agent: FooBot\ndisallow: /\nallow: /x/\nuser-agent: BarBot\ndisallow: /\n"
    "allow: /y/\n\n\nallow: /w/\nuser-agent: BazBot\n\nuser-agent: FooBot\nallow: /z/\ndisallow: /\n"
)
SIMPLE = (
    "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\n"
    "Disallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\n"
    "User-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n"
)
MERGED = (
    "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz\n\n"
    "user-agent: *\ndisallow: /foo\n\nuser-agent: BazBot\ndisallow: /baz\n"
)

CASES = (
    _case(
        "rfc-simple-everybody", SIMPLE, "other", yes="/ /publications/a /a.gif?x", no="/example/a /a/b.gif"
    ),
    _case("rfc-simple-named", SIMPLE, "foobot", yes="/example/page.html /example/allowed.gif", no="/ /a.gif"),
    _case("rfc-simple-shared", SIMPLE, "bazbot", yes="/ /a.gif /example/a", no="/example/page.html"),
    _case("rfc-simple-empty-group", SIMPLE, "quxbot", yes="/ /example/page.html /a.gif"),
    _case("rfc-groups-merge", MERGED, "examplebot", yes="/ /qux", no="/foo /bar /baz"),
    _case("rfc-groups-do-not-mix", MERGED, "bazbot", yes="/foo", no="/baz"),
    _case(
        "rfc-longest-match",
        "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n",
        "foobot",
        yes="/example/page/ /example/page/a.gif",
        no="/example/page/disallowed.gif",
    ),
    _case("groups-foo", GROUPS, "FooBot", yes="/x/b /z/d", no="/y/c /foo/bar/"),
    _case("groups-bar", GROUPS, "BarBot", yes="/y/c /w/a", no="/z/d /foo/bar/"),
    _case("groups-shared-with-the-next", GROUPS, "BazBot", yes="/z/d", no="/foo/bar/ /w/a"),
    _case("names-of-fields-in-any-case", "uSeR-aGeNt: A\ndIsAlLoW: /\naLLow: /x", "a", yes="/x", no="/y"),
    _case("no-colon", "user-agent FooBot\ndisallow /\n", "FooBot", no="/x"),
    _case("unknown-fields-say-nothing", "foo: FooBot\nbar: /\n", "FooBot", yes="/x"),
    _case("blanks-before-the-colon", "user-agent : a\ndisallow\t: /x", "a", yes="/", no="/x"),
    _case(
        "agent-up-to-a-blank", "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x", "Foo", yes="/x"
    ),
    _case(
        "a-name-with-blanks-is-nobodys", "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar", "Foo Bar", no="/x"
    ),
    _case("agent-up-to-a-version", "User-agent: foobot/2.1\n" + DENY, "FooBot", no="/x"),
    _case("agent-with-a-star-behind", "User-agent: foobot*\n" + DENY, "FooBot", no="/x"),
    _case("agent-with-a-number", "User-agent: MJ12bot/v1\n" + DENY, "mj12bot", no="/x"),
    _case("agents-are-not-parts", "User-agent: Googlebot\n" + DENY, "Googlebot-Image", yes="/x"),
    _case("nor-wholes", "User-agent: Googlebot-Image\n" + DENY, "Googlebot", yes="/x"),
    _case("everybody-with-a-remark", "User-agent: * for all\n" + DENY, "a", no="/x"),
    _case("everybody-comes-second", "User-agent: *\nAllow: /\nUser-agent: a\n" + DENY, "a", no="/x"),
    _case("nobody-is-meant", "User-agent: a\n" + DENY, "b", yes="/x"),
    _case(
        "everybody-merges-too", "User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", "z", no="/a /b"
    ),
    _case(
        "other-records-end-no-group",
        "User-agent: a\nSitemap: /s\nFoo: 1\nUser-agent: b\n" + DENY,
        "a",
        no="/",
    ),
    _case("delays-end-no-group", "User-agent: a\nCrawl-delay: 1\nUser-agent: b\n" + DENY, "a", no="/"),
    _case("an-empty-rule-ends-a-group", "User-agent: a\nDisallow:\nUser-agent: b\n" + DENY, "a", yes="/"),
    _case("rules-without-a-group", DENY, "a", yes="/x"),
    _case("paths-in-their-case", "User-agent: a\nDisallow: /X/", "a", yes="/x/y", no="/X/y"),
    _case(
        "longest-wins-denying", "user-agent: a\ndisallow: /x/page.html\nallow: /x/", "a", no="/x/page.html"
    ),
    _case("longest-wins-allowing", "user-agent: a\nallow: /x/p\ndisallow: /x/", "a", yes="/x/p", no="/x/"),
    _case("of-equals-the-allowing", "user-agent: a\ndisallow: /\nallow: /", "a", yes="/x"),
    _case("of-nothings-nothing", "user-agent: a\ndisallow:\nallow:", "a", yes="/x"),
    _case("a-slash-more", "user-agent: a\ndisallow: /x\nallow: /x/", "a", yes="/x/", no="/x /xy"),
    _case("stars-count", "user-agent: a\nallow: /page\ndisallow: /*.html", "a", yes="/page", no="/page.html"),
    _case("stars-that-lose", "user-agent: a\nallow: /x/page.\ndisallow: /*.html", "a", yes="/x/page.html"),
    _case("end-of-path", "user-agent: a\ndisallow: /foo$\n", "a", yes="/foo/ /foobar /foo?x", no="/foo"),
    _case(
        "comment-in-a-rule",
        "user-agent: a\ndisallow: /foo/quz#qux\nallow: /",
        "a",
        yes="/foo/b",
        no="/foo/quz",
    ),
    _case(
        "query-as-it-is",
        _only("allow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par"),
        "FooBot",
        yes="/foo/bar?qux=taz&baz=http://foo.bar?tar&par",
        no="/foo/bar",
    ),
    _case(
        "rfc-query-escaped",
        _only("allow: /foo/bar?baz=https://foo.bar"),
        "FooBot",
        yes="/foo/bar?baz=https%3A%2F%2Ffoo.bar /foo/bar?baz=https://foo.bar",
    ),
    _case("rfc-octets-escaped", _only("allow: /foo/ツ"), "FooBot", yes="/foo/%E3%83%84 /foo/%e3%83%84"),
    _case("rfc-octets-escaped-already", _only("allow: /foo/%e3%83%84"), "FooBot", yes="/foo/%E3%83%84"),
    _case("rfc-unreserved", _only("allow: /foo/bar/%62%61%7A"), "FooBot", yes="/foo/bar/baz /foo/bar/%62az"),
    _case("rfc-unreserved-in-the-url", _only("allow: /~joe"), "FooBot", yes="/%7Ejoe /%7ejoe /~joe"),
    _case("an-escaped-slash-is-none", _only("allow: /a%2fb"), "FooBot", yes="/a%2Fb", no="/a/b"),
    _case(
        "rfc-an-escaped-star",
        _only("allow: /a-%2A.html"),
        "FooBot",
        yes="/a-*.html /a-%2A.html",
        no="/a-b.html",
    ),
    _case("rfc-an-escaped-dollar", _only("allow: /a-%24"), "FooBot", yes="/a-$ /a-$b /a-%24", no="/a-"),
    _case("a-dollar-within", _only("allow: /a$b"), "FooBot", yes="/a$b /a$bc", no="/a /ab"),
    _case("blanks-in-a-rule", _only("allow: /a b"), "FooBot", yes="/a%20b", no="/a"),
    _case("broken-escapes", _only("allow: /a%3M%"), "FooBot", yes="/a%3M%", no="/a"),
    _case(
        "a-page-of-a-folder",
        _only("allow: /d/index.html"),
        "FooBot",
        yes="/d/ /d/index.html",
        no="/d/index.htm /d",
    ),
    _case(
        "prefix",
        _only("allow: /fish"),
        "FooBot",
        yes="/fish /fish.html /fish/a /fishy",
        no="/Fish /catfish /?fish",
    ),
    _case(
        "prefix-with-star",
        _only("allow: /fish*"),
        "FooBot",
        yes="/fish /fish.html /fishy",
        no="/Fish /catfish",
    ),
    _case(
        "folder", _only("allow: /fish/"), "FooBot", yes="/fish/ /fish/?id=1 /fish/a", no="/fish /fish.html"
    ),
    _case(
        "ending",
        _only("allow: /*.php"),
        "FooBot",
        yes="/a.php /b/a.php?x /a.php/ /i?f=a.php/",
        no="/php /a.PHP",
    ),
    _case(
        "ending-at-the-end",
        _only("allow: /*.php$"),
        "FooBot",
        yes="/a.php /b/a.php",
        no="/a.php?x /a.php5 /php",
    ),
    _case(
        "star-within",
        _only("allow: /fish*.php"),
        "FooBot",
        yes="/fish.php /fishy/cat.php?x",
        no="/Fish.PHP /fish",
    ),
    _case("stars-in-a-row", _only("allow: /a**b***$"), "FooBot", yes="/ab /axbx", no="/a"),
    _case("root-alone", "user-agent: a\nallow: /$\ndisallow: /", "a", yes="/", no="/page.html"),
    _case("parts-do-not-overlap", _only("allow: /ab*ba$"), "FooBot", yes="/abba /abxba", no="/aba"),
    _case(
        "endings-of-lines",
        "User-agent: a\r\rDisallow: /x\r\nDisallow: /y\nDisallow: /z",
        "a",
        no="/x /y /z",
        yes="/",
    ),
    _case("mark-at-the-beginning", "\ufeffUser-agent: *\n" + DENY, "a", no="/"),
    _case("mark-elsewhere", "\nUser-agent: *\n\ufeffDisallow: /", "a", yes="/"),
    _case("itself", "User-agent: *\n" + DENY, "a", yes="/robots.txt", no="/robots.txt.bak /a/robots.txt"),
    _case("slips", "useragent: a\nDissalow: /x\nuser agent: b\ndisalow: /y", "a", yes="/y", no="/x"),
    _case("slips-of-others", "useg-agent: a\nDesallow: /x", "a", no="/x"),
    _case("html-without-rules", "<!DOCTYPE html><html><body>Not found: /</body></html>", "a", yes="/"),
    _case(
        "html-around-rules", "<html><body>User-agent: *<BR>\nDisallow: /x<br>\n</body>", "a", yes="/", no="/x"
    ),
    _case(
        "pages-of-mail", "To: all\nUser-agent: *\nDisallow: /private is what we wanted to say", "a", yes="/p"
    ),
)


@pytest.mark.req("S3.8.3", "S3.15.4")
@pytest.mark.parametrize(("text", "agent", "yes", "no"), CASES)
def test_texts_are_read_as_specified(text: str, agent: str, yes: list[str], no: list[str]) -> None:
    robots = RobotsTxt(text)

    found = {path: robots.allows(f"http://foo.bar{path}", agent) for path in (*yes, *no)}

    assert found == dict.fromkeys(yes, True) | dict.fromkeys(no, False)


def test_lines_are_cut_where_google_cuts_them() -> None:
    """A line longer than any URL is a mistake, but its beginning still counts."""
    path = "/x/" + "a" * (MAX_LINE_CHARACTERS - len("disallow: /x/") - 1)
    robots = RobotsTxt(f"user-agent: a\ndisallow: {path}/qux\n")

    assert robots.allows("http://foo.bar/fux", "a")
    assert not robots.allows(f"http://foo.bar{path}/fux", "a")


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        pytest.param("http://a.test", True, id="no-path"),
        pytest.param("http://a.test?q=1", False, id="query-without-path"),
        pytest.param("http://a.test/b;c?d#e", True, id="fragment-is-not-sent"),
        pytest.param("//a.test/?q", False, id="without-scheme"),
    ],
)
def test_what_is_judged_is_path_and_query(url: str, is_allowed: bool) -> None:
    assert RobotsTxt("User-agent: *\nDisallow: /?q\nDisallow: /*e").allows(url, "a") is is_allowed


def test_a_verdict_names_the_line_that_decided() -> None:
    """Users who ask why a page is not crawled need the line and its number."""
    robots = RobotsTxt("# ours\r\nUser-agent: *\r\nAllow: /a\r\n  Disallow : /a/b*  # closed\r\n")

    verdict = robots.verdict("http://a.test/a/b/c", "Strider")

    assert (verdict.is_allowed, verdict.group, verdict.line, verdict.rule) == (
        False,
        "*",
        4,
        "Disallow : /a/b*",
    )


@pytest.mark.req("S3.8.5")
@pytest.mark.parametrize(
    ("agent", "seconds"),
    [
        pytest.param("bixo", 10.0, id="named-before-the-delay"),
        pytest.param("foobot", 20.0, id="named-after-another-delay"),
        pytest.param("longest", 8.0, id="of-several-the-longest"),
        pytest.param("none", None, id="a-group-without-a-delay"),
        pytest.param("other", 30.0, id="everybody"),
    ],
)
def test_a_delay_is_for_those_who_were_named_before_it(agent: str, seconds: float | None) -> None:
    text = (
        "User-agent: bixo\nCrawl-delay: 10\nUser-agent: foobot\nCrawl-delay: 20\nDisallow: /x\n"
        "User-agent: longest\nCrawl-delay: 8\nCrawl-delay: 3\nDisallow:\nUser-agent: none\nDisallow:\n"
        "User-agent: *\nCrawl delay: 30\n"
    )

    assert RobotsTxt(text).declared_delay_seconds(agent) == seconds
