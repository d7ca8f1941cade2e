"""Logs of a process: one line of JSON for each event, secrets removed.

Lines are written with structlog; lines of libraries that use `logging` take the same path. Ids of the work in
hand (url, host, job_id, execution_id) are bound with `log_context` and stand in every line within it; the
trace id is added by itself. Lines with a job id also go to `job_logs`. A stream that cannot be written to is
no reason to stop crawling.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from types import MappingProxyType
from typing import Any, Final, TextIO

from strider.messaging.log_events import EventLogger, logger
from strider.runtime.lazy_imports import hidden_modules
from strider.runtime.observability.tracing import current_trace_id
from strider.runtime.settings.types import hide_password
from strider.runtime.terminal_text import escape_controls

# It would load rich for coloured tracebacks, a tenth of a service's start; ours are lines of JSON.
with hidden_modules("rich", "better_exceptions"):
    import structlog
    from structlog.contextvars import bound_contextvars as log_context
    from structlog.tracebacks import ExceptionDictTransformer

__all__ = ["EventLogger", "LogCapture", "configure_logs", "log_context", "logger"]

LogFields = MutableMapping[str, Any]
LogCapture = Callable[[Mapping[str, Any]], None]
"""Takes every line as it is written; must return at once and never raise."""

QUIET_LIBRARIES: Final = MappingProxyType(
    {
        "aiokafka": logging.WARNING,
        "aiohttp.access": logging.ERROR,
        "asyncio": logging.WARNING,
        "httpx": logging.WARNING,
        "httpcore": logging.WARNING,
        "opentelemetry": logging.CRITICAL,  # a collector that is down is counted, not logged again and again
        "urllib3": logging.ERROR,
    }
)
"""Least level of a library's lines that are written; most log routine events at `info`."""

MAX_TEXT_CHARS: Final = 16_384
"""A longer text in a log line is cut: it may contain a whole page."""

REPEAT_INTERVAL_SECONDS: Final = 30.0
"""How long a library's line is not written again after it was."""
MAX_REMEMBERED_LINES: Final = 500
"""Different lines that are remembered for that."""

_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:password|passwd|secret|token|authorization|cookie|credentials|api[_-]?key|private[_-]?key)$",
    re.IGNORECASE,
)
_MAX_DEPTH = 12
_WORD_SECRET_CHARS = 4
"""A shorter secret is removed where it stands as a whole word: it is a part of too many others."""


def configure_logs(
    service: str,
    *,
    stream: TextIO,
    level: str = "info",
    console: bool = False,
    colors: bool = False,
    secrets: Iterable[str] = (),
    capture: LogCapture | None = None,
) -> None:
    """Set up structlog and `logging` for the whole process; a further call replaces what was set."""
    severity = logging.getLevelNamesMapping()[level.upper()]
    chain = _processors(service, console=console, colors=colors, secrets=secrets, capture=capture)
    lines = _LineWriter(stream)
    structlog.configure(
        processors=chain,
        wrapper_class=structlog.make_filtering_bound_logger(severity),
        logger_factory=lambda *names: _LineLogger(lines, names[0] if names else ""),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers = [_StdlibHandler(chain, lines)]
    root.setLevel(severity)
    for name, least in QUIET_LIBRARIES.items():
        logging.getLogger(name).setLevel(max(least, severity))
    logging.captureWarnings(capture=True)


def _processors(
    service: str, *, console: bool, colors: bool, secrets: Iterable[str], capture: LogCapture | None
) -> list[Any]:
    def add_identity(component: Any, _method: str, event: LogFields) -> LogFields:
        event["service"] = service
        event.setdefault("logger", component.name)
        if trace_id := current_trace_id():
            event.setdefault("trace_id", trace_id)
        return event

    def hand_over(_logger: Any, _method: str, event: LogFields) -> LogFields:
        if capture is not None and "job_id" in event:
            capture(dict(event))
        return event

    frames = ExceptionDictTransformer(show_locals=False, max_frames=20)
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
        add_identity,
        structlog.processors.format_exc_info if console else structlog.processors.ExceptionRenderer(frames),
        SecretScrubber(secrets),
        hand_over,
        *(_console_processors(colors=colors) if console else [_as_json]),
    ]


def _as_json(_logger: Any, _method: str, event: LogFields) -> str:
    return json.dumps(event, default=repr)


def _console_processors(*, colors: bool) -> list[Any]:
    def defuse(_logger: Any, _method: str, event: LogFields) -> LogFields:
        # A page may carry terminal commands in its URL: they are shown, not executed.
        return {k: escape_controls(v) if isinstance(v, str) else v for k, v in event.items()}

    renderer = structlog.dev.ConsoleRenderer(
        colors=colors, timestamp_key="ts", exception_formatter=structlog.dev.plain_traceback
    )
    return [defuse, renderer]


class SecretScrubber:
    """Removes secrets from a line: by field name, by value, and from addresses."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = sorted({text for text in secrets if text}, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(_secret_pattern, known))) if known else None

    def __call__(self, _logger: Any, _method: str, event: LogFields) -> LogFields:
        return {name: self._value(name, value, 0) for name, value in event.items()}

    def _value(self, name: str, value: Any, depth: int) -> Any:
        if _SECRET_NAME.search(name):
            return "***"
        if isinstance(value, str):
            return self.scrub(value)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        return self._nested(value, depth)

    def _nested(self, value: Any, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            return "…"
        if isinstance(value, Mapping):
            return {str(key): self._value(str(key), inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self._value("", inner, depth + 1) for inner in value]
        return self.scrub(str(value) if isinstance(value, BaseException) else repr(value))

    def scrub(self, text: str) -> str:
        """Return a text without secrets, cut where it is too long."""
        if len(text) > MAX_TEXT_CHARS:
            text = f"{text[:MAX_TEXT_CHARS]}… ({len(text)} characters)"
        if self._secrets is not None:
            text = self._secrets.sub("***", text)
        return hide_password(text) if "://" in text and "@" in text else text


def _secret_pattern(secret: str) -> str:
    exact = re.escape(secret)
    return exact if len(secret) >= _WORD_SECRET_CHARS else rf"(?<!\w){exact}(?!\w)"


class _LineWriter:
    """Writes whole lines, one at a time."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, line: str) -> None:
        with self._lock:
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (OSError, ValueError):  # the reader of our pipe has gone, or the stream is closed
                return


class _LineLogger:
    """A logger in structlog's sense: a name, and where its lines go."""

    def __init__(self, lines: _LineWriter, name: str) -> None:
        self.name = name
        self.msg = lines.write

    @property
    def debug(self) -> Callable[[str], None]:
        """Write a line; the level stands in it."""
        return self.msg

    info = warning = error = critical = debug


class _RepeatFilter:
    """Lets one of many equal lines through: a client logs ten times a second that its broker is gone."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int, str], tuple[float, int]] = {}

    def count_suppressed(self, record: logging.LogRecord) -> int | None:
        """Return how many were suppressed since the last one that passed; None: suppress this one too."""
        key = (record.name, record.levelno, str(record.msg))
        since, left_out = self._seen.get(key, (float("-inf"), 0))
        if record.created - since < REPEAT_INTERVAL_SECONDS:
            self._seen[key] = (since, left_out + 1)
            return None
        if len(self._seen) >= MAX_REMEMBERED_LINES:
            self._seen.clear()
        self._seen[key] = (record.created, 0)
        return left_out


class _StdlibHandler(logging.Handler):
    """Sends the lines of libraries that use `logging` through the same processors."""

    def __init__(self, chain: list[Any], lines: _LineWriter) -> None:
        super().__init__()
        self._chain = chain
        self._lines = lines
        self._repeats = _RepeatFilter()

    def emit(self, record: logging.LogRecord) -> None:
        repeated = self._repeats.count_suppressed(record)
        if repeated is None:
            return
        method = record.levelname.lower()
        event: Any = {"event": record.getMessage()}
        if repeated:
            event["repeated"] = repeated
        if record.exc_info and record.exc_info[0]:
            event["exc_info"] = record.exc_info
        for processor in self._chain:
            event = processor(_LineLogger(self._lines, record.name), method, event)
        self._lines.write(event)
