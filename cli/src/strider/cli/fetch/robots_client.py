"""Fetch the robots.txt of sites as the fetcher does, and evaluate URLs with it.

What a status means (4xx allows, an unreachable file denies) is decided by `politeness`, as it is for the
scheduler. A URL is evaluated as it was typed, in WHATWG form: a crawl may remove parts of it first, such as
tracking parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import can_ada

from strider.cli.output import log_to_stderr
from strider.cli.typed_urls import announce, read_url
from strider.contracts.generated.enums import ErrorClass, RequestKind
from strider.crawl.settings import PRODUCT, user_agent
from strider.politeness.robots.decoding import decode_robots
from strider.politeness.robots.freshness import RobotsFetchResult, classify_outcome
from strider.politeness.robots.robots_txt import (
    MAX_CRAWL_DELAY_SECONDS,
    MAX_ROBOTS_BYTES,
    RobotsTxt,
    product_token,
    truncate_robots,
)
from strider.runtime.clocks import SystemClock
from strider.urls import origin_of

from .client import FetchOptions, SingleFetcher, load_fetcher_settings, parse_url_argument
from .settings import setting_overrides

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
    """Parse a URL, and print how it was read; raises ValueError with one sentence."""
    return can_ada.parse(announce(read_url(text)).text)


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
        "redirect_target": "",
        "redirect_refused": "",
        "truncated": is_cut,
    }


def report_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Return a report as lines for people."""
    yield f"{'allowed' if report['allowed'] else 'denied '}  {report['url']}"
    if report["line"]:
        yield f"  by line {report['line']}: {report['rule']}"
    else:
        yield f"  {_reason_text(report)}"
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
    if report["redirect_refused"]:
        refused = report["redirect_refused"].replace("_", " ")
        yield f"  redirects to {report['redirect_target'] or 'no URL'}, not followed: {refused}"


def _reason_text(report: Mapping[str, Any]) -> str:
    """Return why no line decided, with the status by which a robots.txt is unreachable."""
    reason, status = report["reason"], report["robots_status"]
    if report["robots_state"] == UNREACHABLE and status:
        reason = UNREACHABLE if reason.partition(": ")[2].startswith("status_") else reason
        reason += f"{',' if ':' in reason else ':'} status {status}"
    return str(reason).replace("_", " ")


def _resolved(named: str, base: str) -> str:
    try:
        return str((can_ada.parse(base) + named).href)
    except (ValueError, TypeError):
        return named


ROBOTS_OPTIONS: Final = FetchOptions(kind=RequestKind.ROBOTS, deadline_seconds=10.0)
NO_ROBOTS: Final = RobotsTxt("")

_STATES: Final = {RobotsFetchResult.GOOD: "fetched", RobotsFetchResult.ABSENT: "absent"}


async def check_sites(
    texts: Sequence[str], *, agent: str, contact: str, allow_private: bool
) -> list[dict[str, Any]]:
    """Fetch the robots.txt of each origin once; returns one report per URL. Raises ValueError."""
    log_to_stderr("error")
    chosen = setting_overrides(
        contact=contact, user_agent="", allow_private=allow_private, delay_seconds=None
    )
    settings = load_fetcher_settings(chosen)
    token = agent_token(agent or user_agent(settings.crawl))
    wanted = [(text, parse_url(text).href) for text in texts]
    origins = {text: origin_of(parse_url_argument(href, settings).wire) for text, href in wanted}
    fetcher = SingleFetcher(settings, clock=SystemClock())
    try:
        known = {place: await _fetch_robots(fetcher, place) for place in dict.fromkeys(origins.values())}
    finally:
        await fetcher.close()
    return [_site_report(text, href, known[origins[text]], token=token) for text, href in wanted]


async def _fetch_robots(fetcher: SingleFetcher, origin_url: str) -> dict[str, Any]:
    """Fetch the robots.txt of an origin, and that of another host to which it redirects."""
    attempts = await fetcher.fetch(f"{origin_url}/robots.txt", ROBOTS_OPTIONS)
    completed = attempts[-1].completed
    has_redirected = len(attempts) > 1 or completed.robots_hops > 0
    answer = classify_outcome(
        completed.outcome, error_class=completed.error_class, has_redirected=has_redirected
    )
    return {
        "answer": answer,
        "robots": RobotsTxt(truncate_robots(completed.robots_text, is_part=completed.robots_truncated)),
        "url": completed.robots_url or completed.url,
        "status": completed.status,
        "is_cut": completed.robots_truncated,
        "why": completed.error_class or completed.outcome,
        "target": completed.redirect_target,
        "refused": completed.redirect_refused,
    }


def _site_report(text: str, href: str, known: dict[str, Any], *, token: str) -> dict[str, Any]:
    answer = known["answer"]
    robots = known["robots"] if answer is RobotsFetchResult.GOOD else NO_ROBOTS
    state = _STATES.get(answer, UNREACHABLE)
    report = url_report(
        text, href, robots, agent=token, robots_url=known["url"], state=state, is_cut=known["is_cut"]
    )
    report |= {
        "robots_status": known["status"],
        "redirect_target": known["target"],
        "redirect_refused": known["refused"],
    }
    if answer is RobotsFetchResult.ABSENT:
        report["reason"] = "absent"
    elif answer is not RobotsFetchResult.GOOD:
        report |= {"allowed": False, "reason": f"unreachable: {known['why']}"}
    return report
