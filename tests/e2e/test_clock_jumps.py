"""The wall clock of each service jumps by an hour in the middle of a crawl, and the end is the same."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.testing.site import EXCLUDED, SiteShape, serve_site
from tests.processes.services import Service

from .checks import asked_too_often, assert_only_known_urls_were_asked, assert_polite
from .pipeline import DELAY_SECONDS, SERVICES, Ring, running_ring

JOB = "clock-jumps"
SHAPE = SiteShape(hosts=6, pages_per_host=16, slow_seconds=1.0, latency_seconds=0.2, has_excluded=True)
CLOCK = Path(__file__).parents[1] / "processes" / "jumping_clock"
TURN_SECONDS = 60.0
END_SECONDS = 180.0

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def ring() -> Iterator[Ring]:
    """Return services whose clocks can be made to jump."""
    with running_ring({"PYTHONPATH": str(CLOCK)}, counts_statements=False) as ring:
        yield ring


def _jumps(service: Service) -> int:
    return sum("the clock shows" in line for line in service.lines())


@pytest.mark.fault("F20")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(signal.SIGUSR1, signal.SIGUSR2, id="forwards-and-back"),
        pytest.param(signal.SIGUSR2, signal.SIGUSR1, id="back-and-forwards"),
    ],
)
async def test_a_jump_of_any_clock_changes_nothing(
    ring: Ring, tmp_path: Path, first: signal.Signals, second: signal.Signals
) -> None:
    """F20: one service after the other, so that their clocks differ by an hour in the meantime."""
    job = f"{JOB}-{first.name.lower()}"
    spec = CrawlSpecDeclared("", scope="any", max_depth=10, exclude=(EXCLUDED,))
    before = {name: _jumps(each) for name, each in ring.services.items()}
    with serve_site(151, SHAPE, log=tmp_path / "access.log", name=job) as site:
        ring.sow(site, job_id=job, crawl_spec_id=ring.declare(spec))
        for number in (first, second):
            for name in SERVICES:
                await ring.until_asked(site, more=2, seconds=TURN_SECONDS)
                os.kill(ring.services[name].pid, number)
        await ring.until_told(site, job, seconds=END_SECONDS)
        pages, decisions = await ring.pages(job), await ring.decisions(job)

        assert Counter(row["url"] for row in pages) == Counter(site.plan.pages)
        assert {row["url"]: row["reason"] for row in decisions} == site.plan.decided_without_page
        assert asked_too_often(site) == Counter()
        assert_only_known_urls_were_asked(site)
        assert_polite(site, delay_seconds=DELAY_SECONDS)
    assert [name for name, each in ring.services.items() if each.exit_code is not None] == []
    assert {name: _jumps(each) - before[name] for name, each in ring.services.items()} == dict.fromkeys(
        SERVICES, 2
    )
