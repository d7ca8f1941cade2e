"""A robots.txt that redirects to that of another host, on a real Kafka and a real Valkey."""

from __future__ import annotations

from pathlib import Path

import pytest

from strider.contracts.generated.topics import FRONTIER
from strider.contracts.partitioning import shard_of_host
from tests.figures import record_figure
from tests.unit.scheduler.simulation.web import Host, Page, Web

from .scheduler_process import SHARDS, CrawlOnServers, SchedulerProcess


@pytest.mark.fault("A5")
@pytest.mark.req("S5.2.2", part="redirects of robots.txt to another host group")
async def test_the_rules_of_another_host_apply_across_shards_and_processes(
    kafka_bootstrap: str, redis_url: str, tmp_path: Path
) -> None:
    """Six sites in several shards of two schedulers; the host that they name gets one request."""
    crawl = CrawlOnServers(kafka_bootstrap, redis_url, seed=4)
    victim = f"www.victim-{crawl.name}.test"
    target = f"http://{victim}/robots.txt"
    names = [f"www.site{number}-{crawl.name}.test" for number in range(6)]
    hosts = {name: Host(name, robots_target=target) for name in names} | {victim: Host(victim, "denying")}
    urls = [f"http://{name}{path}" for name in names for path in ("/p", "/private/p")]
    crawl.web = crawl.pipeline.web = Web(hosts, {url: Page(url) for url in urls}, tuple(urls))
    processes: list[SchedulerProcess] = []
    try:
        await crawl.begin()
        processes += [SchedulerProcess(kafka_bootstrap, redis_url, tmp_path / f"{n}.log") for n in range(2)]
        await crawl.until_closed()

        requested = [visit.url for visit in crawl.web.log]
        assert {url for url in requested if not url.endswith("robots.txt")} == {
            f"http://{n}/p" for n in names
        }
        assert [url for url in requested if victim in url] == [target]
        assert len({shard_of_host(name, SHARDS) for name in (*names, victim)}) > 1
        jobs = {entry.job_id for entry in await crawl.events(FRONTIER) if crawl.name in entry.url}
        assert jobs == {crawl.name}
        record_figure(f"sites={len(names)} requests at their target=1")
    finally:
        for process in processes:
            process.close()
        await crawl.close()
