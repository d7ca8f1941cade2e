"""`strider status` shows the actual state, also after the supervisor has died."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from strider.cli.commands.stack import app, difference_hints
from strider.localstack.process.identity import ProcessIdentity, identify
from strider.localstack.stack_state import (
    READY,
    STOPPED,
    DesiredState,
    ProcessStatus,
    StackState,
    write_state,
)

SINCE = "2026-01-01T00:00:00+00:00"
NOWHERE = {"kafka": None, "postgres": None, "redis": None, "api": None}
GONE = ProcessIdentity(os.getpid(), "another boot:1")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A stack's directory, in which nothing was started."""
    place = tmp_path / "stack"
    monkeypatch.setenv("STRIDER_HOME", str(place))
    monkeypatch.delenv("OBJECT_STORE_URL", raising=False)
    return place


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def told(*words: str) -> Any:
    return json.loads(run("status", "--json", *words)[1])


def a_line(name: str, process: ProcessIdentity) -> ProcessStatus:
    return ProcessStatus(name, "server", READY, SINCE, pid=process.pid, started=process.started)


def test_before_the_first_up_every_endpoint_is_null(home: Path) -> None:
    """A program reads the same names in every state of the stack."""
    assert told() == {"state": "stopped", "supervisor": None, "endpoints": NOWHERE, "processes": []}
    assert not home.exists()


def test_after_down_every_endpoint_is_null(home: Path) -> None:
    endpoints = {"kafka": "127.0.0.1:20001", "objects": "file:///x"}
    write_state(home / "stack.json", StackState(STOPPED, SINCE, supervisor=GONE, endpoints=endpoints))

    assert told() == {
        "state": "stopped",
        "supervisor": None,
        "since": SINCE,
        "message": "",
        "endpoints": NOWHERE,
        "processes": [],
    }


def test_dead_processes_of_a_killed_supervisor_are_stopped(home: Path) -> None:
    lives = identify(os.getpid())
    assert lives
    write_state(
        home / "stack.json",
        StackState(
            READY,
            SINCE,
            supervisor=GONE,
            endpoints={"kafka": "127.0.0.1:20001", "redis": "redis://127.0.0.1:20002/0"},
            processes=(a_line("kafka", lives), a_line("redis", GONE)),
        ),
    )

    shown = told()
    code, table, _ = run("status")

    assert shown["state"] == "orphaned"
    nowhere = dict.fromkeys(("postgres", "redis", "api"))
    assert shown["endpoints"] == {"kafka": "127.0.0.1:20001", **nowhere}
    assert {each["name"]: (each["state"], each["pid"]) for each in shown["processes"]} == {
        "kafka": ("ready", lives.pid),
        "redis": ("stopped", None),
    }
    assert code == 1
    rows = [line.split()[:3] for line in table.splitlines()]
    assert ["kafka", "ready", str(lives.pid)] in rows
    assert ["redis", "stopped", "-"] in rows


def test_passwords_are_masked_unless_they_are_requested(home: Path) -> None:
    """In both formats: what is shown on a terminal or kept in a log is readable by more than its owner."""
    lives = identify(os.getpid())
    assert lives
    address = "postgresql://strider:hidden-word@127.0.0.1:20003/strider"
    processes = (a_line("postgres", lives),)
    state = StackState(READY, SINCE, supervisor=GONE, endpoints={"postgres": address}, processes=processes)
    write_state(home / "stack.json", state)

    masked = "postgresql://strider:…@127.0.0.1:20003/strider"
    assert told()["endpoints"]["postgres"] == masked
    assert told("--show-secrets")["endpoints"]["postgres"] == address
    shown, revealed = run("status")[1], run("status", "--show-secrets")[1]
    assert masked in shown
    assert "hidden-word" not in shown
    assert address in revealed
    assert address in (home / "stack.json").read_text()  # commands and services read it there


def test_where_all_has_died_nothing_is_running(home: Path) -> None:
    state = StackState(READY, SINCE, supervisor=GONE, processes=(a_line("kafka", GONE),))
    write_state(home / "stack.json", state)

    assert run("status") == (1, "nothing is running; start it with: strider up\n", "")
    assert told()["state"] == "stopped"


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        pytest.param("nonsense", 2, "OBJECT_STORE_URL", id="no-address"),
        pytest.param(
            "file:///dev/null/folder", 3, "OBJECT_STORE_URL names a folder that cannot be", id="no-folder"
        ),
    ],
)
@pytest.mark.usefixtures("home")
def test_up_refuses_an_object_store_that_services_could_not_use(
    monkeypatch: pytest.MonkeyPatch, path: str, code: int, message: str
) -> None:
    """Otherwise each service is started, and refuses, one by one."""
    monkeypatch.setenv("OBJECT_STORE_URL", path)
    # Checked last, so that nothing is started whatever the first check does.
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")

    ended, shown, errors = run("up", "--only", "redis")

    assert (ended, shown) == (code, "")
    assert errors.startswith(f"strider: {message}")
    assert errors.count("\n") == 1


def test_up_names_what_runs_otherwise_than_this_shell_would_start_it() -> None:
    hints = difference_hints(DesiredState(scale={"fetcher": 0, "parser": 2}), ["FETCHER_PORTS", "LOG"])

    assert list(hints) == [
        (
            "the stack was started with other settings (FETCHER_PORTS, LOG), which stay in effect; "
            "to apply those of this shell: strider down, then strider up"
        ),
        "scaled to no copies: fetcher; to start them: strider up --scale fetcher=1",
    ]
    assert not list(difference_hints(DesiredState(scale={"parser": 2}), []))


@pytest.mark.usefixtures("home")
def test_logs_before_the_first_up_are_reported_as_missing() -> None:
    assert run("logs") == (1, "", "strider: no logs: nothing was started here; start it with: strider up\n")


@pytest.mark.fault("A11", part="logs")
@pytest.mark.parametrize("options", [(), ("--raw",)])
def test_logs_of_a_hostile_site_are_shown_and_not_obeyed(home: Path, options: tuple[str, ...]) -> None:
    """A line of JSON is decoded for people, and a library's line may carry anything."""
    folder = home / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    event = {"event": "Page\x1b]52;c;aGk=\x07 failed", "url": "http://a.test/\u202egnp", "ts": "2026-01-01"}
    lines = [json.dumps(event), json.dumps(event, ensure_ascii=False), "plain \x9b2J\x7f\rover"]
    (folder / "fetcher.log").write_text("\n".join(lines) + "\n", newline="")

    code, shown, _ = run("logs", *options)

    assert code == 0
    assert "\\u001b]52;c;aGk=\\u0007" in shown
    assert "\\u202egnp" in shown
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\x7f", "\r", "\u202e"}
