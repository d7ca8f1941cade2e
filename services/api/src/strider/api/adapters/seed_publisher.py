"""Publishes seeds and waits for the broker's acknowledgement.

Clients of the API are authorized by its token, so their seeds are signed as an owner's, where there is a key,
and published to the topic of owners.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from strider.contracts.avro.codec import Codec
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import SEEDS_OWNED, SEEDS_SUBMITTED
from strider.contracts.owner_signature import sign_value
from strider.messaging.effects import Publish
from strider.messaging.errors import Unavailable
from strider.runtime.publishing.publisher import EventPublisher


class KafkaSeedPublisher:
    """Publishes seeds, once their schema is published; an empty owner key leaves them unsigned."""

    def __init__(
        self, publisher: EventPublisher, codec: Codec, *, owner_key: str, timeout_seconds: float
    ) -> None:
        self._publisher = publisher
        self._codec = codec
        self._owner_key = owner_key
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
                await self._publisher.publish([self._signed(seed) for seed in seeds])
        except TimeoutError as failure:
            raise Unavailable("kafka", f"not acknowledged within {self._timeout_seconds:g} s") from failure

    def _signed(self, seed: SeedSubmitted) -> Publish:
        if not self._owner_key:
            return Publish(SEEDS_SUBMITTED, seed)
        encoded = self._codec.encode(SEEDS_OWNED, seed)
        signature = sign_value(encoded.value, self._owner_key)
        return Publish(SEEDS_OWNED, seed, headers=(signature,), encoded=encoded)
