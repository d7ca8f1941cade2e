"""A robots.txt costs no more than its length, whatever stands in it."""

from __future__ import annotations

import time

from strider.politeness import RobotsTxt
from strider.politeness.robots.rules import MAX_PATTERNS

AGENT = "Strider"
SECONDS = 5.0
"""Far more than any of these takes, far less than what once took minutes."""


def test_rules_are_kept_for_the_agent_that_asks_alone() -> None:
    """Kept once for each name, a file of 500 KiB takes a scheduler's memory and minutes of its time."""
    agents = "\n".join(f"User-agent: a{number}" for number in range(12_000))
    rules = "\n".join(f"Disallow: /{number}" for number in range(12_000))
    began = time.process_time()

    robots = RobotsTxt(f"{agents}\nUser-agent: Strider\n{rules}\n")

    assert not robots.allows("http://a.test/11999", AGENT)
    assert robots.allows("http://a.test/x", AGENT)
    assert time.process_time() - began < SECONDS


def test_too_many_patterns_deny_more_and_never_less() -> None:
    """Each is tried on each URL; who sends thousands gets their strictest reading, not a scheduler's time."""
    patterns = [f"Disallow: /d{number}/*x$" for number in range(MAX_PATTERNS)]
    text = "\n".join(["User-agent: *", *patterns, "Disallow: /late/*x", "Allow: /late/*y", "Disallow: /z$"])

    robots = RobotsTxt(text)

    verdicts = {path: robots.allows(f"http://a.test{path}", AGENT) for path in ("/d1/y", "/d1/x", "/late/y")}
    assert verdicts == {"/d1/y": True, "/d1/x": False, "/late/y": False}
    assert not robots.allows("http://a.test/z", AGENT)


def test_patterns_for_other_agents_cost_ours_nothing() -> None:
    """Sites repeat their rules for each agent that they know; ours are read as they are."""
    others = "\n".join(
        [f"User-agent: other{number}\nDisallow: /{number}/*x" for number in range(MAX_PATTERNS + 1)]
    )

    robots = RobotsTxt(f"{others}\nUser-agent: *\nDisallow: /a/*x\n")

    assert robots.allows("http://a.test/a/y", AGENT)
    assert not robots.allows("http://a.test/a/x", AGENT)


def test_stars_do_not_multiply() -> None:
    """Many stars, and a path that nearly fits, make matchers of another kind stand still."""
    robots = RobotsTxt("User-agent: *\nDisallow: /" + "a*" * 8_000 + "b$\n")
    began = time.process_time()

    assert robots.allows("http://a.test/" + "a" * 16_000, AGENT)
    assert time.process_time() - began < SECONDS
