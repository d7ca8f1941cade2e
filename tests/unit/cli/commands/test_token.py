"""`strider token`: whose secret signs, what the token says, and wrong usage."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from strider.cli.app import app
from strider.localstack.directories import StackDirectory
from strider.localstack.plan.stack_keys import JWT_SECRET
from strider.runtime.access_tokens import Caller, Role, TokenRefused, verify_token

SECRET = "secret-of-the-environment-0123456789abcdef"
OLDER = "older-secret-of-the-environment-0123456789"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StackDirectory:
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AUTH_JWT_SECRET", raising=False)
    return StackDirectory(tmp_path / "home")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["token", *words])


def test_the_token_is_signed_with_the_secret_of_the_stack(home: StackDirectory) -> None:
    secret = JWT_SECRET.provide(home, {})

    printed = run("--role", "admin", "--for", "2h", "--subject", "ada")

    assert (printed.exit_code, printed.stderr) == (0, "")
    token, now = printed.stdout.strip(), time.time()
    assert verify_token(token, secret, now_seconds=now + 7_000) == Caller("ada", Role.ADMIN)
    with pytest.raises(TokenRefused, match="expired"):
        verify_token(token, secret, now_seconds=now + 7_300)
    assert secret not in printed.stdout


def test_the_secret_of_the_environment_wins_and_its_first_one_signs(
    home: StackDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    JWT_SECRET.provide(home, {})
    monkeypatch.setenv("AUTH_JWT_SECRET", f"{SECRET},{OLDER}")

    printed = json.loads(run("--json").stdout)

    caller = verify_token(printed["token"], SECRET, now_seconds=time.time())
    assert (caller.role, caller.subject) == (Role.USER, printed["sub"])
    assert printed["expires_in_seconds"] == 3600


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["--for", "soon"], "--for: must be a duration", id="no-duration"),
        pytest.param(["--for", "0s"], "--for: must be between 1s and 366d", id="nothing"),
        pytest.param(["--for", "367d"], "--for: must be between 1s and 366d", id="more-than-a-year"),
        pytest.param(["--for", "9" * 400 + "d"], "--for: must be between 1s and 366d", id="infinite"),
        pytest.param(["--subject", "a\nb"], "--subject: must be a name", id="two-lines"),
        pytest.param(["--subject", "x" * 201], "--subject: must be a name", id="long"),
        pytest.param(["--role", "root"], "root", id="unknown-role"),
    ],
)
def test_wrong_usage_is_named(monkeypatch: pytest.MonkeyPatch, words: list[str], message: str) -> None:
    monkeypatch.setenv("AUTH_JWT_SECRET", SECRET)

    refused = run(*words)

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert message in refused.stderr


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        pytest.param("", "no secret to sign with: set AUTH_JWT_SECRET, or run: strider up", id="none"),
        pytest.param("short", "AUTH_JWT_SECRET: must be keys of 32 characters or more", id="short"),
    ],
)
def test_without_a_secret_there_is_no_token(
    monkeypatch: pytest.MonkeyPatch, secret: str, message: str
) -> None:
    monkeypatch.setenv("AUTH_JWT_SECRET", secret)

    refused = run()

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert message in refused.stderr
