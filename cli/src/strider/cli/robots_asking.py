"""Asks sites for their robots.txt, as the fetcher does, and judges URLs by what came.

What an answer means (4xx allows, what cannot be reached denies) is `politeness`'s to say, as it is
for the scheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from strider.contracts.generated.enums import RequestKind
from strider.crawl.settings import user_agent
from strider.politeness.robots.freshness import RobotsFetchResult, classify_outcome
from strider.politeness.robots.robots_txt import RobotsTxt, truncate_robots
from strider.runtime.clocks import SystemClock
from strider.urls import RefusedUrl, origin_of

from .fetching import SingleFetches, Wanted, quiet_logs, read_url, settings_of
from .manners import chosen_manners
from .robots_report import UNREACHABLE, parsed, report, token_of

ROBOTS: Final = Wanted(kind=RequestKind.ROBOTS, deadline_seconds=10.0)
NOBODY: Final = RobotsTxt("")

_STATES: Final = {RobotsFetchResult.GOOD: "fetched", RobotsFetchResult.ABSENT: "absent"}


async def reports_from_sites(
    texts: Sequence[str], *, agent: str, contact: str, allow_private: bool
) -> list[dict[str, Any]]:
    """Ask each origin once, and judge the URLs in their order; raises ValueError for wrong usage."""
    quiet_logs()
    chosen = chosen_manners(contact=contact, user_agent="", allow_private=allow_private, delay_seconds=None)
    settings = settings_of(chosen)
    token = token_of(agent or user_agent(settings.crawl))
    wanted = [(text, parsed(text).href) for text in texts]
    origins = {text: _origin(href, read_url(href, settings)) for text, href in wanted}
    fetches = SingleFetches(settings, clock=SystemClock())
    try:
        known = {place: await _asked(fetches, place) for place in dict.fromkeys(origins.values())}
    finally:
        await fetches.close()
    return [_judged(text, href, known[origins[text]], token=token) for text, href in wanted]


def _origin(href: str, found: str | RefusedUrl) -> str:
    if isinstance(found, RefusedUrl):
        raise ValueError(f"{href[:200]!r} cannot be asked: {found.reason}")  # noqa: TRY004  # usage, no type
    return origin_of(found)


async def _asked(fetches: SingleFetches, place: str) -> dict[str, Any]:
    """Ask an origin; redirects of a robots.txt are the fetcher's own business."""
    told = (await fetches.fetch(f"{place}/robots.txt", ROBOTS))[-1].told
    answer = classify_outcome(told.outcome, error_class=told.error_class, has_redirected=told.robots_hops > 0)
    return {
        "answer": answer,
        "robots": RobotsTxt(truncate_robots(told.robots_text, is_part=told.robots_truncated)),
        "url": told.robots_url or told.url,
        "status": told.status,
        "is_cut": told.robots_truncated,
        "why": told.error_class or told.outcome,
    }


def _judged(text: str, href: str, known: dict[str, Any], *, token: str) -> dict[str, Any]:
    answer = known["answer"]
    robots = known["robots"] if answer is RobotsFetchResult.GOOD else NOBODY
    state = _STATES.get(answer, UNREACHABLE)
    told = report(
        text, href, robots, agent=token, robots_url=known["url"], state=state, is_cut=known["is_cut"]
    )
    told["robots_status"] = known["status"]
    if answer is RobotsFetchResult.ABSENT:
        told["reason"] = "absent"
    elif answer is not RobotsFetchResult.GOOD:
        told |= {"allowed": False, "reason": f"unreachable: {known['why']}"}
    return told
