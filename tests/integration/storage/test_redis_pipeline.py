"""Many scripts on one connection: no caller gets another's reply, and none waits for ever."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from time import monotonic
from urllib.parse import urlsplit

import pytest

from strider.messaging.errors import Unavailable
from strider.storage.errors import StoreRejected
from strider.storage.lua_files import parse_script
from strider.storage.redis import Redis, RedisOptions, connect
from strider.testing.faulty_tcp_proxy import faulty_tcp_proxy
from tests.processes.open_files import without_new_files

HEADER = "-- keys: KEYS[1] anything\n-- arguments: one\n-- result: it\n"
ECHO = parse_script("echo", f"{HEADER}return ARGV[1]\n")
BROKEN = parse_script("broken", f"{HEADER}return redis.call('GET')\n")
KEYS = ["strider:test:{1}:line"]


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    opened = connect(RedisOptions(redis_url, timeout_seconds=2))
    yield opened
    await opened.close()


async def test_concurrent_scripts_share_one_connection_and_get_their_own_replies(redis: Redis) -> None:
    before = await _connections(redis)
    answers = await asyncio.gather(*(redis.run(ECHO, keys=KEYS, args=[number]) for number in range(500)))

    assert answers == [b"%d" % number for number in range(500)]
    assert len(await _connections(redis) - before) == 1


async def test_an_error_among_replies_reaches_its_own_caller_only(redis: Redis) -> None:
    works = [redis.run(BROKEN if number == 3 else ECHO, keys=KEYS, args=[number]) for number in range(6)]
    answers = await asyncio.gather(*works, return_exceptions=True)

    assert isinstance(answers.pop(3), StoreRejected)
    assert answers == [b"0", b"1", b"2", b"4", b"5"]


@pytest.mark.fault("F14")
async def test_the_reply_of_a_cancelled_script_never_reaches_another(redis_url: str) -> None:
    """F14: the late reply is read in its turn, and no caller gets it."""
    address = urlsplit(redis_url)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 0) as (wire, port):
        redis = connect(RedisOptions(f"redis://127.0.0.1:{port}/0", timeout_seconds=2))
        await redis.run(ECHO, keys=KEYS, args=["warm"])
        for number in range(25):
            wire.hold()
            cancelled = asyncio.create_task(redis.run(ECHO, keys=KEYS, args=["cancelled"]))
            await asyncio.wait_for(wire.response_held.wait(), 5)
            cancelled.cancel()
            wire.release()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            works = (redis.run(ECHO, keys=KEYS, args=[f"{number}-{index}"]) for index in range(4))
            assert await asyncio.gather(*works) == [f"{number}-{index}".encode() for index in range(4)]
        await redis.close()


async def test_a_silent_server_is_unavailable_to_all_after_one_timeout(redis_url: str) -> None:
    """F13: those who wait behind others wait no longer than they."""
    address = urlsplit(redis_url)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 0) as (wire, port):
        redis = connect(RedisOptions(f"redis://127.0.0.1:{port}/0", timeout_seconds=0.3))
        await redis.run(ECHO, keys=KEYS, args=["warm"])
        wire.hold()
        began = monotonic()
        works = [redis.run(ECHO, keys=KEYS, args=[number]) for number in range(20)]
        answers = await asyncio.gather(*works, return_exceptions=True)
        took_seconds = monotonic() - began
        wire.release()

        assert [type(answer) for answer in answers] == [Unavailable] * 20
        assert 0.2 < took_seconds < 1.5
        assert await redis.run(ECHO, keys=KEYS, args=["again"]) == b"again"
        await redis.close()


async def test_an_unreachable_server_is_tried_once_for_all_callers() -> None:
    redis = connect(RedisOptions("redis://127.0.0.1:1/0", timeout_seconds=0.3))
    began = monotonic()
    works = [redis.run(ECHO, keys=KEYS, args=[number]) for number in range(50)]
    answers = await asyncio.gather(*works, return_exceptions=True)
    await redis.close()

    assert [type(answer) for answer in answers] == [Unavailable] * 50
    assert monotonic() - began < 50 * 0.3 / 2, "one after the other, each waits for its own timeout"


async def test_what_is_under_way_when_it_is_closed_fails(redis_url: str) -> None:
    address = urlsplit(redis_url)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 0) as (wire, port):
        redis = connect(RedisOptions(f"redis://127.0.0.1:{port}/0", timeout_seconds=5))
        await redis.run(ECHO, keys=KEYS, args=["warm"])
        wire.hold()
        waiting = asyncio.create_task(redis.run(ECHO, keys=KEYS, args=["late"]))
        await asyncio.wait_for(wire.response_held.wait(), 5)
        await redis.close()

        with pytest.raises(Unavailable):
            await waiting


async def test_a_connection_that_was_idle_for_long_is_replaced(redis_url: str) -> None:
    """It may be dead, and nothing would say so before the timeout."""
    redis = connect(RedisOptions(redis_url, health_check_seconds=0))
    script = parse_script("who", f"{HEADER}return ARGV[1]\n")
    await redis.run(script, keys=KEYS, args=["a"])
    first = await _connections(redis)
    await redis.run(script, keys=KEYS, args=["b"])
    second = await _connections(redis)
    await redis.close()

    assert second - first


async def _connections(redis: Redis) -> set[str]:
    return set(re.findall(r"^id=(\d+)", (await redis.command("CLIENT", "LIST")).decode(), re.MULTILINE))


async def test_late_replies_fail_only_the_callers_whose_deadline_passed(redis_url: str) -> None:
    """The server is slow and not gone: the next caller must not lose its reply with the others'."""
    address = urlsplit(redis_url)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 0) as (wire, port):
        redis = connect(RedisOptions(f"redis://127.0.0.1:{port}/0", timeout_seconds=0.6))
        await redis.run(ECHO, keys=KEYS, args=["warm"])
        connections = wire.connections
        wire.delay_seconds = 0.4
        early, late, last = (
            asyncio.create_task(_after(seconds, redis, number))
            for number, seconds in enumerate((0.0, 0.2, 0.7))
        )
        await asyncio.sleep(0.1)
        wire.delay_seconds = 0.9

        assert await early == b"0"
        with pytest.raises(Unavailable):
            await late
        wire.delay_seconds = 0.0
        assert await last == b"2"
        assert wire.connections == connections
        await redis.close()


async def _after(seconds: float, redis: Redis, number: int) -> bytes:
    await asyncio.sleep(seconds)
    answer: bytes = await redis.run(ECHO, keys=KEYS, args=[number])
    return answer


@pytest.mark.fault("F31", part="files of a connection to Redis")
async def test_a_connection_is_made_when_there_are_files_again(redis_url: str) -> None:
    """F31: a connection that could not even be created is attempted again with the next call."""
    redis = connect(RedisOptions(redis_url))
    with without_new_files([os.getpid()]):
        for _ in range(2):
            with pytest.raises(Unavailable, match="Too many open files"):
                await redis.run(ECHO, keys=KEYS, args=["a"])
            with pytest.raises(Unavailable, match="Too many open files"):
                await redis.command("ECHO", "a")

    assert await redis.run(ECHO, keys=KEYS, args=["a"]) == b"a"
    assert await redis.command("ECHO", "a") == b"a"
    await redis.close()
