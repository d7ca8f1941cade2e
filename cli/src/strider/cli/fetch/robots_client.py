"""Fetch the robots.txt of sites as the fetcher does, and evaluate URLs with it.

What a status means (4xx allows, an unreachable file denies) is decided by `politeness`, as it is for the
scheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from strider.cli.output import log_to_stderr
from strider.contracts.generated.enums import RequestKind
from strider.crawl.settings import user_agent
from strider.politeness.robots.freshness import RobotsFetchResult, classify_outcome
from strider.politeness.robots.robots_txt import RobotsTxt, truncate_robots
from strider.runtime.clocks import SystemClock
from strider.urls import RefusedUrl, origin_of

from .client import FetchOptions, SingleFetcher, load_fetcher_settings, parse_url_argument
from .robots_report import UNREACHABLE, agent_token, parse_url, url_report
from .settings import setting_overrides

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
    origins = {text: _origin(href, parse_url_argument(href, settings)) for text, href in wanted}
    fetcher = SingleFetcher(settings, clock=SystemClock())
    try:
        known = {place: await _fetch_robots(fetcher, place) for place in dict.fromkeys(origins.values())}
    finally:
        await fetcher.close()
    return [_site_report(text, href, known[origins[text]], token=token) for text, href in wanted]


def _origin(href: str, found: str | RefusedUrl) -> str:
    if isinstance(found, RefusedUrl):
        raise ValueError(f"{href[:200]!r} cannot be fetched: {found.reason}")  # noqa: TRY004  # wrong usage, not a wrong type
    return origin_of(found)


async def _fetch_robots(fetcher: SingleFetcher, origin_url: str) -> dict[str, Any]:
    """Fetch the robots.txt of an origin; the fetcher follows its redirects."""
    completed = (await fetcher.fetch(f"{origin_url}/robots.txt", ROBOTS_OPTIONS))[-1].completed
    answer = classify_outcome(
        completed.outcome, error_class=completed.error_class, has_redirected=completed.robots_hops > 0
    )
    return {
        "answer": answer,
        "robots": RobotsTxt(truncate_robots(completed.robots_text, is_part=completed.robots_truncated)),
        "url": completed.robots_url or completed.url,
        "status": completed.status,
        "is_cut": completed.robots_truncated,
        "why": completed.error_class or completed.outcome,
    }


def _site_report(text: str, href: str, known: dict[str, Any], *, token: str) -> dict[str, Any]:
    answer = known["answer"]
    robots = known["robots"] if answer is RobotsFetchResult.GOOD else NO_ROBOTS
    state = _STATES.get(answer, UNREACHABLE)
    report = url_report(
        text, href, robots, agent=token, robots_url=known["url"], state=state, is_cut=known["is_cut"]
    )
    report["robots_status"] = known["status"]
    if answer is RobotsFetchResult.ABSENT:
        report["reason"] = "absent"
    elif answer is not RobotsFetchResult.GOOD:
        report |= {"allowed": False, "reason": f"unreachable: {known['why']}"}
    return report
