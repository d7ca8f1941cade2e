"""What must be true of every crawl, by the site's own log. Nothing here asks the crawler."""

from __future__ import annotations

from collections import Counter

from strider.testing.site import ServedSite

LATE_SECONDS = 0.25
"""How much later than it was sent a request may be noted, on a machine that does other things as well."""


def asked_too_often(site: ServedSite) -> Counter[str]:
    """URLs that were asked more often than they had to be, and how much more often."""
    return Counter(site.request_counts()) - Counter(site.plan.requests)


def assert_only_known_urls_were_asked(site: ServedSite) -> None:
    """No request may be made that the rules forbid, nor before they are known."""
    asked = set(site.request_counts())

    assert asked & site.plan.forbidden == set()
    assert asked - site.plan.requests.keys() == set()


def assert_robots_came_first(site: ServedSite) -> None:
    """Before the rules are known, nothing is allowed."""
    first = {host: lines[0].path for host, lines in site.requests_by_host().items()}

    assert first == dict.fromkeys(first, "/robots.txt")


def assert_polite(site: ServedSite, *, delay_seconds: float) -> None:
    """One request at a time to a host, and the delay between the starts of two."""
    least = delay_seconds - LATE_SECONDS
    hasty = {
        host: round(seconds, 3) for host, seconds in site.shortest_intervals().items() if seconds < least
    }

    assert hasty == {}, f"asked sooner than after {delay_seconds} s: {hasty}"
    assert site.overlapping_requests() == []
