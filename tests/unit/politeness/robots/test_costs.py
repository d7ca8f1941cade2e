"""A robots.txt costs no more than its length, whatever its content."""

from __future__ import annotations

import time

from strider.politeness import RobotsTxt
from strider.politeness.robots.rules import MAX_WILDCARD_RULES

AGENT = "Strider"
SECONDS = 5.0
"""Far more than any of these takes, far less than what once took minutes."""


def test_rules_are_kept_for_their_own_user_agent_only() -> None:
    """Stored once for each name, a file of 500 KiB would take much memory and minutes."""
    agents = "\n".join(f"User-agent: a{number}" for number in range(12_000))
    rules = "\n".join(f"Disallow: /{number}" for number in range(12_000))
    began = time.process_time()

    robots = RobotsTxt(f"{agents}\nUser-agent: Strider\n{rules}\n")

    assert not robots.allows("http://a.test/11999", AGENT)
    assert robots.allows("http://a.test/x", AGENT)
    assert time.process_time() - began < SECONDS


def test_too_many_patterns_deny_more_and_never_less() -> None:
    """Each is tried on each URL; of thousands only the strictest reading is used."""
    patterns = [f"Disallow: /d{number}/*x$" for number in range(MAX_WILDCARD_RULES)]
    text = "\n".join(["User-agent: *", *patterns, "Disallow: /late/*x", "Allow: /late/*y", "Disallow: /z$"])

    robots = RobotsTxt(text)

    verdicts = {path: robots.allows(f"http://a.test{path}", AGENT) for path in ("/d1/y", "/d1/x", "/late/y")}
    assert verdicts == {"/d1/y": True, "/d1/x": False, "/late/y": False}
    assert not robots.allows("http://a.test/z", AGENT)


def test_patterns_for_other_agents_cost_ours_nothing() -> None:
    """Sites repeat their rules for each agent that they know; ours are read completely."""
    others = "\n".join(
        [f"User-agent: other{number}\nDisallow: /{number}/*x" for number in range(MAX_WILDCARD_RULES + 1)]
    )

    robots = RobotsTxt(f"{others}\nUser-agent: *\nDisallow: /a/*x\n")

    assert robots.allows("http://a.test/a/y", AGENT)
    assert not robots.allows("http://a.test/a/x", AGENT)


def test_stars_do_not_multiply() -> None:
    """Many stars, and a path that nearly matches, stall matchers that backtrack."""
    robots = RobotsTxt("User-agent: *\nDisallow: /" + "a*" * 8_000 + "b$\n")
    began = time.process_time()

    assert robots.allows("http://a.test/" + "a" * 16_000, AGENT)
    assert time.process_time() - began < SECONDS
