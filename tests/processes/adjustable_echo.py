"""An echo service whose failures are settings: what hangs or blocks, the deadline, how many bad messages.

A service like any other, on the runtime's own entrance; everything but these settings is the
example's. Run as a program.
"""

from __future__ import annotations

import asyncio
import time
from typing import ClassVar

from strider.contracts.generated.events import EchoRequested
from strider.contracts.generated.topics import ECHO_REQUESTS
from strider.echo.core import Rules
from strider.echo.topology import DEAD_LETTERS, PRODUCES, Echo
from strider.messaging.effects import Effects, Subscription
from strider.messaging.ports import Record
from strider.runtime.consumer.spec import ConsumerSettings
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.runtime.publishing.dead_letter_breaker import DeadLetterBreakerLimits
from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.types import PositiveSeconds

BLOCK_SECONDS = 600.0
SLOW_SECONDS = 2.0


class AdjustableSettings(ServiceSettings):
    """adjustable: which requests fail, and how."""

    PREFIX: ClassVar[str] = "ADJUSTABLE_"

    hang_on: str = ""
    """A request with this text is never completed."""
    block_on: str = ""
    """A request with this text blocks the event loop."""
    slow_on: str = ""
    """A request with this text takes two seconds."""
    deadline_seconds: PositiveSeconds = 30.0
    """For one call of a handler."""
    bad_messages: int = 100
    """Bad messages in a row that stop the consumer."""


class AdjustableEcho:
    """An echo that fails as its settings say."""

    def __init__(self, settings: AdjustableSettings) -> None:
        self._settings = settings
        self._echo = Echo(Rules())

    async def on_echo_requested(self, request: EchoRequested, record: Record) -> Effects:
        """Fail as the settings say, or echo."""
        text = request.text
        if text and text == self._settings.hang_on:
            await asyncio.Event().wait()
        if text and text == self._settings.block_on:
            time.sleep(BLOCK_SECONDS)  # noqa: ASYNC251  # a blocked loop is what this is for
        if text and text == self._settings.slow_on:
            await asyncio.sleep(SLOW_SECONDS)
        return await self._echo.on_echo_requested(request, record)


def build(process: ServiceContext[AdjustableSettings]) -> ServiceDefinition:
    """Put the service together."""
    settings = process.settings
    flood = DeadLetterBreakerLimits(consecutive=settings.bad_messages, min_messages=2 * settings.bad_messages)
    reads = Subscription(ECHO_REQUESTS, handler=AdjustableEcho(settings).on_echo_requested)
    loop = ConsumerSettings(handler_timeout_seconds=settings.deadline_seconds, breaker=flood)
    return ServiceDefinition((consume("echo", reads, settings=loop),), PRODUCES, DEAD_LETTERS)


if __name__ == "__main__":
    raise SystemExit(run_service("echo", AdjustableSettings, build))
