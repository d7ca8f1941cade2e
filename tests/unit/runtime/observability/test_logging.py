"""Logs: one line of JSON an event, ids in it, secrets out of it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from strider.messaging.log_events import LogEvent, LogLevel
from strider.runtime.observability.logging import (
    LogCapture,
    SecretScrubber,
    configure_logs,
    log_context,
    logger,
)
from strider.runtime.observability.tracing import current_traceparent

pytestmark = pytest.mark.usefixtures("logging_restored")


def an_event(text: str, *, level: LogLevel = "info") -> LogEvent:
    return LogEvent(text, level, "A meaning.")


def written(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def configured(*, capture: LogCapture | None = None, **options: Any) -> io.StringIO:
    stream = io.StringIO()
    configure_logs("echo", stream=stream, capture=capture, **options)
    return stream


@pytest.mark.req("S1.3.2")
def test_a_line_is_one_json_object_with_the_service_in_it() -> None:
    stream = configured()

    logger("loop").emit(an_event("Page Done"), url="https://example.org/ä\nb", count=2)

    (line,) = written(stream)
    assert line.pop("ts").endswith("Z")
    assert line == {
        "service": "echo",
        "logger": "loop",
        "level": "info",
        "event": "Page Done",
        "url": "https://example.org/ä\nb",
        "count": 2,
    }


def test_a_logger_made_before_the_configuration_follows_it() -> None:
    """Modules make theirs when they are imported."""
    early = logger("early")
    stream = configured()

    early.emit(an_event("Here"))

    assert [line["event"] for line in written(stream)] == ["Here"]


def test_ids_of_the_current_work_stand_in_every_line_below() -> None:
    stream = configured()

    token = current_traceparent.set(b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    with log_context(url="u", host="h", job_id="j", execution_id="e"):
        logger("a").emit(an_event("Inside"))
    current_traceparent.reset(token)
    logger("a").emit(an_event("Outside"))

    inside, outside = written(stream)
    assert {"url": "u", "host": "h", "job_id": "j", "execution_id": "e"}.items() <= inside.items()
    assert inside["trace_id"] == "0af7651916cd43dd8448eb211c80319c"
    assert not {"url", "host", "job_id", "execution_id", "trace_id"} & outside.keys()


def test_lines_of_libraries_take_the_same_path() -> None:
    """A broker's warning must be found where everything else is, and its chatter must not."""
    stream = configured()

    logging.getLogger("aiokafka.consumer").warning("lost %s", "node 1")
    logging.getLogger("aiokafka.consumer").info("chatter")
    logging.getLogger("opentelemetry.exporter").error("collector is down")

    (line,) = written(stream)
    assert (line["logger"], line["level"], line["event"]) == ("aiokafka.consumer", "warning", "lost node 1")
    assert line["service"] == "echo"


def test_repeated_lines_of_a_library_are_suppressed() -> None:
    """An outage of an hour must not hide in its own noise what else happens in it."""
    stream = configured()
    library = logging.getLogger("aiokafka")

    def say(at: float, node: str) -> None:
        record = library.makeRecord("aiokafka", logging.ERROR, "f", 1, "no node %s", (node,), None)
        record.created = at
        library.handle(record)

    for second in range(100):
        say(1000.0 + second, f"n{second}")
    logging.getLogger("aiokafka").error("something else")

    lines = written(stream)
    assert [(line["event"], line.get("repeated")) for line in lines] == [
        ("no node n0", None),
        ("no node n30", 29),
        ("no node n60", 29),
        ("no node n90", 29),
        ("something else", None),
    ]


def test_levels_below_the_set_one_are_not_written() -> None:
    stream = configured(level="warning")

    logger("a").emit(an_event("Quiet"))
    logger("a").emit(an_event("Loud", level="warning"))

    assert [line["event"] for line in written(stream)] == ["Loud"]


@pytest.mark.parametrize("through_logging", [False, True])
def test_an_exception_is_structured_without_local_variables(through_logging: bool) -> None:
    """Local variables hold whole pages, and passwords."""
    stream = configured(secrets=["s3cret"])
    password_in_a_local = "pass" + "word-local"

    try:
        int("redis://:s3cret@h")
    except ValueError:
        if through_logging:
            logging.getLogger("x").exception("Failed")
        else:
            logger("x").emit(an_event("Failed", level="error"), exc_info=True)

    (line,) = written(stream)
    assert line["exception"][0]["exc_type"] == "ValueError"
    assert line["exception"][0]["exc_value"] == "invalid literal for int() with base 10: 'redis://:***@h'"
    assert line["exception"][0]["frames"]
    assert password_in_a_local not in stream.getvalue()


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param({"password": "x"}, {"password": "***"}, id="by-name"),
        pytest.param({"X-Api-Key": "x"}, {"X-Api-Key": "***"}, id="by-header-name"),
        pytest.param({"headers": {"Cookie": "x"}}, {"headers": {"Cookie": "***"}}, id="nested"),
        pytest.param({"why": "pw s3cret!"}, {"why": "pw ***!"}, id="by-value"),
        pytest.param({"tries": ["s3cret"]}, {"tries": ["***"]}, id="in-a-list"),
        pytest.param({"to": "http://u:p@h/"}, {"to": "http://u:***@h/"}, id="in-an-address"),
        pytest.param({"error": ValueError("s3cret")}, {"error": "***"}, id="in-an-exception"),
        pytest.param({"n": 1, "ok": True, "no": None}, {"n": 1, "ok": True, "no": None}, id="plain"),
        pytest.param({"cookies_seen": 3}, {"cookies_seen": 3}, id="a-count-is-no-secret"),
    ],
)
def test_secrets_are_left_out(event: dict[str, Any], expected: dict[str, Any]) -> None:
    assert SecretScrubber(["s3cret", "x1"])(None, "info", event) == expected


def test_long_texts_and_deep_nests_are_cut() -> None:
    """A page may end up in a log line; it must not fill the disk."""
    deep: Any = "bottom"
    for _ in range(50):
        deep = [deep]

    scrubbed = SecretScrubber()(None, "info", {"text": "a" * 1_000_000, "deep": deep})

    assert len(scrubbed["text"]) < 17_000
    assert scrubbed["text"].endswith("(1000000 characters)")
    assert "…" in str(scrubbed["deep"])


def test_a_console_line_obeys_no_terminal_command() -> None:
    stream = configured(console=True)

    logger("a").emit(an_event("Page Done"), url="http://h/\x1b[2J\x07")

    assert "\x1b" not in stream.getvalue()
    assert "\\u001b[2J\\u0007" in stream.getvalue()
    assert "Page Done" in stream.getvalue()


def test_lone_surrogates_are_written() -> None:
    """They come from broken pages, and a log line must not be what breaks on them."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8")
    configure_logs("echo", stream=stream)

    logger("a").emit(an_event("Title"), title="\ud800")

    assert json.loads(raw.getvalue())["title"] == "\ud800"


def test_a_reader_that_has_gone_stops_nothing() -> None:
    class Broken(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    configure_logs("echo", stream=Broken())

    logger("a").emit(an_event("Nobody Reads"))
    logging.getLogger("x").error("nor this")


@pytest.mark.req("S1.2.27")
def test_lines_with_a_job_are_captured_as_they_were_written() -> None:
    captured: list[Mapping[str, Any]] = []
    stream = configured(capture=captured.append, secrets=["s3cret"])

    logger("a").emit(an_event("No Job"))
    with log_context(job_id="j1"):
        logger("a").emit(an_event("Job Line"), why="s3cret")

    assert captured == [written(stream)[1]]
    assert captured[0]["why"] == "***"


@pytest.mark.parametrize("secret", ["x", "pw", "a.b", "long-secret"])
def test_a_secret_of_any_length_is_removed(secret: str) -> None:
    """A short one where it stands alone; what merely contains its letters stays readable."""
    stream = configured(secrets=[secret])

    logger("a").emit(
        an_event("Failed"), part="xylophone pwned", why=f"login with {secret} failed", nested=[secret]
    )

    (line,) = written(stream)
    assert (line["why"], line["nested"]) == ("login with *** failed", ["***"])
    assert line["part"] == "xylophone pwned"
