"""Seeds on their topic: acknowledged by the broker, or the caller is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.runtime.effects import Say
from strider.runtime.errors import Unavailable
from strider.runtime.speaking import Speaker


class KafkaSeedPublisher:
    """Speaks seeds, once the schema that they are written with is known to everybody."""

    def __init__(self, speaker: Speaker, *, timeout_seconds: float) -> None:
        self._speaker = speaker
        self._timeout_seconds = timeout_seconds
        self._is_open = False

    def open(self) -> None:
        """Begin to take seeds."""
        self._is_open = True

    async def publish(self, seeds: Sequence[SeedSubmitted]) -> None:
        """Have seeds acknowledged; where that fails, some may have arrived, and all may be sent again."""
        if not self._is_open:
            raise Unavailable("kafka", "the broker has not answered since the start")
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._speaker.speak([Say(SEEDS_SUBMITTED, seed) for seed in seeds])
        except TimeoutError as failure:
            raise Unavailable("kafka", f"not acknowledged within {self._timeout_seconds:g} s") from failure
