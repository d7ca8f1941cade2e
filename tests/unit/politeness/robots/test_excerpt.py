"""Excerpt of a long robots.txt: bounded, and never more permissive than the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strider.politeness import RobotsTxt
from strider.politeness.robots.excerpt import MAX_EXCERPT_BYTES, excerpt_robots

AGENT = "Strider"
PADDING = "# what nobody needs\n" * 1_000


def allowed(text: str, path: str, agent: str = AGENT) -> bool:
    return RobotsTxt(text).allows(f"http://a.test{path}", agent)


def test_a_short_text_is_kept_as_it_is() -> None:
    text = "User-agent: other\nDisallow: /x # why\n\nUser-agent: *\nDisallow:\n"

    assert excerpt_robots(text, AGENT) == text


@pytest.mark.parametrize("own", [pytest.param("", id="any"), pytest.param("Strider", id="by-name")])
def test_rules_that_fit_decide_as_before(own: str) -> None:
    rules = "Disallow: /a\nAllow: /a/b$\nDisallow: /c d*$x\nAllow: /shop/index.html\nCrawl-delay: 7\n"
    text = f"{PADDING}User-agent: *\nDisallow: /every\n{own and f'User-agent: {own}'}\n{rules}"
    text += "User-agent: badbot\nDisallow: /\nUser-agent: goodbot\nAllow: /\nSitemap: http://a.test/s.xml\n"

    kept = excerpt_robots(text, AGENT)

    assert len(kept.encode()) <= MAX_EXCERPT_BYTES
    for path in ("/", "/a", "/a/b", "/a/b/c", "/c%20d$x", "/c d", "/every", "/shop/", "/shop/index.html"):
        assert allowed(kept, path) is allowed(text, path), path
        assert allowed(kept, path, "unnamed") is allowed(text, path, "unnamed"), path
    assert RobotsTxt(kept).delay_seconds(AGENT) == 7.0
    assert RobotsTxt(kept).sitemaps == ("http://a.test/s.xml",)
    assert not allowed(kept, "/", "badbot")
    assert not allowed(kept, "/", "goodbot"), "rules of other agents are not kept, so nothing is allowed them"


def test_rules_that_do_not_fit_deny_more() -> None:
    denied = [f"/shop/item-{number:05}/private" for number in range(5_000)]
    text = "User-agent: *\nAllow: /shop/item-00001/private/open\n"
    text += "".join(f"Disallow: {path}\n" for path in denied)

    kept = excerpt_robots(text, AGENT)

    assert len(kept.encode()) <= MAX_EXCERPT_BYTES
    rules = RobotsTxt(kept)
    assert not any(rules.allows(f"http://a.test{path}", AGENT) for path in denied)
    assert not allowed(kept, "/shop/item-00001/private/open")
    assert allowed(kept, "/shop/")
    assert allowed(kept, "/about")


def test_patterns_that_have_nothing_in_common_deny_all() -> None:
    text = "User-agent: *\n" + "".join(f"Disallow: /{chr(number)}*{number}\n" for number in range(256, 9_000))

    kept = excerpt_robots(text, AGENT)

    assert len(kept.encode()) <= MAX_EXCERPT_BYTES
    assert not allowed(kept, "/%C4%80/256")


def test_more_names_than_fit_leave_other_agents_nothing() -> None:
    text = "".join(f"User-agent: bot-{chr(97 + number % 26) * (number // 26 + 1)}\n" for number in range(400))
    text += f"Disallow: /bots\n{PADDING}User-agent: *\nDisallow: /mine\n"

    kept = excerpt_robots(text, AGENT)

    assert len(kept.encode()) <= MAX_EXCERPT_BYTES
    assert [allowed(kept, path) for path in ("/mine", "/bots", "/")] == [False, True, True]
    assert not allowed(kept, "/", "bot-a")


PATHS = st.text(alphabet="ab/*$%?4é &", max_size=6).map("/".__add__)
LINES = st.one_of(
    st.tuples(st.sampled_from(["Allow", "Disallow", "dissalow"]), PATHS),
    st.tuples(st.just("User-agent"), st.sampled_from(["*", "Strider", "strider/2", "other", "x" * 3_000])),
    st.tuples(st.just("Crawl-delay"), st.sampled_from(["3", "2.5s", "no"])),
)


@pytest.mark.fault("A6")
@given(
    st.lists(LINES, max_size=30),
    st.lists(PATHS, min_size=1, max_size=8),
    st.sampled_from(["Strider", "other", "unnamed"]),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_nothing_denied_is_allowed(
    lines: list[tuple[str, str]], paths: list[str], agent: str, is_large: bool
) -> None:
    body = "".join(f"{name}: {value}\n" for name, value in lines)
    many = "".join(f"Disallow: /{number:05}{'a' * (number % 50)}\n" for number in range(800))
    text = PADDING + body + (many if is_large else "")

    kept = excerpt_robots(text, AGENT)

    assert len(kept.encode()) <= MAX_EXCERPT_BYTES
    assert RobotsTxt(kept).delay_seconds(AGENT) == RobotsTxt(text).delay_seconds(AGENT)
    rules, full = RobotsTxt(kept), RobotsTxt(text)
    for path in [*paths, *(value for _, value in lines if value.startswith("/"))]:
        url = f"http://a.test{path}"
        assert full.allows(url, agent) or not rules.allows(url, agent), (path, agent)
        if agent == AGENT and not is_large:
            assert rules.allows(url, agent) is full.allows(url, agent), path
