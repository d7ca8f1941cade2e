"""What one producer puts into his seeds costs him a refusal, and other people nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.testing.site import SiteShape
from tests.processes.waiting import until

from .attackers import PAGE, attacker_site, attacker_sites, robots_allowing
from .neighbours import Stage

pytestmark = pytest.mark.timeout(600)

SLOW_TO_COMPILE = r"re:\pL{30}"
SLOW_TO_MATCH = "re:(((.{0,10}a){0,10}){0,10})b"
EXPENSIVE_SEEDS = 40
A_DAY = 86_400
SLOW_SECONDS = 20.0


@pytest.mark.fault("A1")
async def test_patterns_that_cost_seconds_are_refused(stage: Stage) -> None:
    """Each seed would take seconds to compile, and each link of its pages seconds to match."""
    patterns = {"include": [SLOW_TO_COMPILE] * 256, "exclude": [SLOW_TO_MATCH] * 256}
    urls = [f"http://127.0.0.1:9/patterns/{number}" for number in range(EXPENSIVE_SEEDS)]

    async with stage.unharmed_neighbours("A1 patterns"):
        for number, url in enumerate(urls):
            texts = {name: [f"{text}{number}" for text in all_] for name, all_ in patterns.items()}
            stage.send({"url": url, **texts})
        for url in urls:
            await stage.until_refused(url, field="include")


@pytest.mark.fault("A3")
@pytest.mark.parametrize("limit", ["max_seconds", pytest.param("max_pages", marks=pytest.mark.slow)])
async def test_a_seed_cannot_end_a_run_of_others(stage: Stage, limit: str) -> None:
    """The name of a run stands in every page result; a limit of one would end it."""
    async with stage.unharmed_neighbours(f"A3 {limit}"):
        for number, each in enumerate(stage.neighbours):
            for path in ("a", "b"):
                url = f"http://127.0.0.1:9/{limit}/{number}/{path}"
                stage.send({"url": url, "job_id": each.job_id, "execution_id": each.run, limit: 1})
        await stage.until_refused(f"http://127.0.0.1:9/{limit}/1/a", field="execution_id")


@pytest.mark.fault("A4")
@pytest.mark.parametrize("delay", [A_DAY, pytest.param(0, marks=pytest.mark.slow)])
async def test_a_seed_cannot_set_the_pace_of_a_host(stage: Stage, delay: int) -> None:
    """A delay of a day would stop everybody's crawl of the host, and none at all would flood it."""
    async with stage.unharmed_neighbours(f"A4 delay {delay}"):
        urls = [f"{origin}/late/{delay}" for each in stage.neighbours for origin in each.site.plan.origins]
        for url in urls:
            stage.send({"url": url, "delay": delay, "scope": "any"})
        for url in urls:
            await stage.until_refused(url, field="delay")


@pytest.mark.slow
@pytest.mark.fault("A4", part="a delay of raw seeds holds for their own requests")
async def test_a_long_delay_that_is_allowed_holds_for_its_sender_alone(stage: Stage) -> None:
    """Each of these URLs is open until its turn, which comes once in a minute."""
    async with stage.unharmed_neighbours("A4 delay 60"):
        origins = {origin for each in stage.neighbours for origin in each.site.plan.origins}
        urls = [f"{origin}/attack/{number}" for origin in origins for number in range(10)]
        run = stage.run_of_another_flow("slow")
        for url in urls:
            stage.send({"url": url, "execution_id": run, "delay": 60, "scope": "any"})
        await until(
            lambda: all(
                any(line.path.startswith("/attack/") for line in lines)
                for each in stage.neighbours
                for lines in each.site.requests_by_host().values()
            ),
            what="each host gets one of these requests",
            tell=stage.ring.tell,
            seconds=60,
        )


@pytest.mark.fault("A20")
async def test_urls_that_hold_a_host_leave_an_owner_his_pace(stage: Stage) -> None:
    """Another port of the owner's hosts, as of one site, takes nearly the whole deadline for each page."""

    def reply(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if (robots := robots_allowing(path)) is not None:
            return robots
        time.sleep(SLOW_SECONDS)
        return PAGE

    stage.shape = SiteShape(hosts=2, pages_per_host=60, children=60, is_plain=True)
    with attacker_site(reply) as slow:
        port = urlsplit(slow.origin).port
        async with stage.unharmed_neighbours("A20 slow URLs", paced=("owner",)):
            hosts = [urlsplit(origin).hostname for origin in stage.neighbour("owner").site.plan.origins]
            urls = [f"http://{host}:{port}/slow/{number}" for host in hosts for number in range(10)]
            for url in urls:
                stage.send({"url": url, "job_id": "slow", "scope": "any"})
            await until(
                lambda: sum(path.startswith("/slow/") for path, _ in slow.requests) >= len(hosts),
                what="each host gets one of these requests",
                tell=stage.ring.tell,
                seconds=60,
            )


@pytest.mark.fault("A5")
async def test_robots_txt_redirects_no_request_to_another_host(stage: Stage) -> None:
    """Six hosts of the attacker name expensive URLs of another site as their robots.txt."""
    async with stage.unharmed_neighbours("A5 robots.txt"):
        target = stage.neighbour("owner").site.plan.origins[0]

        def reply(path: str) -> tuple[int, dict[str, str], bytes]:
            return (301, {"Location": f"{target}/expensive?{path}{time.monotonic()}"}, b"")

        with attacker_sites(6, reply) as sites:
            for site in sites:
                stage.send({"url": f"{site.origin}/start"})
            await until(
                lambda: all(site.requests for site in sites),
                what="every robots.txt of the attacker is requested",
                tell=stage.ring.tell,
                seconds=60,
            )
        assert [url for url in stage.neighbour("owner").site.request_counts() if "expensive" in url] == []


@pytest.mark.fault("A7", part="a crawl spec that a raw seed names")
async def test_a_seed_that_names_the_crawl_spec_of_another_gets_no_credentials(stage: Stage) -> None:
    """The id of a crawl spec stands in every page result, too."""
    with (
        attacker_site(lambda path: robots_allowing(path) or PAGE) as owners,
        attacker_site(lambda path: robots_allowing(path) or PAGE, address="127.9.4.1") as attackers,
    ):
        async with stage.unharmed_neighbours("A7 credentials"):
            url = f"{owners.origin}/members"
            secret = {"Authorization": "Bearer of-the-owner"}
            stage.send({"url": url, "job_id": "members", "headers": secret}, is_owner=True)
            rows: list[Any] = []

            async def is_stored() -> bool:
                rows[:] = await stage.ring.pages_of("members", [url])
                return bool(rows)

            await until(is_stored, what="the owner's page", tell=stage.ring.tell, seconds=60)
            spec_id = rows[0]["crawl_spec_id"]
            stage.send({"url": f"{attackers.origin}/steal", "crawl_spec_id": spec_id})
            await stage.until_refused(f"{attackers.origin}/steal", field="crawl_spec_id")
        assert owners.headers("Authorization")[-1:] == ["Bearer of-the-owner"]
        assert attackers.headers("Authorization") == []
        spoilt = CrawlSpecDeclared("", respect_robots=False)
        stage.send({"url": f"{attackers.origin}/rude", "crawl_spec_id": stage.ring.declare(spoilt)})
        await stage.until_refused(f"{attackers.origin}/rude", field="respect_robots")


@pytest.mark.fault("A10")
async def test_names_that_the_crawler_uses_itself_are_refused(stage: Stage) -> None:
    """The seen set of such a job would hide links of everybody's crawls for a week."""
    names = [
        {"job_id": ".robots"},
        {"job_id": "adhoc.44136fa355b3678a"},
        {"execution_id": "adhoc-20300101-0"},
    ]

    async with stage.unharmed_neighbours("A10 names"):
        for number, name in enumerate(names):
            stage.send({"url": f"http://127.0.0.1:9/names/{number}", **name})
        for number, name in enumerate(names):
            await stage.until_refused(f"http://127.0.0.1:9/names/{number}", field=next(iter(name)))


@pytest.mark.fault("B6", part="an owner's run beside a flood of raw seeds")
async def test_a_flood_of_urgent_seeds_starves_no_run(stage: Stage) -> None:
    """Far more hosts than may be in flight, each of them slow, and all of them more urgent than links.

    The run of raw seeds shares its half of the pipeline with the flood, which is one of them: it gets all of
    its pages, but while the pipeline is full it waits for places that are given back.
    """

    def reply(path: str) -> tuple[int, dict[str, str], bytes]:
        if (robots := robots_allowing(path)) is not None:
            return robots  # type: ignore[return-value]
        time.sleep(2.0)
        return PAGE  # type: ignore[return-value]

    with attacker_sites(200, reply) as sites:
        async with stage.unharmed_neighbours("B6 flood", paced=("owner",)):
            for site in sites:
                for number in range(10):
                    stage.send({"url": f"{site.origin}/{number}", "priority": 3, "job_id": "flood"})
            await until(
                lambda: sum(len(site.requests) > 1 for site in sites) > 50,
                what="the flood is crawled",
                tell=stage.ring.tell,
                seconds=60,
            )
