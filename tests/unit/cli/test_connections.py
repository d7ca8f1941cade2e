"""The broker of a command, and what is known of its services."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.app import app
from strider.cli.connections import find_broker
from strider.localstack.process.identity import identify
from strider.localstack.stack_state import READY, STOPPED, StackState, write_state

BROKER = "127.0.0.1:20001"


@pytest.mark.parametrize(
    ("state", "allows", "bootstrap", "environment", "known"),
    [
        pytest.param(READY, True, "", {}, True, id="the stack does"),
        pytest.param(READY, True, BROKER, {}, True, id="the same by its address"),
        pytest.param(READY, False, "", {"STRIDER_ALLOW_PRIVATE": "true"}, False, id="only this shell would"),
        pytest.param(READY, True, "elsewhere:9092", {}, False, id="another broker"),
        pytest.param(STOPPED, True, BROKER, {}, False, id="a stack of yesterday"),
        pytest.param(READY, False, "elsewhere:9092", {"STRIDER_ALLOW_PRIVATE": "1"}, True, id="as given"),
    ],
)
def test_the_stack_decides_whether_private_addresses_are_crawled(  # noqa: PLR0917  # a row of a table
    tmp_path: Path, state: str, allows: bool, bootstrap: str, environment: dict[str, str], known: bool
) -> None:
    """A warning about what works is as wrong as none about what does not."""
    stack = StackState(
        state, "now", identify(os.getpid()), endpoints={"kafka": BROKER}, allows_private=allows
    )
    write_state(tmp_path / "stack.json", stack)

    target = find_broker(bootstrap, {"STRIDER_HOME": str(tmp_path), **environment}, tmp_path)

    assert target.allows_private is known


@pytest.mark.parametrize(
    ("command", "option", "variable", "error"),
    [
        (["runs", "list"], "--kafka", "KAFKA_BOOTSTRAP_SERVERS", "must be host:port"),
        (["frontier", "list"], "--redis", "REDIS_URL", "must be an address that begins with redis://"),
        (["migrate", "status"], "--postgres", "POSTGRES_DSN", "must be an address that begins with postgres"),
        (["parser", "audit"], "--postgres", "POSTGRES_DSN", "must be an address that begins with postgres"),
    ],
)
def test_an_invalid_address_is_reported_under_the_name_of_its_source(  # noqa: PLR0917  # a row of a table
    command: list[str],
    option: str,
    variable: str,
    error: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The source is the option, the profile with its file, or the variable."""
    profiles = tmp_path / "profiles.toml"
    profiles.write_text(f'[staging]\n{variable} = "mysql://x"\n', encoding="utf-8")
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path))
    for name in ("KAFKA_BOOTSTRAP_SERVERS", "POSTGRES_DSN", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)

    by_option = CliRunner().invoke(app, [option, "mysql://x", *command])
    by_profile = CliRunner().invoke(app, ["--profile", "staging", *command])
    by_variable = CliRunner().invoke(app, command, env={variable: "mysql://x"})

    assert {each.exit_code for each in (by_option, by_profile, by_variable)} == {2}
    assert by_option.stderr.startswith(f"strider: {option}: {error}")
    assert by_profile.stderr.startswith(f"strider: {variable} of profile staging in {profiles}: {error}")
    assert by_variable.stderr.startswith(f"strider: {variable}: {error}")
