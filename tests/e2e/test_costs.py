"""What a page costs the servers: a few messages, calls and statements, however many links it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from strider.testing.site import SiteShape, serve_site

from .pipeline import Effort, Ring

LINKS = 150
CRAWL_SECONDS = 90.0
MESSAGES, REDIS_CALLS, STATEMENTS = 16.0, 22.0, 12.0
"""At most so many a page. A page of a slow crawl is a batch of its own, which is the dearest case; what the
shards look at by themselves meanwhile is counted among the calls."""

pytestmark = pytest.mark.timeout(300)


async def _crawl(ring: Ring, shape: SiteShape, *, job_id: str, log: Path) -> Effort:
    before = await ring.effort()
    with serve_site(5, shape, log=log, name=job_id) as site:
        ring.sow(site, job_id=job_id)
        await ring.until_told(site, job_id, seconds=CRAWL_SECONDS)
    return (await ring.effort()).since(before)


async def test_the_cost_of_a_page_does_not_grow_with_its_links(ring: Ring, tmp_path: Path) -> None:
    """None is counted by link, so a hundred times as many links change next to nothing."""
    few = SiteShape(hosts=3, pages_per_host=12, is_plain=True)
    many = SiteShape(hosts=3, pages_per_host=12, is_plain=True, far_links=LINKS)
    pages = few.hosts * few.pages_per_host

    lean = await _crawl(ring, few, job_id="lean", log=tmp_path / "lean.log")
    rich = await _crawl(ring, many, job_id="rich", log=tmp_path / "rich.log")

    for told in (lean, rich):
        print(  # noqa: T201  # figures are what this test is run for
            f"\nCOST a page: messages={told.messages / pages:.1f}"
            f" redis-calls={told.redis_calls / pages:.1f} statements={told.statements / pages:.1f}"
        )
        assert told.messages <= MESSAGES * pages
        assert told.redis_calls <= REDIS_CALLS * pages
        assert told.statements <= STATEMENTS * pages
