"""A broker that closes its connections, and the error of a client that writes just then."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest
import uvloop
from aiokafka import conn as library
from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.metadata import MetadataRequest

from strider.messaging.kafka import KafkaBus, KafkaConnection

ROUNDS = 20
MOST_TURNS = 200
KNOWS_METADATA = bytes.fromhex("0000 00000001 0003 0000 0005")
"""A response to ApiVersions: no error, and one request, Metadata, in versions 0 to 5."""


class ClosingBroker:
    """Sends its versions, and then nothing, until it closes the connection."""

    def __init__(self) -> None:
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        request = await reader.read(4096)
        answer = request[8:12] + KNOWS_METADATA  # behind size, api key and version: the correlation id
        writer.write(len(answer).to_bytes(4, "big") + answer)
        await writer.drain()

    def close_connections(self) -> None:
        while self._writers:
            self._writers.pop().transport.abort()


async def _write_until_refused(connection: library.AIOKafkaConnection) -> str:
    """Write in every turn of the loop, so that one write falls between the closing and the news of it."""
    for _ in range(MOST_TURNS):
        try:
            answer = asyncio.ensure_future(connection.send(MetadataRequest(None)))
        except Exception as refusal:  # noqa: BLE001  # which kind it is, is the question
            return type(refusal).__name__
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.sleep(0)
    return "nothing"


async def _refusals() -> Counter[str]:
    KafkaBus(KafkaConnection(("nowhere:9",)))  # as in every process with a bus
    broker, refusals = ClosingBroker(), Counter[str]()
    async with await asyncio.start_server(broker.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        for _ in range(ROUNDS):
            connection = await library.create_conn("127.0.0.1", port, request_timeout_ms=5000)
            broker.close_connections()
            refusals[await _write_until_refused(connection)] += 1
            await connection.close()
    return refusals


@pytest.mark.parametrize(
    "new_loop",
    [pytest.param(uvloop.new_event_loop, id="uvloop"), pytest.param(asyncio.new_event_loop, id="asyncio")],
)
def test_a_write_on_a_closed_transport_is_a_broken_connection(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """The RuntimeError of uvloop would end the task that follows the cluster, and with it every commit."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(_refusals()) == Counter({KafkaConnectionError.__name__: ROUNDS})
