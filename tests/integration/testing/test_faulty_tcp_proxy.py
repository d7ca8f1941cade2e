"""A wire carries bytes, and does to answers what a test wants done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from strider.testing.faulty_tcp_proxy import FaultyTcpProxy, ThreadedFaultyTcpProxy, threaded_faulty_tcp_proxy

ANSWER = b"12345678"


@pytest.fixture
async def server_port() -> AsyncIterator[int]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(100):
            writer.write(ANSWER)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


@pytest.fixture
def wire(server_port: int) -> Iterator[ThreadedFaultyTcpProxy]:
    with threaded_faulty_tcp_proxy("127.0.0.1", server_port) as wire:
        yield wire


async def ask(wire: ThreadedFaultyTcpProxy, *, seconds: float = 10.0) -> bytes:
    """Ask on a connection of its own; gives the answer as far as it came, b"" for none in time."""
    reader, writer = await asyncio.open_connection("127.0.0.1", wire.port)
    try:
        writer.write(b"?")
        async with asyncio.timeout(seconds):
            return await reader.readexactly(len(ANSWER))
    except asyncio.IncompleteReadError as torn:
        return torn.partial
    except TimeoutError:
        return b""
    finally:
        writer.close()


async def until_connected(wire: ThreadedFaultyTcpProxy) -> None:
    """Wait until the wire knows of a connection: the client has it as soon as the system does."""
    known: list[int] = []
    async with asyncio.timeout(10):
        while not any(known):
            wire.apply(lambda near: known.append(near.connections))
            await asyncio.sleep(0.01)


def swallow(wire: FaultyTcpProxy) -> None:
    wire.drops_everything = True


def tear_one(wire: FaultyTcpProxy) -> None:
    wire.truncated_responses = 1


@pytest.mark.parametrize(
    ("change", "answers"),
    [
        pytest.param(lambda _wire: None, [ANSWER, ANSWER], id="nothing"),
        pytest.param(tear_one, [ANSWER[:4], ANSWER], id="torn"),
        pytest.param(swallow, [b"", b""], id="swallowed"),
    ],
)
async def test_responses_arrive_as_the_proxy_delays_them(
    wire: ThreadedFaultyTcpProxy, change: Callable[[FaultyTcpProxy], None], answers: list[bytes]
) -> None:
    wire.apply(change)

    assert [await ask(wire, seconds=10.0 if any(answers) else 0.1) for _ in answers] == answers


async def test_a_slow_wire_delays_responses(wire: ThreadedFaultyTcpProxy) -> None:
    wire.apply(lambda wire: setattr(wire, "delay_seconds", 0.2))
    began = time.monotonic()

    assert await ask(wire) == ANSWER
    assert time.monotonic() - began >= 0.2


async def test_a_healed_wire_carries_again(wire: ThreadedFaultyTcpProxy) -> None:
    """What stood open while it swallowed is broken, or its clients would wait for ever."""
    wire.apply(swallow)
    reader, writer = await asyncio.open_connection("127.0.0.1", wire.port)
    writer.write(b"?")
    await until_connected(wire)
    await asyncio.to_thread(wire.reset_faults)

    async with asyncio.timeout(10):
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await reader.readexactly(1)
    assert await ask(wire) == ANSWER
    writer.close()


async def test_a_server_that_is_down_is_down_behind_the_wire() -> None:
    with threaded_faulty_tcp_proxy("127.0.0.1", 1) as wire:
        reader, writer = await asyncio.open_connection("127.0.0.1", wire.port)
        async with asyncio.timeout(10):
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await reader.readexactly(1)
        writer.close()
