"""A start that is refused leaves nothing open."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
import structlog

from strider.echo.settings import EchoSettings
from strider.messaging.errors import StartRefused
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus
from strider.runtime.process.main import ServiceContext, ServiceDefinition
from strider.runtime.process.startup import ServiceStartup
from strider.runtime.settings.loader import load_settings


class Bodies:
    """An object store that records that it was closed."""

    def __init__(self, closed: list[str]) -> None:
        self._closed = closed

    async def put(self, content: bytes) -> str:
        pytest.fail(f"no dead letter was expected, but {content!r}")

    async def close(self) -> None:
        self._closed.append("objects")


@pytest.fixture
def default_logs() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("default_logs")
async def test_a_refused_start_closes_the_object_store_after_the_adapters() -> None:
    """An adapter may still write objects while it closes."""
    closed: list[str] = []

    async def refuse() -> None:
        raise StartRefused("the tables are of another version")

    async def close() -> None:
        closed.append("adapter")

    def build(_process: ServiceContext[EchoSettings]) -> ServiceDefinition:
        return ServiceDefinition(connect=(refuse,), close=(close,), objects=Bodies(closed))

    startup = ServiceStartup(
        "echo",
        load_settings(EchoSettings, {}),
        build,
        make_bus=lambda _settings: InProcessBus(InProcessBroker(clock=EventLoopClock())),
        stream=io.StringIO(),
    )
    with pytest.raises(StartRefused, match="another version"):
        await startup.run()
    await startup.closers.close_all()

    assert closed == ["adapter", "objects"]
