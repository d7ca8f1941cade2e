"""The generated site: its expectations must follow from its own graph."""

from __future__ import annotations

import re
from urllib.parse import urljoin

import pytest

from strider.testing.site import FORBIDDEN_ADDRESS, PathKind, SitePlan, SiteShape, make_plan

ORIGINS = ["http://one.localhost:80", "http://two.localhost:80", "http://three.localhost:80"]


def walk(plan: SitePlan) -> set[str]:
    """Visit like a naive reader: every link, every redirect, no rules."""
    found, left = set(), list(plan.seeds)
    while left:
        url = left.pop().partition("#")[0].partition("?utm_")[0]
        host, slash, path = url.removeprefix("http://").partition("/")
        answer = plan.responses.get((host, slash + path))
        if url in found or answer is None:
            continue
        found.add(url)
        left += [urljoin(url, link) for link in re.findall(r'href="([^"]*)"', answer.body.decode())]
        left += [urljoin(url, answer.location)] if answer.location else []
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_everything_that_is_expected_is_linked(seed):
    """A page without a link to it would be awaited for ever."""
    plan = make_plan(seed, ORIGINS, SiteShape(trap_depth=4, has_busy=True, has_excluded=True))

    known = plan.pages | plan.redirects.keys() | plan.failures.keys() | plan.forbidden | plan.refused.keys()

    assert walk(plan) == known - {FORBIDDEN_ADDRESS}


def test_nothing_has_two_endings():
    """A URL that were a page and refused at once would fail every crawler."""
    plan = make_plan(1, ORIGINS, SiteShape(trap_depth=4))

    kinds = [plan.pages, plan.failures.keys(), plan.redirects.keys(), plan.forbidden, plan.refused.keys()]

    assert len(frozenset().union(*kinds)) == sum(map(len, kinds))
    assert plan.decided_without_page.keys() == frozenset().union(*kinds[1:])


def test_only_pages_that_fail_at_first_are_requested_more_often():
    plan = make_plan(1, ORIGINS, SiteShape(has_busy=True))

    often = {url.rpartition("/")[2]: count for url, count in plan.requests.items() if count > 1}

    assert often == {"broken": 4, "flaky": 2, "busy": 2}


def test_the_same_seed_makes_the_same_site():
    """The server and the test make it apart from each other."""
    assert make_plan(7, ORIGINS) == make_plan(7, ORIGINS)
    assert make_plan(7, ORIGINS) != make_plan(8, ORIGINS)


def test_a_plain_site_has_nothing_but_pages():
    """Benches compare crawlers on what all of them can do."""
    plan = make_plan(1, ORIGINS, SiteShape(is_plain=True))

    assert {answer.kind for answer in plan.responses.values()} == {PathKind.PAGE, PathKind.ROBOTS}
