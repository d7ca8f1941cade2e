"""Many runs on the real pipeline: two hundred at once, and fifty each with a service killed at their end."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from strider.contracts.generated.topics import JOB_EVENTS
from strider.testing.site import ServedSite, SiteShape, serve_site
from tests.e2e.checks import assert_polite
from tests.e2e.pipeline import DELAY_SECONDS, RINGS, Ring
from tests.figures import record_figure
from tests.processes.waiting import until

RUNS_AT_ONCE = 200
END_SECONDS = 600.0

pytestmark = pytest.mark.timeout(3_600)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ServedSite]:
    """A site of many hosts, so that the delay of one is not what the test waits for."""
    shape = SiteShape(hosts=20, pages_per_host=3, is_plain=True)
    with serve_site(78, shape, log=tmp_path / "many.log", name="many-runs") as served:
        yield served


async def facts_of(ring: Ring, prefix: str) -> list[Any]:
    """Return what job-events has about some runs."""
    return [each for each in await ring.events(JOB_EVENTS) if each.execution_id.startswith(prefix)]


async def wait_for_ends(ring: Ring, prefix: str, runs: int) -> Counter[str]:
    """Wait until so many runs have ended; return how often each of them did."""
    ends: Counter[str] = Counter()

    async def are_ended() -> bool:
        nonlocal ends
        facts = await facts_of(ring, prefix)
        ends = Counter(each.execution_id for each in facts if each.what == "run_completed")
        return len(ends) >= runs

    await until(are_ended, what=f"the end of {runs} runs", tell=ring.tell, seconds=END_SECONDS)
    return ends


def send_run(ring: Ring, run: str, urls: Sequence[str]) -> None:
    """Send the seeds of a run of its own, and close it, as a foreign client does."""
    for url in urls:
        ring.produce_seed({"url": url, "run": run, "job_id": run, "scope": "listed"})
    ring.produce_seed({"run": run, "close": True})


@pytest.mark.slow
async def test_two_hundred_runs_at_once_end_once_each(ring: Ring, site: ServedSite) -> None:
    pages = sorted(page for page in site.plan.pages)
    began = time.monotonic()
    for number in range(RUNS_AT_ONCE):
        send_run(ring, f"many-{number}", [pages[number % len(pages)]])
    ends = await wait_for_ends(ring, "raw.many-", RUNS_AT_ONCE)
    took = time.monotonic() - began

    facts = await facts_of(ring, "raw.many-")
    found = [each for each in facts if each.what == "run_completed"]
    record_figure(
        f"{RUNS_AT_ONCE} runs at once: ended={len(ends)} double={ends.total() - len(ends)} took={took:.1f}s "
        f"messages={len(facts) / RUNS_AT_ONCE:.1f} a run"
    )
    assert set(ends.values()) == {1}
    outcomes = Counter((each.counts["accepted"], each.pages) for each in found)
    assert outcomes == {(1, 1): RUNS_AT_ONCE}, [dict(each.counts) for each in found]
    assert_polite(site, delay_seconds=DELAY_SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "runs", [pytest.param(len(RINGS), id="each-service-once"), pytest.param(50, id="fifty")]
)
@pytest.mark.fault("F1", part="each service in the last second of a run")
async def test_runs_end_once_where_a_service_is_killed_in_the_last_second(
    ring: Ring, site: ServedSite, runs: int
) -> None:
    """One service after the other, as soon as a shard has counted that nothing of the run is open."""
    pages = sorted(page for page in site.plan.pages)
    prefix = f"raw.killed-{runs}-"
    killed: Counter[str] = Counter()
    for number in range(runs):
        run, service = f"killed-{runs}-{number}", RINGS[number % len(RINGS)]
        send_run(ring, run, pages[3 * (number % 20) : 3 * (number % 20) + 3])

        async def is_counted(run: str = run) -> bool:
            facts = await facts_of(ring, f"raw.{run}")
            return any(each.what == "run_counted" and each.counts["accepted"] for each in facts)

        await until(is_counted, what="the last second of the run", tell=ring.tell, seconds=END_SECONDS)
        ring.services[service].kill()
        killed[service] += 1
        ring.start(service)
        await ring.services[service].until_ready()
        await wait_for_ends(ring, f"raw.{run}", 1)
    await asyncio.sleep(0)
    ends = await wait_for_ends(ring, prefix, runs)

    found = [each for each in await facts_of(ring, prefix) if each.what == "run_completed"]
    early = [each.execution_id for each in found if each.counts["accepted"] != each.pages]
    record_figure(
        f"runs with a kill in their last second: runs={runs} kills={json.dumps(dict(killed))} "
        f"early={len(early)} double={ends.total() - len(ends)} missing={runs - len(ends)}"
    )
    assert early == []
    assert set(ends.values()) == {1}
