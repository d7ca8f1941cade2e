"""Waiting for what must come true: again and again until a deadline, never for a length of time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from aiokafka.admin import AIOKafkaAdminClient

from strider.testing.kafka_cluster import KafkaCluster

PATIENCE_SECONDS = 60.0
"""Far more than anything here takes, because test machines are busy ones."""
LOOK_SECONDS = 0.05
MAX_LOOK_SECONDS = 0.25
LOOKS = 20
"""The longer a wait lasts, the less often it looks: at most after a 20th of it."""


async def until(
    condition: Callable[[], bool | Awaitable[bool]],
    *,
    what: str,
    tell: Callable[[], str] = str,
    seconds: float = PATIENCE_SECONDS,
) -> float:
    """Look until the condition holds, or fail naming it; returns the seconds that it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        found = condition()
        if await found if inspect.isawaitable(found) else found:
            return loop.time() - began
        waited = loop.time() - began
        if waited > seconds:
            raise AssertionError(f"not within {seconds:g} s: {what}\n{tell()}")
        # A look may cost as much as what is waited for: tables, metrics, whole logs.
        await asyncio.sleep(min(max(LOOK_SECONDS, waited / LOOKS), MAX_LOOK_SECONDS))


async def until_whole(cluster: KafkaCluster) -> None:
    """Wait until every node has all records again: another one may be missed only then."""
    admin = AIOKafkaAdminClient(bootstrap_servers=cluster.address)
    await admin.start()

    async def is_whole() -> bool:
        topics = await admin.describe_topics()
        copies = [len(each["isr"]) for topic in topics for each in topic["partitions"]]
        return bool(copies) and min(copies) == len(cluster.nodes)

    try:
        await until(is_whole, what="all copies are in step")
    finally:
        await admin.close()
