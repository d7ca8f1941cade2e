"""Run a Faust application within this process: set-up, run, state, shutdown.

All options of Faust are set here, so that it reads no environment variables, opens no port and keeps no file
that is needed. It commits on its own, so only events that may be counted again are given to it.
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

from strider.insights import log_events
from strider.insights.topology import ConsumedMessage
from strider.messaging.errors import InfrastructureError
from strider.messaging.kafka import KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.runtime.observability.logging import logger
from strider.runtime.process.exit_codes import ExitCode

from .consumer import ContiguousConsumer, OnRetentionGap

APPLICATION_NAME: Final = "insights"
"""Consumer group, and prefix of the names of Faust's own topics."""
BUFFER_MESSAGES: Final = 1000
CLOSE_TIMEOUT_SECONDS: Final = 4.0
"""How long Faust may take to stop."""
_LOGGER_LEVELS: Final = {"faust.transport.producer": logging.ERROR}
"""The producer warns whenever its buffer is full for a moment, which is how it waits."""

OnMessage: TypeAlias = Callable[[ConsumedMessage], Awaitable[None]]

_log = logger("insights")


class FaustStopped(InfrastructureError):
    """Faust stopped by itself."""


class FaustApplication:
    """A Faust application with its consumer, tables and state."""

    def __init__(
        self,
        connection: KafkaConnection,
        *,
        shards: int,
        session_seconds: float,
        on_progress: Callable[[], None] = lambda: None,
        on_retention_gap: OnRetentionGap = lambda _gap: None,
        exit_now: Callable[[int], Any] = os._exit,
    ) -> None:
        for name, level in {"faust": logging.WARNING, "mode": logging.WARNING, **_LOGGER_LEVELS}.items():
            logging.getLogger(name).setLevel(level)
        self._on_progress = on_progress
        self._exit_now = exit_now
        self._app = _open_app(connection, shards=shards, session_seconds=session_seconds)
        self._app.transport.Consumer = partial(ContiguousConsumer, on_retention_gap=on_retention_gap)
        self._failed: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self._revoke_hooks: list[Callable[[], Awaitable[None]]] = []
        self._app.on_partitions_revoked.connect(self._on_revoked, weak=False)

    def table(self, name: str, *, partitions: int) -> Any:
        """Return a table; its changelog topic must exist when the application starts."""
        return self._app.Table(name, partitions=partitions)

    def before_revoke(self, hook: Callable[[], Awaitable[None]]) -> None:
        """Register a hook that runs before partitions are revoked, or the process stops."""
        self._revoke_hooks.append(hook)

    def subscribe(self, topics: Iterable[str], on_message: OnMessage) -> None:
        """Pass the messages of topics to a handler, one by one.

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
                    await on_message(_consumed_message(event.message))
                except Exception as failure:
                    # Faust would restart the agent and skip the message that failed.
                    self._fail(failure)
                    raise
                self._on_progress()

        self._app.agent(channel, name=APPLICATION_NAME)(agent)

    async def run(self) -> None:
        """Run until stopped; raises the failure that ended it otherwise."""
        await self._app.start()
        _log.emit(log_events.FAUST_APPLICATION_STARTED)
        ended = asyncio.ensure_future(self._app.wait_until_stopped())
        try:
            await asyncio.wait({ended, self._failed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if self._failed.done():
            raise self._failed.result()
        raise FaustStopped(f"Faust has stopped: {self._app.crash_reason!r}") from self._app.crash_reason

    async def close(self) -> None:
        """Commit and leave the group.

        Faust joins its threads on the event loop of this process, so a timeout of asyncio does not fire while
        a thread waits for a broker that does not respond: a timer thread keeps the time.
        """
        guard = threading.Timer(CLOSE_TIMEOUT_SECONDS, self._exit_without_faust)
        guard.daemon = True
        guard.start()
        try:
            if self._app.started:
                await self._run_revoke_hooks()
            await self._app.stop()
        finally:
            guard.cancel()

    def waiting_for(self) -> Iterator[str]:
        """Yield what is missing before it can count."""
        recovery = self._app.tables.recovery
        if self._app.rebalancing or recovery.in_recovery or not recovery.completed.is_set():
            yield f"{APPLICATION_NAME}: joining its group and reading its table"

    def remaining_records(self) -> int:
        """Return how many records of the tables' changelogs are still to be read."""
        return int(self._app.tables.recovery.active_remaining_total())

    def partitions(self, topic: str) -> frozenset[int]:
        """Return the partitions of a topic that are assigned to this process."""
        return frozenset(tp.partition for tp in self._app.consumer.assignment() if tp.topic == topic)

    async def lag(self, topics: Iterable[str]) -> Mapping[TopicPartition, int]:
        """Return the lag behind the committed offset of each partition that is assigned here."""
        consumer = self._app.consumer
        tps = [tp for tp in consumer.assignment() if tp.topic in set(topics)]
        if not tps:
            return {}
        ends = await consumer.highwaters(*tps)
        committed = {tp: consumer._committed_offset[tp] or 0 for tp in tps}  # noqa: SLF001  # no method
        return {TopicPartition(*tp): max(0, ends[tp] - committed[tp]) for tp in tps}

    async def reread_skipped(self) -> None:
        """Seek back to messages that Faust has skipped, once it is running."""
        if not any(self.waiting_for()):
            await self._app.consumer.read_again()

    def _fail(self, failure: Exception) -> None:
        if not self._failed.done():
            self._failed.set_result(failure)

    async def _on_revoked(self, *_app: Any, **_revoked: Any) -> None:
        await self._run_revoke_hooks()

    async def _run_revoke_hooks(self) -> None:
        for work in self._revoke_hooks:
            await work()

    def _exit_without_faust(self) -> None:
        _log.emit(log_events.FAUST_NOT_STOPPED, seconds=CLOSE_TIMEOUT_SECONDS)
        self._exit_now(int(ExitCode.TERMINATED))


class _InMemoryApp(faust.App):
    """Faust without the directories that it makes at each start, for tables that have no files."""

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
        # Where retention deleted messages, counts have a gap, which is no reason to stop.
        consumer_auto_offset_reset="earliest",
        store="memory://",
        loop=asyncio.get_running_loop(),
        stream_buffer_maxsize=BUFFER_MESSAGES,
        topic_partitions=shards,
        topic_disable_leader=True,
        web_enabled=False,
    )


def _consumed_message(message: Any) -> ConsumedMessage:
    headers = message.headers or ()
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return ConsumedMessage(
        message.topic, message.partition, round(message.timestamp * 1000), message.value, tuple(pairs)
    )


def broker_credentials(connection: KafkaConnection) -> CredentialsT | None:
    """Return the credentials that our own clients use."""
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
