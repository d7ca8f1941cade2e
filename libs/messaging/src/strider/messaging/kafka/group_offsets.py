"""Committed offsets of groups that this process is no member of.

Decides only when its client is opened (at the first request) and replaced (after a failure). A response that
a group's offsets are not loaded yet is an outage, never "there are none".
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient

from strider.messaging.ports import TopicPartition

from .connection import KafkaConnection
from .error_mapping import mapped_errors
from .patches.internals import raise_group_errors

_new_admin: Final[Any] = AIOKafkaAdminClient
"""The library's class, without the types that it does not have."""


class GroupOffsetReader:
    """One connection for all such requests, one request at a time."""

    def __init__(self, connection: KafkaConnection) -> None:
        self._connection = connection
        self._admin: Any = None
        self._lock = asyncio.Lock()

    async def committed(self, group: str) -> Mapping[TopicPartition, int]:
        """Return where a group has committed; partitions without an offset are left out."""
        async with self._lock:
            try:
                with mapped_errors(at=self._connection.bootstrap_servers):
                    async with asyncio.timeout(self._connection.request_timeout_seconds):
                        await self._connect()
                        found = await self._admin.list_consumer_group_offsets(group)
            except BaseException:
                await self._disconnect()
                raise
        return {TopicPartition(*place): known.offset for place, known in found.items() if known.offset >= 0}

    async def close(self) -> None:
        """Close the connection."""
        async with self._lock:
            await self._disconnect()

    async def _connect(self) -> None:
        if self._admin is None:
            self._admin = _new_admin(**self._connection.client_arguments())
            raise_group_errors(self._admin)
            await self._admin.start()

    async def _disconnect(self) -> None:
        admin, self._admin = self._admin, None
        if admin is not None:
            await admin.close()
