"""Faust, run within our process: how it is set up, how it lives, what can be seen of it, how it ends.

Faust is told everything here, so that it reads no environment, opens no port, and keeps no file that
anybody needs. It commits on its own, which is why nothing but what can be counted again is given to it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias, cast

import faust
from faust.types.auth import CredentialsT

from strider.insights.topology import ConsumedMessage
from strider.messaging.errors import InfrastructureError
from strider.messaging.kafka import KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.runtime.observability.logging import logger
from strider.runtime.process.exit_codes import ExitCode

from .consumer import ContiguousConsumer, OnRetentionGap

APPLICATION_NAME: Final = "insights"
"""Consumer group, and first part of the names of Faust's own topics."""
BUFFER_MESSAGES: Final = 1000
CLOSE_SECONDS: Final = 4.0
"""How long Faust may take to go."""
LOUD: Final = {"faust.transport.producer": logging.ERROR}
"""It warns of a buffer that is full for a moment, which is how it waits."""

OnMessage: TypeAlias = Callable[[ConsumedMessage], Awaitable[None]]

_log = logger("insights")


class FaustStopped(InfrastructureError):
    """Faust has stopped of its own accord."""


class FaustApplication:
    """A Faust application."""

    def __init__(
        self,
        connection: KafkaConnection,
        *,
        shards: int,
        session_seconds: float,
        on_progress: Callable[[], None] = lambda: None,
        on_retention_gap: OnRetentionGap = lambda _taken: None,
        exit_now: Callable[[int], Any] = os._exit,
    ) -> None:
        for name, level in {"faust": logging.WARNING, "mode": logging.WARNING, **LOUD}.items():
            logging.getLogger(name).setLevel(level)
        self._on_progress = on_progress
        self._exit_now = exit_now
        self._app = _open_app(connection, shards=shards, session_seconds=session_seconds)
        self._app.transport.Consumer = partial(ContiguousConsumer, on_retention_gap=on_retention_gap)
        self._failed: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self._revoke_hooks: list[Callable[[], Awaitable[None]]] = []
        self._app.on_partitions_revoked.connect(self._on_revoked, weak=False)

    def table(self, name: str, *, partitions: int) -> Any:
        """Have a table; its log must be there when this starts."""
        return self._app.Table(name, partitions=partitions)

    def before_revoke(self, hook: Callable[[], Awaitable[None]]) -> None:
        """Have something done before partitions go to another process, or the process ends."""
        self._revoke_hooks.append(hook)

    def feed(self, topics: Iterable[str], on_message: OnMessage) -> None:
        """Give the messages of topics to a method, one by one.

        Not in Faust's batches: they leave gaps in what is acknowledged, behind which it commits no more.
        """
        channel = self._app.topic(
            *topics,
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
            allow_empty=True,
        )

        async def agent(stream: Any) -> None:
            async for event in stream.events():
                try:
                    await on_message(_heard(event.message))
                except Exception as failure:
                    # Faust would start the agent again, and leave out what it has failed at.
                    self._fail(failure)
                    raise
                self._on_progress()

        self._app.agent(channel, name=APPLICATION_NAME)(agent)

    async def run(self) -> None:
        """Run until stopped; raises what ended it otherwise."""
        await self._app.start()
        _log.info("Tables Started")
        ended = asyncio.ensure_future(self._app.wait_until_stopped())
        try:
            await asyncio.wait({ended, self._failed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if self._failed.done():
            raise self._failed.result()
        raise FaustStopped(f"Faust has ended: {self._app.crash_reason!r}") from self._app.crash_reason

    async def close(self) -> None:
        """Commit and leave the group.

        Faust joins its threads on our event loop, so that no timeout of asyncio's is heard while a
        thread waits for a broker that does not answer: time is kept outside of the loop.
        """
        guard = threading.Timer(CLOSE_SECONDS, self._give_up)
        guard.daemon = True
        guard.start()
        try:
            if self._app.started:
                await self._leave()
            await self._app.stop()
        finally:
            guard.cancel()

    def waiting_for(self) -> Iterator[str]:
        """Say what it waits for before it can count."""
        recovery = self._app.tables.recovery
        if self._app.rebalancing or recovery.in_recovery or not recovery.completed.is_set():
            yield f"{APPLICATION_NAME}: joining its group and reading its table"

    def remaining(self) -> int:
        """Count what is still to be read of the tables' logs."""
        return int(self._app.tables.recovery.active_remaining_total())

    def partitions(self, topic: str) -> frozenset[int]:
        """List the partitions of a topic that this process has now."""
        return frozenset(place.partition for place in self._app.consumer.assignment() if place.topic == topic)

    async def lag(self, topics: Iterable[str]) -> Mapping[TopicPartition, int]:
        """Ask the broker how much of topics waits behind what was committed, by partition that is here."""
        consumer = self._app.consumer
        places = [place for place in consumer.assignment() if place.topic in set(topics)]
        if not places:
            return {}
        ends = await consumer.highwaters(*places)
        committed = {place: consumer._committed_offset[place] or 0 for place in places}  # noqa: SLF001  # no method
        return {TopicPartition(*place): max(0, ends[place] - committed[place]) for place in places}

    async def reread_skipped(self) -> None:
        """Go back to what Faust has passed over, once it reads."""
        if not any(self.waiting_for()):
            await self._app.consumer.read_again()

    def _fail(self, failure: Exception) -> None:
        if not self._failed.done():
            self._failed.set_result(failure)

    async def _on_revoked(self, *_app: Any, **_revoked: Any) -> None:
        await self._leave()

    async def _leave(self) -> None:
        for work in self._revoke_hooks:
            await work()

    def _give_up(self) -> None:
        _log.critical("Faust Does Not Stop", why="ending without it", seconds=CLOSE_SECONDS)
        self._exit_now(int(ExitCode.TERMINATED))


class _InMemoryApp(faust.App):
    """Faust without the folders that it makes at each start, for tables that have no files."""

    def _create_directories(self) -> None:
        """Make none: a process that is killed would leave them behind."""


def _open_app(connection: KafkaConnection, *, shards: int, session_seconds: float) -> Any:
    return _InMemoryApp(
        APPLICATION_NAME,
        env={},
        broker=[f"kafka://{server}" for server in connection.bootstrap_servers],
        broker_credentials=broker_credentials(connection),
        broker_session_timeout=session_seconds,
        broker_heartbeat_interval=session_seconds / 4,
        broker_request_timeout=max(connection.request_timeout_seconds, session_seconds),
        broker_client_id=f"{connection.client_id}-{APPLICATION_NAME}",
        # Where retention was faster, counts have a hole: nothing that is worth to stop for.
        consumer_auto_offset_reset="earliest",
        store="memory://",
        loop=asyncio.get_running_loop(),
        stream_buffer_maxsize=BUFFER_MESSAGES,
        topic_partitions=shards,
        topic_disable_leader=True,
        web_enabled=False,
    )


def _heard(message: Any) -> ConsumedMessage:
    headers = message.headers or ()
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return ConsumedMessage(
        message.topic, message.partition, round(message.timestamp * 1000), message.value, tuple(pairs)
    )


def broker_credentials(connection: KafkaConnection) -> CredentialsT | None:
    """Log in as our own clients do."""
    context = connection.client_arguments().get("ssl_context")
    if connection.uses_sasl:
        login = faust.SASLCredentials(
            username=connection.sasl_username,
            password=connection.sasl_password,
            mechanism=connection.sasl_mechanism,
            ssl_context=context,
        )
        return cast("CredentialsT", login)
    return cast("CredentialsT", faust.SSLCredentials(context)) if context is not None else None
