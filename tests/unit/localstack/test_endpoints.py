from __future__ import annotations

from pathlib import Path

from strider.localstack.endpoints import as_variables, named_by_environment, read_endpoints
from strider.localstack.state import READY, STOPPED, StackState, write_state


def test_what_the_environment_names_wins_over_the_stack_that_runs_here(tmp_path: Path) -> None:
    endpoints = {"kafka": "127.0.0.1:20001", "redis": "redis://127.0.0.1:20002/0", "api": None}
    write_state(tmp_path / "stack.json", StackState(READY, "now", endpoints=endpoints))
    environment = {"STRIDER_HOME": str(tmp_path), "REDIS_URL": "redis://elsewhere/0", "POSTGRES_DSN": ""}

    assert read_endpoints(environment, tmp_path) == {
        "kafka": "127.0.0.1:20001",
        "redis": "redis://elsewhere/0",
    }


def test_a_stopped_stack_has_no_endpoints(tmp_path: Path) -> None:
    """Its ports may be somebody else's by now."""
    write_state(tmp_path / "stack.json", StackState(STOPPED, "now", endpoints={"kafka": "127.0.0.1:20001"}))

    assert read_endpoints({"STRIDER_HOME": str(tmp_path)}, tmp_path) == {}


def test_search_and_registry_are_passed_through() -> None:
    environment = {"OPENSEARCH_URL": "http://search", "SCHEMA_REGISTRY_URL": "http://registry"}

    named = named_by_environment(environment)

    assert named == {"search": "http://search", "registry": "http://registry"}
    assert as_variables(named).items() >= environment.items()
