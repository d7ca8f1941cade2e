"""What services of the local stack find in their environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from strider.localstack.directories import StackDirectory
from strider.localstack.plan.services import find_services
from strider.localstack.plan.stack_plan import StackPlan
from strider.localstack.stack_state import DesiredState


@pytest.mark.parametrize(
    ("environment", "session"),
    [
        pytest.param({}, "10", id="a-kafka-of-ours"),
        pytest.param({"KAFKA_SESSION_TIMEOUT": "30"}, "30", id="set-by-the-operator"),
        pytest.param({"KAFKA_BOOTSTRAP_SERVERS": "broker.test:9092"}, None, id="a-kafka-of-yours"),
    ],
)
def test_a_killed_service_gets_its_partitions_back_soon(
    tmp_path: Path, environment: dict[str, str], session: str | None
) -> None:
    """On one machine silence means death; what a broker elsewhere is used to is left alone."""
    composition = StackPlan(StackDirectory(tmp_path), environment, find_services(), {"health:echo": 1})

    units = composition.service_processes(DesiredState(only=("echo",), examples=True))

    assert {unit.environment.get("KAFKA_SESSION_TIMEOUT") for unit in units.values()} == {session}


@pytest.mark.parametrize(("said", "allows"), [({"STRIDER_ALLOW_PRIVATE": "true"}, True), ({}, False)])
def test_a_stack_knows_whether_it_crawls_private_addresses(
    tmp_path: Path, said: dict[str, str], allows: bool
) -> None:
    """Commands of another shell cannot see what it was started with."""
    assert StackPlan(StackDirectory(tmp_path), said, (), {}).allows_private is allows
