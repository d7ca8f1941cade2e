"""URLs as they are typed, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.typed import whole_url
from strider.cli.words import app


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("a.test", "https://a.test"),
        ("a.test:8080/x", "https://a.test:8080/x"),
        ("http://a.test", "http://a.test"),
    ],
)
def test_a_bare_name_means_https(text: str, url: str) -> None:
    assert whole_url(text) == url


@pytest.mark.parametrize("text", ["-", "/path", "?query", "#fragment"])
def test_what_is_no_url_is_refused_before_anybody_is_asked(text: str) -> None:
    """`-` is what other commands read lists from: it is no host."""
    with pytest.raises(ValueError, match="is no URL"):
        whole_url(text)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(["fetch", "-"], 2, "'-' is no URL", id="fetch-a-pipe"),
        pytest.param(["robots", "check", "-"], 2, "'-' is no URL", id="check-a-pipe"),
        pytest.param(["fetch", "http://127.0.0.1:70000/"], 1, "look at its host and port", id="port"),
        pytest.param(["fetch", "http://a..b/"], 1, "that is no URL: its host cannot be a name", id="host"),
        pytest.param(["parse", "."], 2, ".: it is a directory", id="a-directory"),
        pytest.param(["parse", __file__, "--url", "nonsense"], 2, "--url 'nonsense' is no URL", id="no-url"),
    ],
)
def test_what_is_wrong_is_said_in_words_and_by_the_code(
    words: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path))
    told = CliRunner().invoke(app, words)

    assert (told.exit_code, said in told.output) == (code, True), told.output
