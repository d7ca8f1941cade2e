"""A domain whose every name is a host costs no more than the limit of hosts, and other people nothing."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import pytest

from strider.contracts.generated.topics import HOSTS
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.runtime.clocks import SystemClock
from strider.testing.site.plan import page_html
from tests.e2e.pipeline import SHARDS
from tests.figures import record_figure
from tests.processes.waiting import until

from .attackers import PAGE, Reply, attacker_site
from .conftest import MAX_HOSTS
from .neighbours import Stage

pytestmark = pytest.mark.timeout(600)

NAMES: Final = 60
RULES: Final = b"User-agent: *\n" + b"".join(
    b"Disallow: /private/%06d/of/this/host\n" % n for n in range(12_000)
)
"""450 KB for each host."""
MAX_BYTES_PER_HOST: Final = 20 * 1024
"""Its group, and the robots.txt of its origin: 16 KiB and what is known about it."""


async def bytes_of_hosts(bootstrap: str, domain: str) -> tuple[int, int]:
    """Return the records of a domain that `hosts` has for good, and their bytes."""
    last: dict[bytes, int] = {}

    def note(key: bytes | None, value: bytes | None) -> None:
        if key is not None and domain.encode() in key:
            last[key] = len(value or b"")

    bus = KafkaBus(KafkaConnection((bootstrap,)))
    try:
        partitions = [TopicPartition(HOSTS.name, number) for number in range(SHARDS)]
        await CompactedTableReader(bus, clock=SystemClock()).read(partitions, note)
    finally:
        await bus.close()
    return len(last), sum(last.values())


@pytest.mark.fault("A6")
@pytest.mark.fault("S16", part="host names without end")
async def test_names_without_end_are_refused_beyond_a_limit(stage: Stage) -> None:
    """Each page links to all names of the domain, and each name has a robots.txt of its own."""
    links: list[str] = []

    def reply(path: str) -> Reply:
        if path == "/robots.txt":
            return (200, {"Content-Type": "text/plain"}, RULES)
        return (200, PAGE[1], page_html("Names", "One page for each of many names. " * 20, links))

    with attacker_site(reply) as site:
        port = urlsplit(site.origin).port
        links += [f"http://h{number}.wild.localhost:{port}/" for number in range(NAMES)]

        def hosts() -> set[str]:
            return {headers["Host"] for path, headers in site.requests if path != "/robots.txt"}

        async with stage.unharmed_neighbours("A6 wildcard hosts"):
            stage.send({"url": links[0], "scope": "any", "max_depth": 10})
            await until(
                lambda: len(hosts()) >= MAX_HOSTS,
                what="as many hosts as allowed are requested",
                tell=lambda: f"requested: {sorted(hosts())}\n{stage.ring.tell()}",
                seconds=120,
            )
            refused = [url for url in links if urlsplit(url).netloc not in hosts()]
            for url in refused:
                await stage.until_refused(url, field="too_many_hosts")
        records, size = await bytes_of_hosts(stage.ring.servers.kafka.address, "wild.localhost")
        record_figure(f"wildcard hosts: requested={len(hosts())} of {NAMES} records={records} bytes={size}")
        assert len(refused) == NAMES - MAX_HOSTS
        assert len({headers["Host"] for _, headers in site.requests}) == MAX_HOSTS
        assert size <= MAX_HOSTS * MAX_BYTES_PER_HOST
