"""Files of a site that cost much to read delay the pages of their sender alone."""

from __future__ import annotations

import gzip
from random import Random
from typing import Final

import pytest

from tests.processes.waiting import until

from .attackers import PAGE, Reply, attacker_sites, robots_allowing
from .neighbours import Stage

pytestmark = pytest.mark.timeout(600)

ROBOTS_HOSTS: Final = 16
URLS_PER_HOST: Final = 25
COSTLY_RULES: Final = "\n".join(
    ["User-agent: *", "Disallow: /", *(f"Allow: /*{'a' * 9}b{number:03}{'a' * 7}" for number in range(400))]
).encode()
"""As many rules as are kept of a robots.txt; each nearly matches everywhere in a path of the same letters."""

PAGE_HOSTS: Final = 12
PAGES_PER_HOST: Final = 40
PAGE_BYTES: Final = 5_000_000
MIN_COSTLY_PAGES: Final = 80
"""Pages of the attacker that have been fetched: minutes of work for the parser, before those of others."""


def costly_page() -> Reply:
    """Return a page of which the parser would need several seconds: a paragraph for each word."""
    chance = Random(1)  # for words, not for secrets
    words = [f"{chance.randrange(1 << 16):x}" for _ in range(300)]
    text = "<html><body>" + "".join(f"<p>{word}" for word in chance.choices(words, k=PAGE_BYTES // 7))
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Encoding": "gzip"}
    return 200, headers, gzip.compress(text.encode(), 6)


@pytest.mark.slow
@pytest.mark.fault("C1")
async def test_rules_that_are_expensive_to_match_delay_no_other_run(stage: Stage) -> None:
    """URLs that are denied wait for no crawl delay: nothing but their cost limits how fast they come."""

    def reply(path: str) -> Reply:
        return (200, {"Content-Type": "text/plain"}, COSTLY_RULES) if path == "/robots.txt" else PAGE

    with attacker_sites(ROBOTS_HOSTS, reply) as sites:
        urls = [f"{site.origin}/{number}/{'a' * 1_900}" for number in range(URLS_PER_HOST) for site in sites]
        async with stage.unharmed_neighbours("C1 robots.txt rules"):
            stage.send_all([{"url": url, "job_id": "costly"} for url in urls])
            for url in (urls[0], urls[-1]):
                await stage.until_refused(url, field="robots_denied")
        assert {path for site in sites for path, _ in site.requests} == {"/robots.txt"}


@pytest.mark.fault("C2")
async def test_pages_that_cost_the_parser_its_deadline_delay_no_other_results(stage: Stage) -> None:
    """Some requests a second bring a hundred times the work that the parser can do."""
    page = costly_page()
    with attacker_sites(PAGE_HOSTS, lambda path: robots_allowing(path) or page) as sites:
        urls = [f"{site.origin}/{number}" for number in range(PAGES_PER_HOST) for site in sites]
        async with stage.unharmed_neighbours("C2 expensive pages", paced=()):
            stage.send_all([{"url": url, "job_id": "expensive"} for url in urls])
            await until(
                lambda: sum(len(site.requests) for site in sites) >= MIN_COSTLY_PAGES,
                what="expensive pages are fetched",
                tell=stage.ring.tell,
                seconds=120,
            )
