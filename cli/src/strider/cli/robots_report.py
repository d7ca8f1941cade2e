"""What a robots.txt says to URLs, as objects whose fields are stable, and as lines for people.

Reads rules; asks nobody. Judged is the URL as it was typed, in WHATWG form: what a crawl leaves out of
it (tracking parameters, say) is a matter of the crawl.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import can_ada

from strider.contracts.generated.enums import ErrorClass
from strider.crawl.settings import PRODUCT
from strider.politeness.robots.decoding import decode_robots
from strider.politeness.robots.robots_txt import (
    MAX_CRAWL_DELAY_SECONDS,
    MAX_ROBOTS_BYTES,
    RobotsTxt,
    product_token,
    truncate_robots,
)

from .typed import whole_url

FILE: Final = "file"
UNREACHABLE: Final = "unreachable"
ONLY_PRIVATELY: Final = "private addresses are asked only with --allow-private (or STRIDER_ALLOW_PRIVATE)"


def token_of(agent: str) -> str:
    """Give the name by which robots.txt files know an agent: what precedes a version, where there is one."""
    named = agent.strip()
    return (product_token(named) if "/" in named else named) or PRODUCT


def parsed(text: str) -> can_ada.URL:
    """Read a URL; raises ValueError in one sentence."""
    whole = whole_url(text)
    try:
        url = can_ada.parse(whole)
    except (ValueError, TypeError):
        raise ValueError(f"{text[:200]!r} is no URL") from None
    if url.protocol not in {"http:", "https:"}:
        raise ValueError(f"{text[:200]!r}: only http and https have a robots.txt")
    return url


def reports_from_file(texts: Sequence[str], content: bytes, *, agent: str) -> list[dict[str, Any]]:
    """Judge URLs by a file's content."""
    is_cut = len(content) > MAX_ROBOTS_BYTES
    read = decode_robots(content[:MAX_ROBOTS_BYTES])
    robots = RobotsTxt(truncate_robots(read, is_part=True) if is_cut else read)
    urls = [parsed(text) for text in texts]
    return [
        report(text, url.href, robots, agent=agent, robots_url="", state=FILE, is_cut=is_cut)
        for text, url in zip(texts, urls, strict=True)
    ]


def report(
    text: str, href: str, robots: RobotsTxt, *, agent: str, robots_url: str, state: str, is_cut: bool = False
) -> dict[str, Any]:
    """Judge one URL by rules."""
    verdict = robots.verdict(href, agent)
    asked = robots.declared_delay_seconds(agent)
    return {
        "url": text,
        "allowed": verdict.is_allowed,
        "reason": "rule" if verdict.line else "no_rule",
        "agent": agent,
        "group": verdict.group,
        "rule": verdict.rule,
        "line": verdict.line,
        "crawl_delay_seconds": asked,
        "obeyed_delay_seconds": None if asked is None else min(asked, MAX_CRAWL_DELAY_SECONDS),
        "sitemaps": [_resolved(named, robots_url or href) for named in robots.sitemaps],
        "robots_url": robots_url,
        "robots_state": state,
        "robots_status": 0,
        "truncated": is_cut,
    }


def lines_of(told: Mapping[str, Any]) -> Iterator[str]:
    """Tell a report to people."""
    yield f"{'allowed' if told['allowed'] else 'denied '}  {told['url']}"
    if told["line"]:
        yield f"  by line {told['line']}: {told['rule']}"
    else:
        yield f"  {told['reason'].replace('_', ' ')}"
    if told["robots_state"] != UNREACHABLE:
        group = f"the group of {told['group']}" if told["group"] else "no group"
        yield f"  {told['agent']} is spoken to by {group}"
    elif told["reason"].endswith((ErrorClass.REFUSED_ADDRESS, ErrorClass.REFUSED_HOST)):
        yield f"  {ONLY_PRIVATELY}"
    if told["crawl_delay_seconds"] is not None:
        yield f"  crawl-delay {told['crawl_delay_seconds']:g} s, obeyed {told['obeyed_delay_seconds']:g} s"
    for sitemap in told["sitemaps"]:
        yield f"  sitemap {sitemap}"
    if told["robots_url"]:
        yield f"  {told['robots_state']} at {told['robots_url']}"


def _resolved(named: str, base: str) -> str:
    try:
        return str((can_ada.parse(base) + named).href)
    except (ValueError, TypeError):
        return named
