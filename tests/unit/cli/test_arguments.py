"""Typed URLs and names: completed, refused, or corrected to the nearest name."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.app import app
from strider.cli.arguments import closest, complete_url, unknown_name


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("a.test", "https://a.test"),
        ("a.test:8080/x", "https://a.test:8080/x"),
        ("http://a.test", "http://a.test"),
    ],
)
def test_a_bare_name_means_https(text: str, url: str) -> None:
    assert complete_url(text) == url


@pytest.mark.parametrize("text", ["-", "/path", "?query", "#fragment"])
def test_a_text_that_is_no_url_is_refused_before_any_request(text: str) -> None:
    """`-` reads a list in other commands: it is not a host."""
    with pytest.raises(ValueError, match="is not a URL"):
        complete_url(text)


@pytest.mark.parametrize(
    ("words", "code", "errors"),
    [
        pytest.param(["fetch", "-"], 2, "'-' is not a URL", id="fetch-a-pipe"),
        pytest.param(["robots", "check", "-"], 2, "'-' is not a URL", id="check-a-pipe"),
        pytest.param(["fetch", "http://127.0.0.1:70000/"], 1, "check its host and port", id="port"),
        pytest.param(["fetch", "http://a..b/"], 1, "not a URL: invalid host name", id="host"),
        pytest.param(["parse", "."], 2, ". is a directory", id="a-directory"),
        pytest.param(
            ["parse", __file__, "--url", "nonsense"], 2, "--url 'nonsense' is not a URL", id="no-url"
        ),
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
