"""A robots.txt costs no more than its length, whatever its content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.politeness import RobotsTxt
from strider.politeness.robots import rules as robots_rules
from strider.politeness.robots.rules import MAX_DECISION_WORK
from tests.processor_cost import assert_cheap

MANY = 1_000

AGENT = "Strider"
YARDSTICKS = 800
"""Far more than any of these takes, far less than what once took minutes."""


def test_rules_are_kept_for_their_own_user_agent_only() -> None:
    """Stored once for each name, a file of 500 KiB would take much memory and minutes."""
    agents = "\n".join(f"User-agent: a{number}" for number in range(12_000))
    rules = "\n".join(f"Disallow: /{number}" for number in range(12_000))
    text = f"{agents}\nUser-agent: Strider\n{rules}\n"

    robots = assert_cheap(lambda: RobotsTxt(text), yardsticks=YARDSTICKS)

    assert not robots.allows("http://a.test/11999", AGENT)
    assert robots.allows("http://a.test/x", AGENT)


@pytest.mark.fault("C1", part="rules that are expensive to match")
@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("/" + "*a" * 250 + "{}$", id="many stars"),
        pytest.param("/*" + "a" * 240 + "b{}", id="texts that nearly match"),
        pytest.param("/*a{:x}", id="many short rules"),
    ],
)
def test_the_work_of_a_decision_is_bounded(pattern: str) -> None:
    """950 rules of 250 stars took 50 ms for each URL of 2,000 bytes; none of these allows the URL."""
    rules = "\n".join(f"Allow: {pattern.format(number)}" for number in range(MANY))
    robots = RobotsTxt(f"User-agent: *\nDisallow: /\n{rules}\n")
    url = f"http://a.test/{'a' * 1_980}zz"

    assert not assert_cheap(lambda: any(robots.allows(url, AGENT) for _ in range(500)), yardsticks=YARDSTICKS)


def test_rules_beyond_the_work_of_a_decision_deny_more_and_never_less() -> None:
    """Those that are left are read in the strictest way, for this path alone."""
    costly = [f"Allow: /*{'a' * 99}b{number}" for number in range(MANY)]
    text = "\n".join(["User-agent: *", *costly, "Disallow: /*x$", "Disallow: /d/*x", "Allow: /d/open"])
    long_path = "a" * (MAX_DECISION_WORK // MANY)

    robots = RobotsTxt(text)

    paths = ("/short", "/short/x", f"/{long_path}/y", f"/d/{long_path}/y", f"/d/open{long_path}")
    verdicts = [robots.allows(f"http://a.test{path}", AGENT) for path in paths]
    assert verdicts == [True, False, False, False, True]


RULE = st.builds(
    "{}: /{}".format, st.sampled_from(["Allow", "Disallow"]), st.text("ab*$/", min_size=0, max_size=8)
)


@given(st.lists(RULE, max_size=8), st.text("ab/", max_size=8), st.integers(0, 800))
def test_less_work_never_allows_more(rules: list[str], path: str, work: int) -> None:
    robots, url = RobotsTxt("\n".join(["User-agent: *", *rules])), f"http://a.test/{path}"
    exact = robots.allows(url, AGENT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(robots_rules, "MAX_DECISION_WORK", work)
        assert exact or not robots.allows(url, AGENT)


def test_patterns_for_other_agents_cost_ours_nothing() -> None:
    """Sites repeat their rules for each agent that they know; ours are read completely."""
    others = "\n".join([f"User-agent: other{number}\nDisallow: /{number}/*x" for number in range(MANY)])

    robots = RobotsTxt(f"{others}\nUser-agent: *\nDisallow: /a/*x\n")

    assert robots.allows("http://a.test/a/y", AGENT)
    assert not robots.allows("http://a.test/a/x", AGENT)


def test_stars_do_not_multiply() -> None:
    """Many stars, and a path that nearly matches, stall matchers that backtrack."""
    robots = RobotsTxt("User-agent: *\nDisallow: /" + "a*" * 4_000 + "b$\n")
    url = "http://a.test/" + "a" * 16_000

    assert assert_cheap(lambda: robots.allows(url, AGENT), yardsticks=YARDSTICKS)
