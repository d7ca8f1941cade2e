"""crawls, hosts and explain: what they refuse before anybody is asked, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.hosts import unblocked_text
from strider.cli.words import app
from strider.contracts.generated.events import HostRecorded


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


@pytest.mark.parametrize(
    ("is_barred", "until_ms", "says"),
    [
        pytest.param(True, 0, "a.test is asked again", id="blocked"),
        pytest.param(False, 0, "nobody had blocked a.test", id="not-blocked"),
        pytest.param(True, 5_000, "a.test is asked again", id="has-rested"),
        pytest.param(
            True,
            61_000,
            "a.test is asked again; it rests until 1970-01-01 00:01:01 all the same: rate_limited",
            id="rests",
        ),
    ],
)
def test_a_person_is_told_that_a_host_rests_by_its_own_wish(
    is_barred: bool, until_ms: int, says: str
) -> None:
    record = HostRecorded("group", "a.test", 1, blocked_until_ms=until_ms, block_reason="rate_limited")

    assert unblocked_text("a.test", record, is_barred=is_barred, now_ms=9_000) == says
