"""runs, hosts and explain: wrong usage that is refused in one line before any server is contacted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.app import app
from strider.cli.commands.frontier import absent_text
from strider.cli.commands.hosts import host_lines, idle_delay_seconds, unblocked_text
from strider.cli.commands.runs import RunView, run_view, shown_fields
from strider.cli.explain.decision_steps import run_state_name
from strider.cli.explain.facts import delay_text
from strider.contracts.generated.events import CrawlSpecDeclared, HostRecorded, JobEvent
from strider.crawl.runs.control import RunControl, RunState
from strider.frontier.models import HostPace
from strider.frontier.redis.admin import ABSENT, READY, ShardState
from strider.frontier.redis.inspection import HostGroupSnapshot, RunSnapshot


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder without a stack, and an environment without addresses."""
    monkeypatch.chdir(tmp_path)
    for name in ("KAFKA_BOOTSTRAP_SERVERS", "REDIS_URL", "STRIDER_HOME", "STRIDER_SHARDS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(["crawls", "list"], "no address of Kafka is configured", id="no broker"),
        pytest.param(
            ["crawls", "list", "--bootstrap", "127.0.0.1:1"],
            "no address of Redis is configured",
            id="no redis",
        ),
        pytest.param(
            ["hosts", "block", "a/b", "--bootstrap", "127.0.0.1:1"], "'a/b' is not a host name", id="no host"
        ),
        pytest.param(
            ["hosts", "block", "a.test", "--for", "soon"], "--for soon: expected a time", id="no time"
        ),
        pytest.param(
            ["explain", "https://a.test/", "--from", "nowhere"],
            "--from: 'nowhere' is not a URL",
            id="no page",
        ),
        pytest.param(
            ["frontier", "recover", "--older-than", "nan"], "--older-than nan: must be a", id="no age"
        ),
        pytest.param(["crawls", "cancel", "adhoc"], "later ones included", id="the front door, for good"),
        pytest.param(["crawls", "drop", "adhoc"], "later ones included", id="all that came in by it"),
        pytest.param(["hosts", "block", "a.test", "--for", "0s"], "more than 0", id="no time at all"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(words: list[str], sentence: str) -> None:
    result = CliRunner().invoke(app, words)

    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_text_that_is_no_url_is_explained_without_a_server() -> None:
    result = CliRunner().invoke(app, ["explain", "ftp://a.test/"])

    assert result.exit_code == 2
    assert (result.stdout, len(result.stderr.splitlines())) == ("", 1)
    assert "'ftp://a.test/' is refused (refused_scheme): only http and https are crawled" in result.stderr


def test_a_refused_url_is_explained_as_json_too() -> None:
    result = CliRunner().invoke(app, ["explain", "ftp://a.test/", "--json"])

    step = json.loads(result.stdout)["normalization"]
    assert (result.exit_code, step["step"], step["result"]) == (2, "normalization", "no")
    assert "refused_scheme" in step["text"]


@pytest.mark.parametrize(
    ("is_barred", "until_ms", "sentence"),
    [
        pytest.param(True, 0, "a.test is unblocked", id="blocked"),
        pytest.param(False, 0, "a.test was not blocked", id="not-blocked"),
        pytest.param(True, 5_000, "a.test is unblocked", id="has-rested"),
        pytest.param(
            True,
            61_000,
            "a.test is unblocked; its own backoff lasts until 1970-01-01 00:01:01: rate_limited",
            id="rests",
        ),
    ],
)
def test_a_wait_that_the_host_requested_is_reported(is_barred: bool, until_ms: int, sentence: str) -> None:
    record = HostRecorded("group", "a.test", 1, blocked_until_ms=until_ms, block_reason="rate_limited")

    assert unblocked_text("a.test", record, is_barred=is_barred, now_ms=9_000) == sentence


def test_a_run_is_shown_in_the_words_of_the_glossary() -> None:
    """The fields of the JSON output keep their names; its values are those of the text."""
    shown = shown_fields(RunView("run-1", "job", run_state_name(RunState.RUNS), open=2, accepted=5))

    assert shown["run (execution_id)"] == "run-1"
    assert shown["state"] == "running"
    assert "execution_id" not in shown


@pytest.mark.parametrize(
    ("commands", "state", "by"),
    [
        ([], "running", ""),
        (["close"], "closed", "ann"),
        (["close", "pause"], "paused", "ann"),
        (["close", "run_completed"], "completed", "ann"),
        (["close", "cancel", "run_completed"], "cancelled", "ann"),
    ],
)
def test_the_state_of_a_run_shows_whether_it_will_end(commands: list[str], state: str, by: str) -> None:
    control = RunControl()
    for what in commands:
        about = {"is_wish": what != "run_completed", "at_ms": 1, "by": "ann", "execution_id": "run-1"}
        control.apply(JobEvent(what, what, **about))
    shown = run_view(RunSnapshot("run-1", "job", (), open=2, accepted=5), control)

    assert (shown.state, shown.by) == (state, by)


def test_a_run_that_senders_share_is_not_closed() -> None:
    """Every later seed of the day without a job would be refused."""
    refused = CliRunner().invoke(app, ["runs", "close", "adhoc-20261120-0123456789ab"])

    assert refused.exit_code == 2
    assert "which senders share" in refused.stderr


def test_of_an_unknown_host_nothing_is_shown() -> None:
    """Its empty queue would read as a host that may be fetched from."""
    unknown = HostGroupSnapshot(
        delay_ms=1000, places=1, in_flight=0, next_request_ms=0, blocked_until_ms=0, queued=0, now_ms=9
    )

    assert host_lines([], unknown, {}, now_ms=9) == []
    assert host_lines([], None, {}, now_ms=9) == []
    assert host_lines([], replace(unknown, queued=2), {}, now_ms=9) == [
        "2 queued, 0 of 1 requests in flight; 1 s between requests; the next request may be sent now."
    ]


@pytest.mark.parametrize(
    ("kind", "seconds"), [pytest.param("group", 5.0, id="own"), pytest.param("robots", 2.0, id="no-record")]
)
def test_an_idle_host_has_the_delay_of_its_record_else_of_the_settings(kind: str, seconds: float) -> None:
    record = HostRecorded(kind, "a.test", 1, delay_seconds=5.0)

    assert idle_delay_seconds([record], 2.0) == seconds


def test_the_crawl_spec_that_sets_the_delay_of_a_host_is_named() -> None:
    """Only those with entries in its shard; not where robots.txt sets a longer one."""
    specs = {name: CrawlSpecDeclared(name, delay_seconds=60.0) for name in ("slow", "ended")}
    live = HostGroupSnapshot(
        60_000, 1, 0, 0, 0, 2, 9, ((HostPace(60_000), 1), (HostPace(1_000), 4)), ("mild", "slow")
    )

    assert delay_text(live, specs) == "60 s between requests, set by crawl spec slow (1 open entries)"
    assert delay_text(replace(live, delay_ms=90_000), specs) == "90 s between requests"
    assert delay_text(replace(live, delay_ms=1_000, raw_delay_ms=60_000), specs) == (
        "1 s between requests; 60 s between those of some raw seeds, set by crawl spec slow (1 open entries)"
    )


def test_more_shards_than_the_frontier_has_are_named() -> None:
    """Before the first start of a scheduler none of them has a working set, which is no mistake."""
    states = [
        ShardState(shard=number, epoch=1, state=state, share=1.0, queued=0, in_ring=0, offset_ms=0)
        for number, state in enumerate([READY, READY, ABSENT])
    ]

    assert absent_text(states) == "shards without a working set: 2; is --shards (STRIDER_SHARDS) right?"
    assert not absent_text(states[:2])
    assert not absent_text(states[2:])
