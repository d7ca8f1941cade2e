"""Publishes seeds and waits for the broker's acknowledgement."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.messaging.effects import Publish
from strider.messaging.errors import Unavailable
from strider.runtime.publishing.publisher import EventPublisher


class KafkaSeedPublisher:
    """Publishes seeds, once their schema is published."""

    def __init__(self, publisher: EventPublisher, *, timeout_seconds: float) -> None:
        self._publisher = publisher
        self._timeout_seconds = timeout_seconds
        self._is_open = False

    def open(self) -> None:
        """Start the producer."""
        self._is_open = True

    async def publish(self, seeds: Sequence[SeedSubmitted]) -> None:
        """Publish seeds; on failure some may have arrived, and all may be sent again."""
        if not self._is_open:
            raise Unavailable("kafka", "the broker has not responded since the start")
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._publisher.publish([Publish(SEEDS_SUBMITTED, seed) for seed in seeds])
        except TimeoutError as failure:
            raise Unavailable("kafka", f"not acknowledged within {self._timeout_seconds:g} s") from failure
