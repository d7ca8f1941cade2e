"""crawls, hosts and explain: what they refuse before anybody is asked, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.words import app


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A directory without a stack, and an environment that names nothing."""
    monkeypatch.chdir(tmp_path)
    for name in ("KAFKA_BOOTSTRAP_SERVERS", "REDIS_URL", "STRIDER_HOME", "STRIDER_SHARDS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["crawls", "list"], "no broker is named", id="no broker"),
        pytest.param(
            ["crawls", "list", "--bootstrap", "127.0.0.1:1"], "no working set is named", id="no redis"
        ),
        pytest.param(
            ["hosts", "block", "a/b", "--bootstrap", "127.0.0.1:1"], "'a/b' is no host", id="no host"
        ),
        pytest.param(["hosts", "block", "a.test", "--for", "soon"], "--for soon: give a time", id="no time"),
        pytest.param(
            ["explain", "https://a.test/", "--from", "nowhere"], "--from: 'nowhere' is no URL", id="no page"
        ),
        pytest.param(
            ["frontier", "recover", "--older-than", "nan"], "--older-than nan: must be a", id="no age"
        ),
        pytest.param(["crawls", "cancel", "adhoc"], "those to come as well", id="the front door, for good"),
        pytest.param(["crawls", "drop", "adhoc"], "those to come as well", id="all that came in by it"),
        pytest.param(["hosts", "block", "a.test", "--for", "0s"], "more than nothing", id="no time at all"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(words: list[str], says: str) -> None:
    told = CliRunner().invoke(app, words)

    assert told.exit_code == 2
    assert says in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_what_is_no_url_is_explained_without_asking_anybody() -> None:
    told = CliRunner().invoke(app, ["explain", "ftp://a.test/"])

    assert told.exit_code == 1
    assert told.stdout.startswith("normalise   no ")
