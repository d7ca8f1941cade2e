from __future__ import annotations

from pathlib import Path

import pytest

from strider.localstack.process.identity import ProcessIdentity
from strider.localstack.stack_state import (
    PROCESS_STATES,
    READY,
    SETTLED,
    ProcessStatus,
    StackState,
    read_state,
    write_state,
)

STATE = StackState(
    state=READY,
    since="2026-01-01T00:00:00+00:00",
    supervisor=ProcessIdentity(7, "boot:70"),
    endpoints={"kafka": "127.0.0.1:20001", "api": None},
    ports={"kafka": 20001},
    processes=(
        ProcessStatus(
            "kafka", "part", READY, "2026-01-01T00:00:00+00:00", pid=8, started="boot:80", restarts=2
        ),
    ),
    desired_number=3,
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "stack.json"

    write_state(path, STATE)

    assert read_state(path) == STATE
    assert [each.name for each in tmp_path.iterdir()] == ["stack.json"]


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    """The database's password stands in it."""
    path = tmp_path / "stack.json"

    write_state(path, STATE)

    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param('{"version": 1, "state": "ready", "pro', id="torn"),
        pytest.param("[]", id="list"),
        pytest.param('{"version": 9}', id="another-version"),
        pytest.param('{"version": 1}', id="nothing-in-it"),
        pytest.param('{"version": 1, "supervisor": null, "processes": [{"pid": 1}]}', id="half-a-process"),
        pytest.param('{"version": 1, "supervisor": 5, "processes": []}', id="wrong-type"),
    ],
)
def test_a_file_that_makes_no_sense_counts_as_none(tmp_path: Path, text: str) -> None:
    """A half-written or foreign file must never keep the stack from starting."""
    path = tmp_path / "stack.json"
    path.write_text(text)

    assert read_state(path) is None


def test_no_file_is_no_state(tmp_path: Path) -> None:
    assert read_state(tmp_path / "stack.json") is None


def test_a_line_names_its_process_only_when_number_and_start_are_known() -> None:
    line = STATE.processes[0]

    assert line.identity == ProcessIdentity(8, "boot:80")
    assert ProcessStatus("kafka", "part", READY, "now", pid=8).identity is None


def test_every_word_that_is_waited_for_is_explained() -> None:
    assert PROCESS_STATES.keys() >= SETTLED
