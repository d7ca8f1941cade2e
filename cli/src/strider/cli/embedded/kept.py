"""What members know of each other's messages because they are in one process.

Decides nothing about a page: it spares a second reading, and it puts the URL to a page that was
given up, which its headers alone do not say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strider.contracts import DecodeError, Topic
from strider.contracts.codec import Codec, Encoded, Kept
from strider.contracts.generated.events import PageParsed, PageRejected, PageValidated, Verdict
from strider.runtime.effects import Effects, Say, Saying
from strider.runtime.loop_ports import GivenUp
from strider.runtime.ports import Record
from strider.validator.topology import Pages


class KeptPages:
    """Joined pages that need not be read again, since everybody is here."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def join(self, page: PageParsed, record: Record, verdict: Verdict) -> Encoded | None:
        """Give the bytes of both, with the event that they are."""
        joined = self._pages.join(page, record, verdict)
        # Only what was kept is as it was written; of other bytes the page may be another reading.
        if joined is None or type(record.value) is not Kept:
            return joined
        return Encoded(Kept.of(joined.value, PageValidated(page=page, verdict=verdict)), joined.headers)


class Named:
    """Last words about a page, with its URL."""

    def __init__(self, speak: GivenUp, topic: Topic[Any], codec: Codec) -> None:
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
        return replace(effects, close=tuple(_named(say, page) for say in effects.close))


def _named(say: Saying, page: Any) -> Saying:
    if not isinstance(say, Say) or not isinstance(say.event, PageRejected):
        return say
    event = replace(
        say.event, url=page.url, depth=page.depth, referrer=page.referrer, fetched_at_ms=page.fetched_at_ms
    )
    return replace(say, event=event)
