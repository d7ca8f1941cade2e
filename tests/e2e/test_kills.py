"""Every service is killed, stopped or frozen in turn in the middle of a crawl, and the end is the same.

Nothing is lost, nothing is stored twice, no host is asked in haste. What a killed or frozen fetcher had in
flight is requested once more, and nothing else is; an orderly stop repeats nothing.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.testing.site import EXCLUDED, ServedSite, SiteShape, serve_site
from strider.testing.stack import RunningServer
from tests.figures import record_figure

from .checks import asked_too_often, assert_only_known_urls_were_asked, assert_polite
from .pipeline import DELAY_SECONDS, SERVICES, Ring

JOB = "killed"
SHAPE = SiteShape(hosts=3, pages_per_host=12, slow_seconds=1.0, latency_seconds=0.2, has_excluded=True)
"""One site for each kill: of a single one a busy machine would crawl the rest while a service starts."""
REQUEST_SECONDS = 5.0
"""Of one request; so long, and a little more, its host waits for a fetcher that is gone."""
TURN_SECONDS = 150.0
END_SECONDS = 300.0
SPEC = CrawlSpecDeclared(
    "", scope="any", max_depth=10, exclude=(EXCLUDED,), request_timeout_seconds=REQUEST_SECONDS
)
ROUNDS = 20
SEED = 20

pytestmark = pytest.mark.timeout(1200)
Interrupt = Callable[[Ring, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class FetcherKill:
    """How things stood when the fetcher was killed."""

    at: float
    told: int
    """Requests of this crawl whose outcome it had told by then."""

    def in_hand(self, sites: Sequence[ServedSite]) -> int:
        """Count requests that were begun before and whose outcome was never published."""
        return sum(line.started < self.at for site in sites for line in site.access_log()) - self.told


@contextmanager
def _served(tmp_path: Path, name: str, *, first_seed: int) -> Iterator[Sequence[ServedSite]]:
    """Serve a site for each service."""
    with ExitStack() as served:
        yield [
            served.enter_context(
                serve_site(
                    first_seed + number, SHAPE, log=tmp_path / f"{name}-{number}.log", name=f"{name}-{number}"
                )
            )
            for number in range(len(SERVICES))
        ]


@pytest.fixture
def sites(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Sequence[ServedSite]]:
    with _served(tmp_path, request.node.name.replace("_", "-")[:24], first_seed=31) as sites:
        yield sites


async def _kill_each(
    ring: Ring,
    sites: Sequence[ServedSite],
    *,
    job_id: str,
    order: Sequence[str],
    rng: random.Random | None = None,
) -> FetcherKill:
    """Kill every service once, each in the middle of a site of its own, after so many requests of it."""
    fetcher = None
    outcomes_before, spec_id = await ring.outcomes(), ring.declare(SPEC)
    for name, site in zip(order, sites, strict=True):
        ring.sow(site, job_id=job_id, crawl_spec_id=spec_id)
        more = 2 * SHAPE.hosts if rng is None else rng.randint(1, 4 * SHAPE.hosts)
        await ring.until_asked(site, more=more, seconds=TURN_SECONDS)
        ring.services[name].kill()
        if name == "fetcher":
            fetcher = FetcherKill(time.monotonic(), await ring.outcomes() - outcomes_before)
        ring.start(name)
        await ring.services[name].until_ready()
    assert fetcher is not None
    return fetcher


def _tell_repeats(sites: Sequence[ServedSite], fetcher: FetcherKill) -> str:
    """When what was asked too often was asked, in seconds after the fetcher was killed."""
    repeats = {
        url: [
            (round(line.started - fetcher.at, 2), round(line.ended - fetcher.at, 2), line.status)
            for line in site.access_log()
            if line.url == url
        ]
        for site in sites
        for url in asked_too_often(site)
    }
    return "\n".join(f"{url}: {times}" for url, times in repeats.items())


async def _assert_whole(ring: Ring, sites: Sequence[ServedSite], *, job_id: str) -> int:
    """Wait for the end of the sites; return how many requests were made once more."""
    for site in sites:
        await ring.until_told(site, job_id, seconds=END_SECONDS)
    pages, decisions = await ring.pages(job_id), await ring.decisions(job_id)
    assert Counter(row["url"] for row in pages) == Counter(url for site in sites for url in site.plan.pages)
    decided = {url: reason for site in sites for url, reason in site.plan.decided_without_page.items()}
    assert {row["url"]: row["reason"] for row in decisions} == decided
    for site in sites:
        assert_only_known_urls_were_asked(site)
        assert_polite(site, delay_seconds=DELAY_SECONDS)
    assert [name for name, each in ring.services.items() if each.exit_code is not None] == []
    return sum(asked_too_often(site).total() for site in sites)


@pytest.mark.fault("F1", part="each of eight services once, under a crawl")
@pytest.mark.req("S2.0.1", "S3.2.11", "S3.4.3", "S5.2.9")
@pytest.mark.req("S5.1.1", part="each service is killed alone")
async def test_a_kill_of_any_service_changes_nothing(ring: Ring, sites: Sequence[ServedSite]) -> None:
    fetcher = await _kill_each(ring, sites, job_id=JOB, order=SERVICES)
    extra = await _assert_whole(ring, sites, job_id=JOB)
    in_hand = fetcher.in_hand(sites)

    record_figure(f"kills={len(SERVICES)} in-flight={in_hand} refetched={extra}")
    assert extra <= in_hand <= SHAPE.hosts * len(sites), _tell_repeats(sites, fetcher)


async def _interrupt_each(
    ring: Ring, sites: Sequence[ServedSite], interrupt: Interrupt, *, job_id: str
) -> None:
    """Interrupt every service once, each in the middle of a site of its own."""
    spec_id = ring.declare(SPEC)
    for name, site in zip(SERVICES, sites, strict=True):
        ring.sow(site, job_id=job_id, crawl_spec_id=spec_id)
        await ring.until_asked(site, more=2 * SHAPE.hosts, seconds=TURN_SECONDS)
        await interrupt(ring, name)


async def _stop_in_order(ring: Ring, name: str) -> None:
    stopped = ring.services[name]
    stopped.ask_to_stop()
    assert await stopped.until_ended() == 0, stopped.last_words()
    ring.start(name)
    await ring.services[name].until_ready()


async def _freeze_and_replace(ring: Ring, name: str) -> None:
    """Freeze it until its replacement has all of its partitions, let it continue, and stop it."""
    frozen = ring.services[name]
    partitions = frozen.partitions
    frozen.freeze()
    replacement = ring.start(name)
    await replacement.until(lambda: replacement.partitions >= partitions, what="has all partitions")
    frozen.thaw()
    await frozen.until(
        lambda: not partitions or 0 < frozen.partitions < partitions,
        what="is a member beside its replacement",
    )
    frozen.ask_to_stop()
    assert await frozen.until_ended() == 0, frozen.last_words()


async def _join_and_leave(ring: Ring, name: str) -> None:
    """Start a second member of its group, and stop it as soon as it is ready."""
    first = ring.services[name]
    second = ring.start(name)
    await second.until_ready()
    second.ask_to_stop()
    assert await second.until_ended() == 0, second.last_words()
    ring.services[name] = first


@pytest.mark.slow
@pytest.mark.fault("F8", part="of the services, under a crawl")
async def test_members_that_join_and_leave_repeat_no_request(ring: Ring, sites: Sequence[ServedSite]) -> None:
    """Two rebalances of each group, every few seconds."""
    await _interrupt_each(ring, sites, _join_and_leave, job_id="joined")

    assert await _assert_whole(ring, sites, job_id="joined") == 0


@pytest.mark.slow
@pytest.mark.fault("F21", part="Kafka does not answer, Redis does")
async def test_a_frozen_broker_delays_a_crawl_and_loses_nothing(
    ring: Ring, sites: Sequence[ServedSite]
) -> None:
    site, broker = sites[0], ring.servers.kafka
    assert isinstance(broker, RunningServer)
    ring.sow(site, job_id="frozen-broker", crawl_spec_id=ring.declare(SPEC))
    await ring.until_asked(site, more=2 * SHAPE.hosts, seconds=TURN_SECONDS)

    broker.freeze()
    for name in ("scheduler", "fetcher"):
        await ring.services[name].until_red("")
    requests = len(site.access_log())
    broker.thaw()

    extra = await _assert_whole(ring, sites[:1], job_id="frozen-broker")
    record_figure(f"requests={requests} before, refetched={extra}")
    assert requests < len(site.access_log())
    assert extra <= SHAPE.hosts


@pytest.mark.slow
@pytest.mark.fault("F2", part="each service, under a crawl")
async def test_an_orderly_stop_of_any_service_repeats_no_request(
    ring: Ring, sites: Sequence[ServedSite]
) -> None:
    await _interrupt_each(ring, sites, _stop_in_order, job_id="stopped")

    assert await _assert_whole(ring, sites, job_id="stopped") == 0


@pytest.mark.slow
@pytest.mark.fault("F3", part="each other service, under a crawl")
async def test_a_frozen_service_does_no_harm_when_it_continues(
    ring: Ring, sites: Sequence[ServedSite]
) -> None:
    await _interrupt_each(ring, sites, _freeze_and_replace, job_id="frozen")

    extra = await _assert_whole(ring, sites, job_id="frozen")
    record_figure(f"frozen={len(SERVICES)} refetched={extra}")
    assert extra <= SHAPE.hosts


@pytest.mark.slow
@pytest.mark.timeout(5400)
@pytest.mark.fault("F1", part="each of eight services twenty times at random, under a crawl")
async def test_twenty_kills_of_each_service_change_nothing(ring: Ring, tmp_path: Path) -> None:
    rng, refetched, in_flight = random.Random(SEED), 0, 0
    for number in range(ROUNDS):
        job_id, order = f"killed-{number}", rng.sample(SERVICES, len(SERVICES))
        with _served(tmp_path, f"round-{number}", first_seed=131 + number * len(SERVICES)) as sites:
            fetcher = await _kill_each(ring, sites, job_id=job_id, order=order, rng=rng)
            extra, in_hand = await _assert_whole(ring, sites, job_id=job_id), fetcher.in_hand(sites)
            assert extra <= in_hand <= SHAPE.hosts * len(sites), _tell_repeats(sites, fetcher)
        refetched, in_flight = refetched + extra, in_flight + in_hand
        record_figure(f"kills={(number + 1) * len(SERVICES)} in-flight={in_flight} refetched={refetched}")
