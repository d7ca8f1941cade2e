"""The last words about a page that was given up, with its URL, which its headers alone do not say.

A service of its own has only the message's headers to go by; here everybody has the event.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strider.contracts import DecodeError, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.events import PageRejected
from strider.messaging.effects import Effects, Publish, PublishRequest
from strider.messaging.ports import Record
from strider.runtime.consumer.ports import OnGivenUp


class Named:
    """Last words about a page, with its URL."""

    def __init__(self, speak: OnGivenUp, topic: Topic[Any], codec: Codec) -> None:
        self._speak = speak
        self._topic = topic
        self._codec = codec

    async def __call__(self, record: Record, reason: str) -> Effects:
        """Say what the service says, and which URL it was, where the message can be read."""
        effects = await self._speak(record, reason)
        try:
            page = self._codec.decode(self._topic, record.value, record.headers)
        except DecodeError:
            return effects
        said, closed = (
            tuple(_named(say, page) for say in says) for says in (effects.publish, effects.publish_last)
        )
        return replace(effects, publish=said, publish_last=closed)


def _named(say: PublishRequest, page: Any) -> PublishRequest:
    if not isinstance(say, Publish) or not isinstance(say.event, PageRejected):
        return say
    event = replace(
        say.event, url=page.url, depth=page.depth, referrer=page.referrer, fetched_at_ms=page.fetched_at_ms
    )
    return replace(say, event=event)
