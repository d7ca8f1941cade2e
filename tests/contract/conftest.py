"""Every test of this folder that asks for a `world` runs on both buses."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from .bus_environments import InProcessWorld, KafkaWorld, World

GAP = "gap(world, reason): this world does not do it yet; the test must fail there, with this reason"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", GAP)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        for gap in item.iter_markers("gap"):
            name, reason = gap.args
            if parameters.get("world") == name:
                item.add_marker(pytest.mark.xfail(strict=True, reason=reason))


@pytest.fixture(params=["inprocess", "kafka"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    prefix = uuid.uuid4().hex[:8]
    made: World
    if request.param == "kafka":
        made = KafkaWorld(prefix, request.getfixturevalue("kafka_bootstrap"))
    else:
        made = InProcessWorld(prefix)
    yield made
    await made.close()
