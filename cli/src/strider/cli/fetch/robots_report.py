"""Evaluation of robots.txt for URLs, as objects with stable fields and as lines for people.

Fetches nothing. The URL is evaluated as it was typed, in WHATWG form: a crawl may remove parts of it first,
such as tracking parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import can_ada

from strider.cli.arguments import complete_url
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

FILE: Final = "file"
UNREACHABLE: Final = "unreachable"
PRIVATE_ADDRESS_HINT: Final = (
    "private addresses are fetched only with --allow-private (or STRIDER_ALLOW_PRIVATE)"
)


def agent_token(agent: str) -> str:
    """Return the product token of a User-Agent: what precedes the version, where there is one."""
    named = agent.strip()
    return (product_token(named) if "/" in named else named) or PRODUCT


def parse_url(text: str) -> can_ada.URL:
    """Parse a URL; raises ValueError with one sentence."""
    whole = complete_url(text)
    try:
        url = can_ada.parse(whole)
    except (ValueError, TypeError):
        raise ValueError(f"{text[:200]!r} is not a URL") from None
    if url.protocol not in {"http:", "https:"}:
        raise ValueError(f"{text[:200]!r}: only http and https have a robots.txt")
    return url


def check_file(texts: Sequence[str], content: bytes, *, agent: str) -> list[dict[str, Any]]:
    """Evaluate URLs with the content of a file."""
    is_cut = len(content) > MAX_ROBOTS_BYTES
    read = decode_robots(content[:MAX_ROBOTS_BYTES])
    robots = RobotsTxt(truncate_robots(read, is_part=True) if is_cut else read)
    urls = [parse_url(text) for text in texts]
    return [
        url_report(text, url.href, robots, agent=agent, robots_url="", state=FILE, is_cut=is_cut)
        for text, url in zip(texts, urls, strict=True)
    ]


def url_report(
    text: str, href: str, robots: RobotsTxt, *, agent: str, robots_url: str, state: str, is_cut: bool = False
) -> dict[str, Any]:
    """Evaluate one URL."""
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


def report_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Return a report as lines for people."""
    yield f"{'allowed' if report['allowed'] else 'denied '}  {report['url']}"
    if report["line"]:
        yield f"  by line {report['line']}: {report['rule']}"
    else:
        yield f"  {report['reason'].replace('_', ' ')}"
    if report["robots_state"] != UNREACHABLE:
        group = f"the group of {report['group']}" if report["group"] else "no group"
        yield f"  {report['agent']} matches {group}"
    elif report["reason"].endswith((ErrorClass.REFUSED_ADDRESS, ErrorClass.REFUSED_HOST)):
        yield f"  {PRIVATE_ADDRESS_HINT}"
    if report["crawl_delay_seconds"] is not None:
        yield f"  crawl-delay {report['crawl_delay_seconds']:g} s, kept {report['obeyed_delay_seconds']:g} s"
    for sitemap in report["sitemaps"]:
        yield f"  sitemap {sitemap}"
    if report["robots_url"]:
        yield f"  {report['robots_state']} at {report['robots_url']}"


def _resolved(named: str, base: str) -> str:
    try:
        return str((can_ada.parse(base) + named).href)
    except (ValueError, TypeError):
        return named
