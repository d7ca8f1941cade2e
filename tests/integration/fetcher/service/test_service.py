"""The service as a process, on a real broker and store: fetching, stopping, restarting."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from strider.contracts.generated.topics import FETCH_REQUESTS
from strider.fetcher.topology import loop_settings
from strider.storage.encryption import SecretCipher, generate_key
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.proxy_table import ProxyRow, ProxyTable
from strider.testing.hostile import (
    HostileServer,
    Reader,
    Writer,
    http_response,
    sends,
    sends_nothing,
    serve_hostile,
)
from strider.testing.proxy_server import TestProxy, serve_proxy
from strider.testing.stack import ServerStack
from tests.integration.fetcher.leases import SHARDS
from tests.processes.broker import Broker
from tests.processes.services import Service

from .processes import FetcherProcesses, FetcherTopics


@pytest.fixture
def start(stack: ServerStack, redis_url: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    fetchers = FetcherProcesses(tmp_path, kafka=stack.kafka.address, redis=redis_url)
    yield fetchers.start
    fetchers.close()


def _topics(stack: ServerStack) -> FetcherTopics:
    return FetcherTopics(kafka=stack.kafka.address, redis=stack.redis.address)


async def _stopped(service: Service) -> int:
    service.ask_to_stop()
    return await service.until_ended()


async def _serve(act: Callable[[HostileServer], Coroutine[Any, Any, None]]) -> None:
    plays = {
        "/ok": sends(http_response()),
        "/large": sends(http_response(b"x" * 600_000)),
        "/slow": sends_nothing,
    }
    async with serve_hostile(plays) as server:
        await act(server)


@pytest.mark.fault("F2", part="a fetcher")
@pytest.mark.req("S1.2.24", "S3.7.3", "S5.2.9")
@pytest.mark.req("S3.7.4", part="a page or an outcome for each request")
def test_pages_are_fetched_and_shutdown_publishes_every_outcome(
    stack: ServerStack, start: Callable[..., Service]
) -> None:
    """Every started request has its outcome when the process is gone, and its successor repeats none."""

    async def act(server: HostileServer) -> None:
        mark = uuid.uuid4().hex[:6]
        topics, service = _topics(stack), start()
        fine = await topics.request_fetches(
            *(server.url("/ok", host=f"h{n}-{mark}.localhost") for n in range(20)),
            server.url("/large", host=f"l-{mark}.localhost"),
        )

        async def all_fetched() -> bool:
            return len(await topics.outcomes(fine)) == 21

        await service.until(all_fetched, what="fetches everything")
        slow = await topics.request_fetches(
            *(server.url("/slow", host=f"s{n}-{mark}.localhost") for n in range(3))
        )

        async def all_asked() -> bool:
            return server.requested_paths.count("/slow") == 3

        await service.until(all_asked, what="asks for everything")
        code = await _stopped(service)
        ends = await topics.outcomes(slow)
        await topics.publish(*fine, *slow)
        successor = start()
        more = await topics.request_fetches(server.url("/ok", host=f"last-{mark}.localhost"))

        async def is_done() -> bool:
            return len(await topics.outcomes(more)) == 1

        await successor.until(is_done, what="ends everything")
        assert (code, sorted(ends.values())) == (0, ["interrupted"] * 3)
        assert set((await topics.outcomes(fine)).values()) == {"fetched"}
        assert await topics.pages(fine) == {each.url for each in fine}
        assert await _stopped(successor) == 0
        assert (len(server.requested_paths), server.requested_paths.count("/slow")) == (25, 3)
        await topics.close()

    asyncio.run(_serve(act))


def test_proxies_of_the_table_are_used(
    stack: ServerStack, start: Callable[..., Service], database: str
) -> None:
    """The deployed process loads the list, decrypts the passwords, and saves the health."""

    async def act(server: HostileServer) -> None:
        postgres, key = Postgres(PostgresOptions(database)), generate_key()
        async with serve_proxy(TestProxy("socks5", "me:right")) as proxy:
            sealed = SecretCipher(key).encrypt("right")
            await ProxyTable(postgres).add(ProxyRow("socks5", "127.0.0.1", proxy.port, "me", sealed))
            service = start(CRAWLER_PROXIES_ENABLED="true", CRAWLER_PROXY_KEY=key, POSTGRES_DSN=database)
            topics = _topics(stack)
            mark = uuid.uuid4().hex[:6]
            wanted = await topics.request_fetches(
                *(server.url("/ok", host=f"p{n}-{mark}.localhost") for n in range(8))
            )

            async def is_done() -> bool:
                return len(await topics.outcomes(wanted)) == len(wanted)

            await service.until(is_done, what="ends everything")
            fetched = list((await topics.outcomes(wanted)).values()).count("fetched")
            assert await _stopped(service) == 0
            (row,) = await ProxyTable(postgres).load()
            assert row.success_count == fetched > 0, "on a busy machine some connect too late"
            assert set(proxy.requested_targets) == {f"127.0.0.1:{server.port}"}
            assert "right" not in service.last_words(10_000)
        await topics.close()
        await postgres.close()

    asyncio.run(_serve(act))


AT_A_TIME = 16
IN_FLIGHT = loop_settings(concurrency=AT_A_TIME, max_deadline_seconds=120).max_started
"""Requests and unpublished responses: what one process may have in flight."""


async def _lingers(_reader: Reader, writer: Writer) -> None:
    """Respond after a while, so that requests are always in flight."""
    await asyncio.sleep(0.2)
    writer.write(http_response())
    await writer.drain()


@pytest.mark.fault("F1", part="a fetcher under load")
@pytest.mark.req("S3.4.3")
@pytest.mark.parametrize(
    "kills", [pytest.param(1, id="once"), pytest.param(4, id="often", marks=pytest.mark.slow)]
)
def test_a_kill_under_load_costs_only_requests_in_flight_and_repeats_none(
    stack: ServerStack, start: Callable[..., Service], kills: int
) -> None:
    """By the site's own log: kill -9, again and again, and a successor that consumes everything once more."""

    async def act(server: HostileServer) -> None:
        server.scripts["/lingers"] = _lingers
        mark, topics = uuid.uuid4().hex[:6], _topics(stack)
        witness = Broker(stack.kafka.address, shards=SHARDS)
        await witness.open(FETCH_REQUESTS)
        urls = [server.url(f"/lingers?{n}", host=f"k{n}-{mark}.localhost") for n in range(100 + 50 * kills)]
        wanted = await topics.request_fetches(*urls)
        in_hand: list[int] = []
        for kill in range(kills):
            before, service = len(server.requested_paths), start(FETCHER_CONCURRENCY=str(AT_A_TIME))

            async def is_busy(before: int = before) -> bool:
                return len(server.requested_paths) >= before + 3 * AT_A_TIME

            await service.until(is_busy, what="is busy")
            service.kill()
            ends = await topics.outcomes(wanted)
            in_hand.append(len(server.requested_paths) - len(ends) - sum(in_hand[:kill]))
        last = start(FETCHER_CONCURRENCY=str(AT_A_TIME))

        async def is_drained() -> bool:
            return await witness.committed("fetcher", FETCH_REQUESTS) == await witness.ends(FETCH_REQUESTS)

        await last.until(is_drained, what="has committed everything")
        ends, pages = await topics.outcomes(wanted), await topics.pages(wanted)
        left = [each.url for each in wanted if each.lease_id not in ends]
        asked = Counter(server.requested_paths)
        assert await _stopped(last) == 0
        assert set(asked.values()) == {1}, "nothing is fetched again for a redelivery"
        assert set(ends.values()) == {"fetched"}
        assert pages >= {each.url for each in wanted if each.lease_id in ends}
        assert len(left) <= kills * IN_FLIGHT, "only what was marked is left to its lease's own end"
        assert all(0 <= count <= IN_FLIGHT for count in in_hand)
        await witness.close()
        await topics.close()

    asyncio.run(_serve(act))
