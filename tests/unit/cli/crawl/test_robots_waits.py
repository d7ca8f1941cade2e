"""Progress line of a crawl that waits for robots.txt alone, and how often that is looked for."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest

from strider.cli.crawl.progress import CrawlProgress, CrawlProgressLine, RobotsWaitMonitor, waits_text
from strider.scheduler.core.hosts.robots_waits import RobotsWait

NOW = 1_800_000_000_000
WAIT = RobotsWait("http://a.test", 12, "status 503", NOW - 45_000, NOW + 15_000, NOW + 60_000)
TEXT = "12 URLs wait for robots.txt of http://a.test: status 503 for 45 s"


@pytest.mark.parametrize(
    ("waits", "text"),
    [
        pytest.param([WAIT], f"{TEXT}, next request in 15 s", id="next-request"),
        pytest.param([replace(WAIT, next_request_ms=NOW)], f"{TEXT}, requested now", id="in-flight"),
        pytest.param([replace(WAIT, ends_at_ms=NOW + 9_500)], f"{TEXT}, given up in 10 s", id="last-request"),
        pytest.param(
            [replace(WAIT, since_ms=NOW - 7_200_000, urls=1)],
            "1 URL waits for robots.txt of http://a.test: status 503 for 120 min, next request in 15 s",
            id="minutes",
        ),
        pytest.param(
            [
                replace(WAIT, origin="http://b.test", urls=2),
                WAIT,
                replace(WAIT, origin="http://c.test", urls=1),
            ],
            f"{TEXT}, next request in 15 s; 3 URLs wait for robots.txt of 2 other origins",
            id="several",
        ),
    ],
)
def test_the_text_names_origin_count_duration_and_what_follows(
    waits: Sequence[RobotsWait], text: str
) -> None:
    assert waits_text(waits, now_ms=NOW) == text


def test_the_progress_line_shows_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    show = CrawlProgressLine(is_shown=True)

    show(CrawlProgress(3, 12, 0, 0, 1, robots_waits=[WAIT], now_ms=NOW))

    assert terminal.getvalue().endswith(f"3 pages  {TEXT}, next request in 15 s")


async def test_looking_for_waits_takes_a_small_part_of_the_time() -> None:
    """Each look reads all open entries; after a long one the next comes later."""
    looks = 0

    async def read() -> Sequence[RobotsWait]:
        nonlocal looks
        looks += 1
        await asyncio.sleep(0.01)
        return [WAIT]

    monitor = RobotsWaitMonitor(read)

    assert [await monitor.waits() for _ in range(5)] == [[WAIT]] * 5
    assert looks == 1
