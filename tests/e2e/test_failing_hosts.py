"""Hosts that fail: what is requested again and when, and when a host is left alone, by the pipeline."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from random import Random
from threading import Thread
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Producer

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import BreakerState, HostRecordKind
from strider.contracts.generated.topics import HOSTS
from strider.storage.redis import RedisOptions, connect
from strider.testing.owner import owner_headers
from strider.testing.site.plan import page_html, sentences
from tests.processes.waiting import until

from .pipeline import Ring

pytestmark = pytest.mark.timeout(400)

BODY = page_html("A page of a failing host", sentences(Random(2), 800), [])  # prose, no secret
LATE_SECONDS = 0.25
"""How much later than it was sent a request may be noted, on a busy machine."""
FIRST_RETRY_SECONDS = (1.0, 2.0, 4.0)
STATUSES = (*[500] * 4, 200, *[500] * 5)
"""Of the first requests to the failing host: four failures, a success, which ends their row, and five."""
BREAKER_SECONDS = 60.0
BREAKER_PAGES = 16
END_SECONDS = 150.0

Reply = Callable[[str], int]
"""Status for a path; 0 resets the connection."""


class FailingHost:
    """A host on one loopback address that replies by path, and notes when it was asked for what."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.requests: list[tuple[str, float, float]] = []
        """Path, start and end of each request."""

    def starts(self, path: str) -> list[float]:
        """Return when a path was requested."""
        return [start for asked, start, _ in self.requests if asked == path]

    @property
    def pages(self) -> list[tuple[str, float, float]]:
        """Requests but those for robots.txt, in their order."""
        return sorted((each for each in self.requests if each[0] != "/robots.txt"), key=lambda each: each[1])


@contextmanager
def failing_host(reply: Reply, *, address: str) -> Iterator[FailingHost]:
    """Serve while the context lasts."""
    host = FailingHost("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that the base class calls
            start = time.monotonic()
            status = 404 if self.path == "/robots.txt" else reply(self.path)
            if status:
                body = BODY if status == 200 else b""
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            else:
                self.close_connection = True
            host.requests.append((self.path, start, time.monotonic()))

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer((address, 0), Handler)
    host.origin = f"http://{address}:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()


def submit(ring: Ring, job: str, *urls: str) -> None:
    """Send the seeds of one job, as an owner."""
    client = Producer({"bootstrap.servers": ring.servers.kafka.address})
    for url in urls:
        value = json.dumps({"url": url, "job_id": job}).encode()
        client.produce("seeds-submitted", value=value, headers=owner_headers(value))
    assert client.flush(30) == 0


async def until_decided(ring: Ring, *urls: str) -> dict[str, str]:
    """Wait until each URL has ended without a page; return the reasons."""
    reasons: dict[str, str] = {}

    async def is_decided() -> bool:
        for url in urls:
            reasons.update({row["url"]: row["reason"] for row in await ring.decisions_about(url)})
        return reasons.keys() == set(urls)

    await until(
        is_decided,
        what=f"{len(urls)} URLs have ended",
        tell=lambda: f"found: {reasons}\n{ring.tell()}",
        seconds=END_SECONDS,
    )
    return reasons


async def breaker_states(ring: Ring, group: str) -> list[str]:
    """Read the states of a host's circuit breaker from `hosts`, each change once."""
    codec = Codec(SchemaStore.bundled())
    states: list[str] = []
    consumer = AIOKafkaConsumer(
        HOSTS.name, bootstrap_servers=ring.servers.kafka.address, auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        ends = await consumer.end_offsets(list(consumer.assignment()))
        while any([await consumer.position(place) < end for place, end in ends.items()]):
            for batch in (await consumer.getmany(timeout_ms=500)).values():
                for message in batch:
                    record = codec.decode(HOSTS, message.value) if message.value else None
                    is_ours = record is not None and record.group == group
                    if is_ours and record.kind == HostRecordKind.GROUP and states[-1:] != [record.breaker]:
                        states.append(record.breaker)
    finally:
        await consumer.stop()
    return states


async def until_open(ring: Ring, group: str) -> None:
    """Wait until it is recorded that the circuit breaker of a host is open."""

    async def is_open() -> bool:
        return (await breaker_states(ring, group))[-1:] == [BreakerState.OPEN]

    await until(is_open, what=f"the breaker of {group} is open", tell=ring.tell, seconds=END_SECONDS)


async def lose_redis_and_scheduler(ring: Ring) -> None:
    """Kill the scheduler, empty Redis, and start another scheduler."""
    ring.services["scheduler"].kill()
    store = connect(RedisOptions(ring.servers.redis.address))
    await store.command("FLUSHALL")
    await store.close()
    await ring.start("scheduler").until_ready()


@pytest.mark.req("S3.19.4", "S3.19.9", "S3.19.10")
async def test_only_failures_that_may_pass_are_requested_again_after_1_2_and_4_seconds(ring: Ring) -> None:
    """A server error and a closed connection may pass; a page that is gone does not come back."""
    statuses = {"/error": 500, "/closed": 0, "/gone": 404}
    with (
        failing_host(statuses.__getitem__, address="127.8.1.1") as first,
        failing_host(statuses.__getitem__, address="127.8.1.2") as second,
        failing_host(statuses.__getitem__, address="127.8.1.3") as third,
    ):
        asked = [(first, "/error"), (second, "/closed"), (third, "/gone")]
        urls = [host.origin + path for host, path in asked]
        submit(ring, "failing-pages", *urls)

        reasons = await until_decided(ring, *urls)

        waits = [[later - earlier for earlier, later in pairwise(host.starts(path))] for host, path in asked]
    assert [len(each) for each in waits] == [3, 3, 0]
    for each in waits[:2]:
        assert all(
            least - LATE_SECONDS <= wait for least, wait in zip(FIRST_RETRY_SECONDS, each, strict=True)
        )
    assert reasons[urls[2]] == "not_found"


@pytest.mark.req("S3.19.11", "S3.19.12", "S3.19.13", "S3.19.14", "S3.19.15", "S3.19.16", "S5.2.1", "S5.2.3")
async def test_a_host_whose_pages_fail_is_left_alone_and_tested_one_request_at_a_time(ring: Ring) -> None:
    """After five failed pages in a row: nothing for a minute, one by one, and the usual pace after two.

    Neither a kill of the scheduler nor the loss of all that Redis holds makes the minute shorter.
    """
    statuses = iter(STATUSES)
    with failing_host(lambda _: next(statuses, 200), address="127.8.2.1") as host:
        urls = [f"{host.origin}/{number}" for number in range(BREAKER_PAGES)]
        submit(ring, "failing-host", *urls)
        await until_open(ring, "127.8.2.1")
        await lose_redis_and_scheduler(ring)

        async def is_crawled() -> bool:
            return len(await ring.pages_of("failing-host", urls)) == BREAKER_PAGES

        await until(is_crawled, what="all pages of the host", tell=ring.tell, seconds=END_SECONDS)

        requests = host.pages
        starts = [start for _, start, _ in requests]
        longest = max(range(1, len(starts)), key=lambda index: starts[index] - starts[index - 1])
        assert longest == len(STATUSES)
        assert starts[longest] - starts[longest - 1] >= BREAKER_SECONDS - LATE_SECONDS
        assert all(
            later >= end
            for (_, _, end), later in zip(requests[longest:], starts[longest + 1 :], strict=False)
        )
        states = await breaker_states(ring, "127.8.2.1")
    assert states[-3:] == [BreakerState.OPEN, BreakerState.HALF_OPEN, BreakerState.CLOSED]
