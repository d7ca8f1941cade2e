"""A robots.txt costs no more than its length, and says the same as the parser reads in it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from strider.politeness import Robots
from strider.politeness.robots_lines import MAX_PATTERNS, narrowed, sitemaps_of

AGENT = "Strider"
PADDING = "\n".join(["Sitemap: http://a.test/$" + "*" * 9] * (MAX_PATTERNS // 8))
"""Enough that a text is not taken as it is; says nothing to anybody, and ends no group."""

_NAMES = (
    "*",
    "strider",
    "Strid",
    "str*ider",
    "s*",
    "rider",
    "other",
    "a",
    "**",
    "",
    "st-rider",
    "strider-news",
)
_LINES = st.one_of(
    st.tuples(
        st.sampled_from(["User-agent: ", "useragent:", "User agent ", "USER-AGENT :", "user-agent\t"]),
        st.sampled_from(_NAMES),
    ).map("".join),
    st.tuples(
        st.sampled_from(["Allow: ", "Disallow:", "disalow: ", "Disallow "]),
        st.sampled_from(["/", "/a", "/a/b", "/*b", "/a$", "*", "", "/a # c"]),
    ).map("".join),
    st.sampled_from(
        ["", "# user-agent: strider", "Sitemap: http://a.test/s", "Host: a.test", "nonsense", "foo: bar"]
    ),
    st.sampled_from(["Crawl-delay: 3", "Crawl delay: 4", "site-map http://a.test/m", "user agent"]),
)


@settings(max_examples=300)
@given(
    st.lists(_LINES, max_size=14).map("\n".join),
    st.sampled_from(["Strider", "st-rider", "b-strider", "A"]),
)
def test_a_text_says_to_its_agent_what_it_said_before(text: str, agent: str) -> None:
    """The rewriting is for cost alone: one that changes a verdict breaks a site's rules."""
    text = f"{text}\n{PADDING}"
    before, after = Protego.parse(text), Protego.parse(narrowed(text, agent))

    urls = [f"http://a.test{path}" for path in ("/", "/a", "/a/b", "/b", "/ab", "/c")]
    assert [after.can_fetch(url, agent) for url in urls] == [before.can_fetch(url, agent) for url in urls]
    assert after.crawl_delay(agent) == before.crawl_delay(agent)
    assert sitemaps_of(text) == tuple(dict.fromkeys(before.sitemaps))


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("User-agent: a{}", id="many-names"),
        pytest.param("user agent a{}", id="without-colon"),
        pytest.param("User-agent: s{}trider", id="hardly-other-names"),
        pytest.param("User-agent: strider" + "*" * 3 + "{}", id="stars"),
    ],
)
def test_rules_are_kept_once_however_many_agents_share_them(form: str) -> None:
    """Kept once for each, a file of 500 KiB takes a scheduler's memory and minutes of its time."""
    agents = "\n".join(form.format(number) for number in range(5_000))
    rules = "\n".join(f"Disallow: /{number}" for number in range(5_000))

    text = narrowed(f"{agents}\nUser-agent: Strider\n{rules}\n", AGENT)

    assert len({line for line in text.splitlines() if line.lower().startswith("user")}) <= 3
    assert not Robots(text).allows("http://a.test/4999", AGENT)
    assert Robots(text).allows("http://a.test/x", AGENT)


def test_stars_in_a_name_make_it_no_new_name() -> None:
    """The parser takes a name with stars for two, so that each way to put them would cost all rules again."""
    agents = "\n".join(f"User-agent: {'*' * number}strider" for number in range(1, 600))
    rules = "\n".join(f"Disallow: /{number}" for number in range(600))

    text = narrowed(f"{agents}\n{rules}\n", AGENT)

    assert {line for line in text.splitlines() if line.startswith("User")} == {"User-agent: strider"}


def test_too_many_patterns_deny_more_and_never_less() -> None:
    """Each is tried on each URL; who sends thousands gets their strictest reading, not a scheduler's time."""
    patterns = [f"Disallow: /d{number}/*x$" for number in range(MAX_PATTERNS)]
    text = "\n".join(["User-agent: *", *patterns, "Disallow: /late/*x", "Allow: /late/*y", "Disallow: /z$"])

    robots = Robots(text)

    verdicts = {path: robots.allows(f"http://a.test{path}", AGENT) for path in ("/d1/y", "/d1/x", "/late/y")}
    assert verdicts == {"/d1/y": True, "/d1/x": False, "/late/y": False}
    assert not robots.allows("http://a.test/z", AGENT)


def test_patterns_for_other_agents_cost_ours_nothing() -> None:
    """Sites repeat their rules for each agent that they know; ours are read as they are."""
    others = "\n".join(
        [f"User-agent: other{number}\nDisallow: /{number}/*x" for number in range(MAX_PATTERNS + 1)]
    )

    robots = Robots(f"{others}\nUser-agent: *\nDisallow: /a/*x\n")

    assert robots.allows("http://a.test/a/y", AGENT)
    assert not robots.allows("http://a.test/a/x", AGENT)
