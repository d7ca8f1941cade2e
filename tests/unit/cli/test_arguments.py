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
        pytest.param(["parse", "."], 2, ". is a directory", id="a-directory"),
    ],
)
def test_an_error_has_a_message_and_an_exit_code(
    words: list[str], code: int, errors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path))
    result = CliRunner().invoke(app, words)

    assert (result.exit_code, errors in result.output) == (code, True), result.output


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
