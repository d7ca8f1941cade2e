"""URLs that wait for an unreachable robots.txt, on a real Kafka and a real Valkey."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from strider.cli.app import app
from strider.contracts.generated.topics import URLS_DECIDED
from strider.scheduler import log_events
from tests.unit.scheduler.simulation.web import Host, Page, Web

from .scheduler_process import CrawlOnServers, SchedulerProcess


@pytest.fixture
async def crawl(
    kafka_bootstrap: str, redis_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> AsyncIterator[CrawlOnServers]:
    """A site whose robots.txt is answered by 503 for ever."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka_bootstrap)
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("STRIDER_SHARDS", "12")
    monkeypatch.delenv("POSTGRES_DSN", raising=False)
    crawl = CrawlOnServers(kafka_bootstrap, redis_url, seed=3)
    name = f"www.{crawl.name}.test"
    urls = (f"http://{name}/a", f"http://{name}/b")
    web = Web({name: Host(name, "overloaded")}, {url: Page(url) for url in urls}, urls)
    crawl.web = crawl.pipeline.web = web
    await crawl.begin()
    yield crawl
    await crawl.close()


async def printed_json(*words: str) -> Any:
    """Run a command beside the crawl, and return its JSON output."""
    result = await asyncio.to_thread(partial(CliRunner().invoke, app, [*words, "--json"]))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.fault("S15")
async def test_waiting_entries_and_their_decisions_name_robots_also_after_a_restart(
    crawl: CrawlOnServers, kafka_bootstrap: str, redis_url: str, tmp_path: Path
) -> None:
    """Its status and its last request come from the record of the origin on `hosts`."""
    url, origin = crawl.web.starts[0], crawl.web.starts[0].removesuffix("/a")
    first = SchedulerProcess(kafka_bootstrap, redis_url, tmp_path / "first.log")
    second = None
    try:

        async def has_failed_three_times() -> bool:
            return (
                len(first.log_lines(log_events.ROBOTS_TXT_UNREACHABLE.text)) > 0 and len(crawl.web.log) >= 3
            )

        await crawl.until(has_failed_three_times)
        (noted, *_) = first.log_lines(log_events.ROBOTS_TXT_UNREACHABLE.text)
        assert noted["by_kind"].keys() == {f"{origin}: status 503"}
        log = await asyncio.to_thread(partial(CliRunner().invoke, app, ["runs", "logs", f"run-{crawl.name}"]))
        assert "robots.txt unreachable" in log.stdout
        assert f"{origin}: status 503" in log.stdout
        first.end(signal.SIGKILL)

        history = await printed_json("why", url)
        (entry,) = (fact for fact in history["facts"] if fact["kind"] == "frontier")
        assert entry["details"]["waits_for"].startswith(
            f"robots.txt of {origin}: status 503, last requested "
        )
        steps = (await printed_json("explain", url))["jobs"][crawl.name]
        (step,) = (step for step in steps if step["step"] == "robots")
        assert step["text"].partition(",")[0] in {
            f"robots.txt of {origin}: status 503",
            f"robots_unreachable; robots.txt of {origin}: status 503",
        }

        second = SchedulerProcess(kafka_bootstrap, redis_url, tmp_path / "second.log")
        await crawl.until_closed()
        found = {
            closed: (reason, detail.partition(", last requested 20")[0])
            for event in await crawl.events(URLS_DECIDED)
            for closed, reason, detail in zip(event.urls, event.reasons, event.details, strict=False)
            if closed.startswith(origin)
        }
        assert found == dict.fromkeys(
            crawl.web.starts, ("robots_unreachable", f"robots.txt of {origin}: status 503")
        )
        assert {visit.url for visit in crawl.web.log} == {f"{origin}/robots.txt"}
    finally:
        first.close()
        if second is not None:
            second.close()
