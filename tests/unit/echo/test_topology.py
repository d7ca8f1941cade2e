"""One request in, one echo out, nothing more."""

from __future__ import annotations

from strider.contracts.generated.events import Echoed, EchoRequested
from strider.contracts.generated.topics import ECHO_REQUESTS, ECHOES
from strider.echo.core import Rules
from strider.echo.topology import CONSUMES, PRODUCES, Echo
from strider.messaging.effects import Effects, Publish


async def test_a_request_gets_its_echo() -> None:
    effects = await Echo(Rules()).on_echo_requested(EchoRequested("r1", "a.test", "hi"), object())

    assert effects == Effects(
        publish=(Publish(ECHOES, Echoed("r1", "a.test", "echoed", "hi")),), outcome="echoed"
    )


def test_the_topics_are_the_declared_ones() -> None:
    assert tuple(reads.topic for reads in Echo(Rules()).subscriptions()) == CONSUMES == (ECHO_REQUESTS,)
    assert all("echo" in topic.writers for topic in PRODUCES)
