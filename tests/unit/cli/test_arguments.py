"""Typed names: refused, with the nearest name."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.app import app
from strider.cli.arguments import closest, unknown_name


@pytest.mark.parametrize(
    ("words", "code", "errors"),
    [
        pytest.param(["parse", "."], 2, ".: is a directory", id="a-directory"),
    ],
)
def test_an_error_has_a_message_and_an_exit_code(
    words: list[str], code: int, errors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path))
    result = CliRunner().invoke(app, words)

    assert (result.exit_code, errors in result.output) == (code, True), result.output


@pytest.mark.parametrize(
    ("words", "option"),
    [
        pytest.param(["parse", "--list", "FILE"], "--list", id="parse-list"),
        pytest.param(["parse", "pyproject.toml", "-o", "FILE"], "-o", id="parse-output"),
        pytest.param(["seeds", "add", "--from", "FILE"], "--from", id="seeds"),
        pytest.param(["crawl", "--from", "FILE"], "--from", id="crawl-list"),
        pytest.param(["crawl", "http://127.0.0.1/", "-o", "FILE"], "-o", id="crawl-output"),
        pytest.param(
            ["crawl", "http://127.0.0.1/", "-o", "out", "--resume", "FILE"], "--resume", id="crawl-state"
        ),
        pytest.param(["why", "http://127.0.0.1/", "--from", "FILE"], "--from", id="why"),
        pytest.param(["robots", "check", "http://127.0.0.1/", "--file", "FILE"], "--file", id="robots"),
        pytest.param(["fetch", "http://127.0.0.1/", "--output", "FILE"], "--output", id="fetch"),
    ],
)
def test_a_file_that_cannot_be_opened_is_named_with_its_option(
    words: list[str], option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence and one exit code in every command."""
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path))
    file = str(tmp_path / "nowhere" / "file")

    result = CliRunner().invoke(app, [file if word == "FILE" else word for word in words])

    assert f"strider: {option} {file}: No such file or directory\n" in result.output
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("topcs", "no command 'topcs'; did you mean topics?"),
        ("zzz", "no command 'zzz'; there are: topics, seeds"),
    ],
)
def test_an_unknown_name_gets_the_nearest_names_or_all(name: str, sentence: str) -> None:
    assert unknown_name("command", name, ["topics", "seeds"]) == sentence


def test_of_many_names_some_are_listed() -> None:
    assert unknown_name("schema", "zzz", [f"a{number}" for number in range(30)]).endswith("a11, …")


def test_of_no_names_none_is_listed() -> None:
    assert unknown_name("profile", "x", []) == "no profile 'x'; there are: none"
    assert closest("x", []) == ""
