"""Redis as it is: scripts, silence, cut wires and cancelled commands."""

from __future__ import annotations

import asyncio
from time import monotonic
from urllib.parse import urlsplit

import pytest

from strider.messaging.errors import Unavailable
from strider.storage.errors import StoreRejected
from strider.storage.lua_files import parse_script
from strider.storage.redis import Redis, RedisOptions, connect
from strider.testing.faulty_tcp_proxy import faulty_tcp_proxy
from strider.testing.stack import ServerStack

ECHO = parse_script(
    "echo", "-- keys: KEYS[1] anything\n-- arguments: one\n-- result: both\nreturn {KEYS[1], ARGV[1]}\n"
)
BROKEN = parse_script(
    "broken", "-- keys: none\n-- arguments: none\n-- result: none\nreturn redis.call('GET')\n"
)


async def test_a_script_runs_by_its_hash_and_is_sent_again_when_the_server_lost_it(redis: Redis) -> None:
    """A restarted server has lost its scripts."""
    assert await redis.run(ECHO, keys=["strider:test:{1}:x"], args=["a"]) == [b"strider:test:{1}:x", b"a"]
    await redis.command("SCRIPT", "FLUSH")

    assert await redis.run(ECHO, keys=["strider:test:{1}:x"], args=[2]) == [b"strider:test:{1}:x", b"2"]


async def test_several_calls_are_pipelined_and_a_lost_script_is_sent_again(redis: Redis) -> None:
    """Each gets its own answer, in their order."""
    await redis.command("SCRIPT", "FLUSH")
    calls = [((f"strider:test:{{{number}}}:x",), (number,)) for number in range(40)]

    for _ in range(2):  # the second time the server knows the script
        assert await redis.run_all(ECHO, calls) == [
            [keys[0].encode(), b"%d" % args[0]] for keys, args in calls
        ]
    with pytest.raises(StoreRejected):
        await redis.run_all(BROKEN, [((), ()), ((), ())])
    assert await redis.run_all(ECHO, calls[:1]) == [[calls[0][0][0].encode(), b"0"]]


async def test_a_faulty_script_is_a_bug(redis: Redis) -> None:
    """It must show up, not be waited for."""
    with pytest.raises(StoreRejected):
        await redis.run(BROKEN, keys=[])
    with pytest.raises(StoreRejected):
        await redis.command("NO-SUCH-COMMAND")


@pytest.mark.req("S3.19.7")
@pytest.mark.parametrize(("failures", "is_done"), [(3, True), (4, False)])
async def test_a_command_is_tried_three_more_times(redis_url: str, failures: int, is_done: bool) -> None:
    """S3.19.7: connections are lost before their replies; the fourth attempt is the last."""
    address = urlsplit(redis_url)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 0) as (wire, port):
        redis = connect(RedisOptions(f"redis://127.0.0.1:{port}/0"))
        for call in (
            lambda: redis.command("ECHO", "a"),
            lambda: redis.run(ECHO, keys=["a"], args=["b"]),
            lambda: redis.run_all(ECHO, [(["a"], ["b"])]),
        ):
            await call()
            before, wire.truncated_responses = wire.connections, failures
            began = monotonic()
            if is_done:
                await call()
            else:
                with pytest.raises(Unavailable, match="tried 4 times"):
                    await call()
            assert wire.truncated_responses == 0
            assert wire.connections - before == 3  # the first attempt had one already
            assert 0.3 <= monotonic() - began < 1.5
        await redis.close()


async def test_a_server_that_is_not_there_is_unavailable_at_once() -> None:
    """The library's own retries are off; ours follow the retry policy."""
    silent = connect(RedisOptions("redis://127.0.0.1:1/0"))
    began = monotonic()
    with pytest.raises(Unavailable, match="redis is unavailable"):
        await silent.ping()
    await silent.close()

    assert monotonic() - began < 2


async def test_a_silent_server_is_unavailable_after_one_timeout(redis_url: str) -> None:
    """F13: with the library's defaults the same wait took 25 seconds."""
    address = urlsplit(redis_url)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 0) as (wire, port):
        redis = connect(RedisOptions(f"redis://127.0.0.1:{port}/0", timeout_seconds=0.3))
        await redis.ping()
        wire.hold()
        began = monotonic()
        with pytest.raises(Unavailable):
            await redis.command("GET", "x")
        took_seconds = monotonic() - began
        wire.release()
        await redis.ping()
        await redis.close()

    assert 0.2 < took_seconds < 1.5


@pytest.mark.fault("F14")
async def test_the_reply_of_a_cancelled_command_never_reaches_another(redis_url: str) -> None:
    """F14: the canary. Old clients returned the late reply to the next caller."""
    address = urlsplit(redis_url)
    mismatches = 0
    async with faulty_tcp_proxy(address.hostname or "", address.port or 0) as (wire, port):
        redis = connect(RedisOptions(f"redis://127.0.0.1:{port}/0", timeout_seconds=2, max_connections=2))
        for number in range(25):
            wire.hold()
            cancelled = asyncio.create_task(
                redis.run_all(ECHO, [(("x",), ("cancelled",))] * 3)
                if number % 2
                else redis.command("ECHO", f"cancelled-{number}")
            )
            await asyncio.wait_for(wire.response_held.wait(), 5)
            cancelled.cancel()
            wire.release()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            answers = await asyncio.gather(
                *(redis.command("ECHO", f"{number}-{index}") for index in range(4))
            )
            mismatches += answers != [f"{number}-{index}".encode() for index in range(4)]
        await redis.close()

    assert mismatches == 0


async def test_a_full_pool_makes_commands_wait_their_turn(redis: Redis, redis_url: str) -> None:
    """A burst must not fail because there are fewer connections than callers."""
    narrow = connect(RedisOptions(redis_url, max_connections=2))
    answers = await asyncio.gather(*(narrow.command("ECHO", f"{number}") for number in range(50)))
    await narrow.close()

    assert answers == [f"{number}".encode() for number in range(50)]


async def test_a_restart_is_survived(stack: ServerStack) -> None:
    """F12: connections from before are dead, and the next command finds a new one."""
    if not stack.redis.is_ours:
        pytest.skip("this server is not ours to restart")
    redis = connect(RedisOptions(stack.redis.address))
    await redis.ping()
    stack.redis.kill()
    with pytest.raises(Unavailable):
        await redis.ping()
    stack.redis.start()

    await redis.ping()
    await redis.close()
