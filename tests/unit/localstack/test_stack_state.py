from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from strider.localstack.process.identity import ProcessIdentity
from strider.localstack.stack_state import (
    PROCESS_STATES,
    READY,
    SETTLED,
    DesiredState,
    InvalidDesiredState,
    ProcessStatus,
    StackState,
    merge,
    parse_only,
    parse_scale,
    read_desired_state,
    read_state,
    write_desired_state,
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
            "kafka", "server", READY, "2026-01-01T00:00:00+00:00", pid=8, started="boot:80", restarts=2
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


def test_settings_that_differ_from_those_of_the_start_are_named() -> None:
    started = replace(STATE, setting_digests={"FETCHER_PORTS": "1", "STRIDER_CONTACT": "2", "REDIS_URL": "3"})

    assert started.changed_settings({"FETCHER_PORTS": "9", "PARSER_WORKERS": "4", "REDIS_URL": "3"}) == (
        "FETCHER_PORTS",
        "PARSER_WORKERS",
        "STRIDER_CONTACT",
    )
    assert STATE.changed_settings({"FETCHER_PORTS": "9"}) == ()  # written before digests were


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
    assert ProcessStatus("kafka", "server", READY, "now", pid=8).identity is None


def test_every_word_that_is_waited_for_is_explained() -> None:
    assert PROCESS_STATES.keys() >= SETTLED


@pytest.mark.parametrize(
    ("wish", "service", "example", "copies"),
    [
        pytest.param(DesiredState(), "fetcher", False, 1, id="a-service-runs-once"),
        pytest.param(DesiredState(), "echo", True, 0, id="an-example-does-not-run"),
        pytest.param(DesiredState(examples=True), "echo", True, 1, id="examples-when-named"),
        pytest.param(DesiredState(scale={"echo": 2}), "echo", True, 2, id="an-example-named-by-a-scale"),
        pytest.param(DesiredState(scale={"fetcher": 0}), "fetcher", False, 0, id="none-of-it"),
        pytest.param(DesiredState(only=("kafka",)), "fetcher", False, 0, id="not-among-the-only-ones"),
        pytest.param(DesiredState(only=("kafka", "fetcher")), "fetcher", False, 1, id="among-the-only-ones"),
        pytest.param(
            DesiredState(only=("kafka",), scale={"fetcher": 3}),
            "fetcher",
            False,
            3,
            id="scale-wins-over-only",
        ),
    ],
)
def test_how_many_copies_run(wish: DesiredState, service: str, example: bool, copies: int) -> None:
    assert wish.copies(service, example=example) == copies


def test_the_same_command_again_changes_nothing() -> None:
    wish = DesiredState(number=4, examples=True, scale={"fetcher": 2})

    assert merge(wish, only=None, examples=True, scale={"fetcher": 2}) == wish
    assert merge(wish, only=None, examples=False, scale={}) == wish


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        pytest.param(("redis",), ("kafka", "redis"), id="more-parts"),
        pytest.param(None, None, id="everything"),
    ],
)
def test_up_adds_to_what_runs(only: tuple[str, ...] | None, expected: tuple[str, ...] | None) -> None:
    """Only a scale takes away: `up` in a second terminal must not end what the first one started."""
    assert merge(
        DesiredState(number=1, only=("kafka",)), only=only, examples=False, scale={}
    ) == DesiredState(2, only=expected)


def test_a_stack_of_everything_is_not_narrowed_by_a_later_only() -> None:
    assert merge(DesiredState(number=1), only=("kafka",), examples=False, scale={}) == DesiredState(1)


def test_a_scale_replaces_the_one_before() -> None:
    wish = merge(
        DesiredState(1, scale={"fetcher": 3, "parser": 2}), only=None, examples=False, scale={"fetcher": 1}
    )

    assert wish == DesiredState(2, scale={"fetcher": 1, "parser": 2})


def test_names_that_exist_are_taken() -> None:
    assert parse_only(" kafka, redis,kafka,", {"kafka", "redis", "postgres"}) == ("kafka", "redis")
    assert parse_scale(["fetcher=2", "parser=0"], {"fetcher", "parser"}) == {"fetcher": 2, "parser": 0}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        pytest.param("fetcha=2", "unknown name fetcha; known are: fetcher", id="unknown-name"),
        pytest.param("fetcher", "--scale fetcher: expected NAME=N, N from 0 to 64", id="no-number"),
        pytest.param("fetcher=two", "--scale fetcher=two: expected NAME=N, N from 0 to 64", id="a-word"),
        pytest.param("fetcher=-1", "--scale fetcher=-1: expected NAME=N, N from 0 to 64", id="negative"),
        pytest.param("fetcher=65", "--scale fetcher=65: expected NAME=N, N from 0 to 64", id="far-too-many"),
    ],
)
def test_a_wrong_scale_is_reported(word: str, message: str) -> None:
    with pytest.raises(InvalidDesiredState) as caught:
        parse_scale([word], {"fetcher"})

    assert str(caught.value) == message


def test_a_desired_state_survives_its_file(tmp_path: Path) -> None:
    wish = DesiredState(number=9, only=("kafka", "redis"), examples=True, scale={"fetcher": 2})

    write_desired_state(tmp_path / "wish.json", wish)

    assert read_desired_state(tmp_path / "wish.json") == wish


@pytest.mark.parametrize("text", [pytest.param("{", id="torn"), pytest.param('{"x": 1}', id="foreign")])
def test_an_invalid_desired_state_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "wish.json").write_text(text)

    assert read_desired_state(tmp_path / "wish.json") is None
