"""echo-requests -> answer -> echoes."""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.events import EchoRequested
from strider.contracts.generated.topics import ECHO_DLQ, ECHO_REQUESTS, ECHOES
from strider.messaging.effects import Effects, Publish, Subscription
from strider.messaging.ports import Record

from .core import Rules, echo_of

CONSUMES: Final = (ECHO_REQUESTS,)
PRODUCES: Final = (ECHOES,)
DEAD_LETTERS: Final = ECHO_DLQ


class Echo:
    """Decides and publishes; there is no state to load or to write."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Return which topic goes to which method."""
        return (Subscription(ECHO_REQUESTS, handler=self.on_echo_requested),)

    async def on_echo_requested(self, request: EchoRequested, _record: Record) -> Effects:
        """Echo one request."""
        echoed = echo_of(request, self._rules)
        return Effects(publish=(Publish(ECHOES, echoed),), outcome=echoed.outcome)
