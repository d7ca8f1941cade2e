"""What one producer puts into his seeds costs him a refusal, and other people nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
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


@pytest.mark.fault("A1", "A3", "A4", "A10")
async def test_seeds_beyond_their_limits_are_refused(stage: Stage) -> None:
    """Patterns that cost seconds, limits of another's run, the pace of a host, names of the crawler's own.

    All of them at once, in one crawl of the neighbours: none is to change it, and each has its own refusal.
    """
    async with stage.unharmed_neighbours("A1 A3 A4 A10 refused seeds"):
        wanted = [
            *seeds_with_costly_patterns(),
            *seeds_that_end_runs(stage),
            *seeds_that_set_a_pace(stage),
            *seeds_with_own_names(),
        ]
        stage.send_all([seed for seed, _ in wanted])
        for seed, field in wanted:
            if field:
                await stage.until_refused(seed["url"], field=field)


WantedRefusals = Iterator[tuple[dict[str, Any], str]]
"""Seeds, each with the field that its refusal names; an empty one where what is refused is not known."""


def seeds_with_costly_patterns() -> WantedRefusals:
    """Each seed would take seconds to compile, and each link of its pages seconds to match."""
    patterns = {"include": [SLOW_TO_COMPILE] * 256, "exclude": [SLOW_TO_MATCH] * 256}
    for number in range(EXPENSIVE_SEEDS):
        texts = {name: [f"{text}{number}" for text in all_] for name, all_ in patterns.items()}
        yield {"url": f"http://127.0.0.1:9/patterns/{number}", **texts}, "include"


def seeds_that_end_runs(stage: Stage) -> WantedRefusals:
    """The name of a run stands in every page result; a limit of one would end it."""
    for limit in ("max_seconds", "max_pages"):
        for number, each in enumerate(stage.neighbours):
            names = {"job_id": each.job_id, "execution_id": each.run}
            for path in ("a", "b"):
                url = f"http://127.0.0.1:9/{limit}/{number}/{path}"
                yield {"url": url, **names, limit: 1}, "execution_id" if each.kind == "shared" else ""


def seeds_that_set_a_pace(stage: Stage) -> WantedRefusals:
    """A delay of a day would stop everybody's crawl of the host, and none at all would flood it."""
    for delay in (A_DAY, 0):
        for each in stage.neighbours:
            for origin in each.site.plan.origins:
                yield {"url": f"{origin}/late/{delay}", "delay": delay, "scope": "any"}, "delay"


def seeds_with_own_names() -> WantedRefusals:
    """The seen set of such a job would hide links of everybody's crawls for a week."""
    names = [
        {"job_id": ".robots"},
        {"job_id": "adhoc.44136fa355b3678a"},
        {"execution_id": "adhoc-20300101-0"},
    ]
    for number, name in enumerate(names):
        yield {"url": f"http://127.0.0.1:9/names/{number}", **name}, next(iter(name))


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
@pytest.mark.fault("A7", part="a crawl spec that a raw seed names")
async def test_robots_txt_redirects_no_request_and_a_crawl_spec_gives_no_credentials(stage: Stage) -> None:
    """Two attacks on other people's sites and logins, in one crawl of the neighbours."""
    async with stage.unharmed_neighbours("A5 A7 robots.txt and credentials"):
        await check_redirected_robots(stage)
        await check_named_crawl_spec(stage)
    assert [url for url in stage.neighbour("owner").site.request_counts() if "expensive" in url] == []


async def check_redirected_robots(stage: Stage) -> None:
    """Six hosts of the attacker name expensive URLs of another site as their robots.txt."""
    target = stage.neighbour("owner").site.plan.origins[0]

    def reply(path: str) -> tuple[int, dict[str, str], bytes]:
        return (301, {"Location": f"{target}/expensive?{path}{time.monotonic()}"}, b"")

    with attacker_sites(6, reply) as sites:
        stage.send_all([{"url": f"{site.origin}/start"} for site in sites])
        await until(
            lambda: all(site.requests for site in sites),
            what="every robots.txt of the attacker is requested",
            tell=stage.ring.tell,
            seconds=60,
        )


async def check_named_crawl_spec(stage: Stage) -> None:
    """The id of a crawl spec stands in every page result, too."""
    with (
        attacker_site(lambda path: robots_allowing(path) or PAGE) as owners,
        attacker_site(lambda path: robots_allowing(path) or PAGE, address="127.9.4.1") as attackers,
    ):
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
