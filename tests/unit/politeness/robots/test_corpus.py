"""Expected rules of real and unusual robots.txt files."""

from __future__ import annotations

from pathlib import Path

import pytest

from strider.politeness import RobotsTxt
from strider.politeness.robots.decoding import decode_robots

FILES = Path(__file__).parents[4].parent / "shared" / "corpora" / "robots"

pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the corpora are not on this machine")

AMAZON = (
    "sitemap-manual-index.xml",
    "sitemap_vendor_videos_us.xml",
    "sitemap_vod_index.xml",
    "sitemaps.f3053414d236e84.SitemapIndex_0.xml.gz",
    "sitemaps.1946f6b8171de60.SitemapIndex_0.xml.gz",
    "sitemaps.bbb7d657c7e29fa.SitemapIndex_0.xml.gz",
    "sitemaps.11aafed315ee654.SitemapIndex_0.xml.gz",
    "sitemaps.c21f969b5f03d33.SitemapIndex_0.xml.gz",
)

EXPECTED = [
    # file, agent, denied, allowed, delay, sitemaps
    ("astore.amazon.com-robots.txt", "bot", "", "/", 5.0, ""),
    ("crawl-delay-group-merging.txt", "mybot", "/private/", "/ /login/", 10.0, ""),
    ("crawl-delay-group-merging.txt", "yourbot", "/private/ /login/", "/", None, ""),
    ("crawl-delay-group-merging.txt", "other", "", "/private/", 30.0, ""),
    ("directive-typos-robots.txt", "bot1", "/desallow/ /dissalow/", "/useragent/", None, ""),
    ("directive-typos-robots.txt", "bot2", "/useragent/", "/desallow/", None, ""),
    ("directive-typos-robots.txt", "bot3", "/useg-agent/", "/desallow/", None, ""),
    ("directive-typos-robots.txt", "bot4", "/useragent-no-colon/", "/desallow/", None, ""),
    ("dos-line-endings.txt", "bot", "", "/", 1.0, ""),
    ("extended-standard-robots.txt", "bot3", "", "/", None, ""),
    ("extension-robots.txt", "mybot", "/private/", "/secret/", None, "/sitemap.xml"),
    ("extension-robots.txt", "otherbot", "/admin/", "/private/", None, "/sitemap.xml"),
    ("extensions-group-merging.txt", "mybot", "/private/ /login/", "/", None, ""),
    ("extensions-group-merging.txt", "other", "/ /x", "/llms.txt", None, ""),
    ("format-errors-robots.txt", "bot1", "/whitespace-before-colon/ /no-colon/", "/", None, "/sitemap.xml"),
    ("format-errors-robots.txt", "bot2", "/no-colon-useragent/", "/", None, "/sitemap.xml"),
    ("format-errors-robots.txt", "bot3", "/", "/whitespace-before-colon/", None, "/sitemap.xml"),
    (
        "malformed-path.txt",
        "bot",
        "/wiki/Wikipedia_talk:Mediation_Committee/ /wiki/Wikipedia_talk%3Mediation_Committee/",
        "/wiki/",
        None,
        "",
    ),
    ("many-user-agents.txt", "wget", "/", "", None, ""),
    ("many-user-agents.txt", "nobodyknown", "/bot-trap/", "/", None, ""),
    ("merge-rules.txt", "wget", "/tmp/bar", "/foo/bar /ckh/bar", None, ""),
    ("merge-rules.txt", "other", "/foo/bar /tmp/bar", "/ckh/bar", None, ""),
    ("precedence-of-rules.txt", "wget", "/x", "/foo /index.html", None, ""),
    ("precedence-of-rules.txt", "testy", "/foo /foo/b", "/foo/bar /", None, ""),
    ("relative-sitemap-robots.txt", "bot", "/cache/ /files/", "/", None, "/sitemap.xml"),
    (
        "rfc9309-example-longest-match-robots.txt",
        "foobot",
        "/example/page/disallowed.gif",
        "/example/page/",
        None,
        "",
    ),
    ("rfc9309-example-rule-group-merging.txt", "examplebot", "/foo /bar /baz", "/", None, ""),
    ("rfc9309-example-simple-robots.txt", "quxbot", "", "/example/ /a.gif", None, ""),
    *(
        (
            f"robots-with-{mark}-bom.txt",
            "bot",
            "/profile /x/output/print",
            "/",
            None,
            "http://www.newsweek.com/sitemap_index.xml",
        )
        for mark in ("utf8", "utf16be", "utf16le")
    ),
    ("sitemap-robots-dedup.txt", "bot", "", "/", None, "http://example.org/sitemap.xml"),
    (
        "sitemap-robots.txt",
        "bot",
        "",
        "/",
        None,
        "http://domain.com/sitemap.xml http://domain.com/dir/MixedCased-sitemap.xml",
    ),
    ("twitter.com-robots.txt", "Slurp", "/a?b /x/with_friends", "/a", 1.0, ""),
    ("twitter.com-robots.txt", "Googlebot", "/a?b", "/a", None, ""),
    (
        "wildcards.txt",
        "bot",
        "/wishlist/bogus /x/gcrnsts",
        "/wishlist/universal/page /",
        None,
        " ".join(f"http://www.amazon.com/{name}" for name in AMAZON),
    ),
    ("www.flot.com-robots.txt", "bot", "/img/", "/", None, "http://flot.com/sitemap_index.xml"),
]


@pytest.mark.parametrize("case", EXPECTED, ids=lambda case: f"{case[0]}:{case[1]}")
def test_each_file_gets_the_known_verdicts(case: tuple[str, str, str, str, float | None, str]) -> None:
    name, agent, denied, allowed, delay, sitemaps = case
    robots = RobotsTxt(decode_robots((FILES / name).read_bytes()))

    found = {
        path: robots.allows(f"http://a.test{path}", agent) for path in (*denied.split(), *allowed.split())
    }

    assert found == dict.fromkeys(denied.split(), False) | dict.fromkeys(allowed.split(), True)
    assert robots.declared_delay_seconds(agent) == delay
    assert robots.sitemaps == tuple(sitemaps.split())


def test_no_file_is_forgotten() -> None:
    """A file that is added to the corpus needs an expectation."""
    assert {path.name for path in FILES.iterdir()} == {case[0] for case in EXPECTED}
