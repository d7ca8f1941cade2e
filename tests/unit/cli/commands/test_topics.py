"""Options of `strider topics` that need no broker, and the output of messages."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from strider.cli.commands.topics import app
from strider.cli.connections import STACK_HINT
from strider.cli.messages import check_conditions, message_json, parse_since, parse_where
from strider.contracts import TOPICS
from strider.contracts.codegen.asyncapi import render_asyncapi
from strider.contracts.codegen.markdown import render_markdown
from strider.contracts.codegen.strimzi import render_strimzi
from strider.contracts.generated.events import Echoed
from strider.messaging.topics.tail import TailedMessage

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
MOMENT_MS = 1_777_636_800_123


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder without a stack, and an environment without a broker."""
    monkeypatch.chdir(tmp_path)
    for name in ("KAFKA_BOOTSTRAP_SERVERS", "STRIDER_HOME", "STRIDER_SHARDS"):
        monkeypatch.delenv(name, raising=False)


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def a_record(**fields: Any) -> Any:
    standard = {
        "topic": "echoes",
        "partition": 3,
        "offset": 7,
        "timestamp": MOMENT_MS,
        "key": b"example.org",
        "value": b"\xff\x00",
        "headers": (("schema-fp", b"00ff"), ("raw", b"\xff")),
    }
    return SimpleNamespace(**standard | fields)


SHOWN = {
    "topic": "echoes",
    "partition": 3,
    "offset": 7,
    "time": "2026-05-01T12:00:00.123+00:00",
    "key": "example.org",
    "headers": {"schema-fp": "00ff", "raw": {"base64": "/w=="}},
}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        pytest.param(
            TailedMessage(
                a_record(), Echoed(request_id="1", host="example.org", outcome="echoed", text="täxt")
            ),
            SHOWN
            | {
                "value": {
                    "request_id": "1",
                    "host": "example.org",
                    "outcome": "echoed",
                    "text": "täxt",
                    "requested_at_ms": 0,
                }
            },
            id="event",
        ),
        pytest.param(
            TailedMessage(a_record(), reason="truncated", detail="the bytes end"),
            SHOWN | {"error": "truncated", "detail": "the bytes end", "value": {"base64": "/wA="}},
            id="bad bytes",
        ),
        pytest.param(TailedMessage(a_record(value=b"text")), SHOWN | {"value": "text"}, id="not declared"),
        pytest.param(
            TailedMessage(a_record(value=None, key=None)),
            SHOWN | {"key": None, "value": None},
            id="tombstone",
        ),
    ],
)
def test_a_message_is_one_line_of_json(line: TailedMessage, shown: dict[str, Any]) -> None:
    text = message_json(line)

    assert "\n" not in text
    assert json.loads(text) == shown


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param("90s", NOW - timedelta(seconds=90), id="seconds"),
        pytest.param("15m", NOW - timedelta(minutes=15), id="minutes"),
        pytest.param("2h", NOW - timedelta(hours=2), id="hours"),
        pytest.param("1d", NOW - timedelta(days=1), id="days"),
        pytest.param("1777636800000", NOW, id="milliseconds"),
        pytest.param("2026-05-01T12:00:00Z", NOW, id="ISO 8601"),
        pytest.param("2026-05-01T14:00:00+02:00", NOW, id="ISO 8601 elsewhere"),
        pytest.param("2026-05-01 12:00", NOW, id="without a zone"),
        pytest.param("2026-05-01", NOW.replace(hour=0), id="a day"),
        pytest.param("40000d", datetime(1970, 1, 1, tzinfo=UTC), id="before all brokers"),
        pytest.param("1752-01-01", datetime(1970, 1, 1, tzinfo=UTC), id="a day before all brokers"),
    ],
)
def test_moments_are_read(text: str, moment: datetime) -> None:
    assert parse_since(text, NOW) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "5", "15 m", "-5m", "2026-13-01", "999999999d"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    """With a line that names the option and the accepted forms."""
    with pytest.raises(
        ValueError, match=rf"--since '{text}' is not a time: expected 15m, 2h or 1d \(ago\), mill"
    ):
        parse_since(text, NOW)


def test_conditions_are_read() -> None:
    assert parse_where(["host=example.org", "page.url=http://a/?b=c", "text="]) == (
        ("host", "example.org"),
        ("page.url", "http://a/?b=c"),
        ("text", ""),
    )


@pytest.mark.parametrize("condition", ["host", "=value", ""])
def test_a_condition_needs_a_field(condition: str) -> None:
    with pytest.raises(ValueError, match="is not field=value"):
        parse_where([condition])


@pytest.mark.parametrize(
    ("where", "name", "message"),
    [
        pytest.param(
            ["text=a", "hots=b"],
            "echoes",
            "--where hots: echoes has no field hots; did you mean host?",
            id="misspelt",
        ),
        pytest.param(
            ["page.url=a"],
            "echoes",
            "--where page.url: echoes has no field page; "
            "there are: request_id, host, outcome, text, requested_at_ms",
            id="nothing like it",
        ),
        pytest.param(
            ["host=a"],
            "others",
            "--where host: others is not declared, so its fields are unknown",
            id="no topic",
        ),
    ],
)
def test_a_field_that_no_event_has_is_refused(where: list[str], name: str, message: str) -> None:
    """It would match nothing, and look like an empty topic."""
    with pytest.raises(ValueError) as told:
        check_conditions(parse_where(where), name, TOPICS.get(name))

    assert str(told.value) == message


def test_fields_of_the_topic_are_taken() -> None:
    check_conditions((("host", "a"), ("text.more", "b")), "echoes", TOPICS["echoes"])
    check_conditions((), "others", None)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        pytest.param("täxt \U0001f577", "ascii", id="a poor terminal"),
        pytest.param("half \ud83d", "utf-8", id="half a character"),
    ],
)
def test_text_that_the_output_cannot_carry_is_escaped(text: str, encoding: str) -> None:
    """It stays JSON with the same text."""
    line = message_json(TailedMessage(a_record(value=text)), encoding=encoding)

    line.encode(encoding)
    assert json.loads(line)["value"] == text


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["tail", "echoes", "--since", "someday"], id="moment"),
        pytest.param(["tail", "echoes", "--since", "999999999d"], id="moment before all time"),
        pytest.param(["tail", "echoes", "--where", "host"], id="condition"),
        pytest.param(["tail", "echoes", "--from-offset", "1", "--from-beginning"], id="two beginnings"),
        pytest.param(["tail", "echoes", "--limit", "0"], id="no lines at all"),
        pytest.param(["tail", "echoes", "--where", "nofield=1"], id="unknown field"),
        pytest.param(["tail", "echoes", "--from-offset", "-1"], id="offset before all"),
        pytest.param(["apply", "--replication", "0"], id="no replicas"),
        pytest.param(["apply", "--replication", "-2"], id="fewer than no replicas"),
        pytest.param(["apply", "--replication", "32768"], id="more replicas than there can be"),
        pytest.param(["tail"], id="no topic"),
        pytest.param(["render", "latin"], id="unknown form"),
        pytest.param(["diff"], id="no broker"),
    ],
)
@pytest.mark.usefixtures("nowhere")
def test_wrong_words_are_two(arguments: list[str]) -> None:
    code, _, told = run(*arguments)

    assert code == 2
    assert told
    assert "Traceback" not in told


@pytest.mark.usefixtures("nowhere")
def test_a_missing_broker_is_reported_with_how_to_start_one() -> None:
    assert run("apply") == (
        2,
        "",
        (
            "strider: no address of Kafka is configured: give strider --kafka, "
            f"set KAFKA_BOOTSTRAP_SERVERS, or {STACK_HINT}\n"
        ),
    )


@pytest.mark.usefixtures("nowhere")
def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRIDER_SHARDS", "many")

    code, _, told = run("diff", "--bootstrap", "127.0.0.1:1")

    assert code == 2
    assert "STRIDER_SHARDS" in told


def test_declared_topics_are_listed_without_a_broker() -> None:
    code, shown, _ = run("list", "--json", "--examples")

    assert code == 0
    assert {row["name"]: row["schema"] for row in json.loads(shown)} == {
        topic.name: topic.schema_name for topic in TOPICS.values()
    }


def test_the_list_for_people_leaves_the_examples_out() -> None:
    code, shown, _ = run("list")

    assert code == 0
    assert "seeds-submitted" in shown
    assert "echoes" not in shown


@pytest.mark.parametrize("form", ["strimzi", "asyncapi", "markdown"])
def test_the_registry_is_rendered_for_others(form: str) -> None:
    assert run("render", form) == (
        0,
        {"strimzi": render_strimzi, "asyncapi": render_asyncapi, "markdown": render_markdown}[form](),
        "",
    )
