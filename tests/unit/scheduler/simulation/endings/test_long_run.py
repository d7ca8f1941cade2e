"""A run of 200,000 URLs ends once, and its end costs little of it."""

from __future__ import annotations

import time

import pytest

from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_EVENTS
from strider.messaging.inprocess import simulate
from tests.figures import record_figure
from tests.unit.scheduler.simulation.web import Host, Page, Web

from .ending_world import EndingWorld

PAGES_OF_A_HOST = 500


def a_large_site(pages: int) -> Web:
    """Return a site of many hosts: the home page links to the first page of each, and that to all others."""
    hosts = [f"www.site{number}.test" for number in range(pages // PAGES_OF_A_HOST)]
    found: dict[str, Page] = {}
    for host in hosts:
        urls = [f"http://{host}/{number}" for number in range(PAGES_OF_A_HOST)]
        found |= {url: Page(url) for url in urls}
        found[urls[0]] = Page(urls[0], links=tuple(urls[1:]))
    home = f"http://{hosts[0]}/0"
    links = (*found[home].links, *(f"http://{host}/0" for host in hosts[1:]))
    found[home] = Page(home, links=links)
    return Web({host: Host(host) for host in hosts}, found, (home,))


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("pages", [20_000, 200_000])
def test_a_long_run_ends_once_with_every_page(pages: int) -> None:
    async def scenario() -> tuple[JobEvent, int]:
        world = EndingWorld(a_large_site(pages))
        await world.begin_seeds()
        scheduler = world.start()
        await world.send_seeds(*world.web.starts)
        await world.command("close")
        await world.until_ended(seconds=100_000)
        (end,) = world.ends()
        await scheduler.kill()
        return end, len(world.published(JOB_EVENTS))

    began = time.process_time()
    end, messages = simulate(scenario())
    record_figure(
        f"a run of {pages} URLs: pages={end.pages} messages about its end={messages} "
        f"CPU={time.process_time() - began:.0f}s"
    )
    assert end.counts == {"accepted": pages, "settled": pages}
    assert messages < 40
