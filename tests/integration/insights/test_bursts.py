"""insights after a burst of outcomes on a real broker: it counts and commits all of them."""

from __future__ import annotations

import pytest

from tests.processes.services import Yard

from .test_service import INSIGHTS, Ring, a_host, ring, until_committed, until_counted

__all__ = ["ring"]

pytestmark = pytest.mark.timeout(300)

HOSTS = 24_000
"""Far more than the buffers of Faust hold."""


@pytest.mark.parametrize("is_running", [False, True], ids=["before-its-start", "while-it-runs"])
async def test_a_burst_of_many_hosts_is_counted(ring: Ring, yard: Yard, *, is_running: bool) -> None:
    host, outcome = a_host(), "server_error" if is_running else "not_found"
    service = yard.start(INSIGHTS)
    await ring.fetch(host)
    await service.until_ready()
    if not is_running:
        service.ask_to_stop()
        await service.until_ended()
    await ring.burst(host, hosts=HOSTS, outcome=outcome)
    if not is_running:
        service = yard.start(INSIGHTS)

    await until_counted(service, outcome, HOSTS)
    await until_committed(ring, service)
