"""Kafka messages as JSON lines, and the options that select them."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from strider.contracts import TOPICS, Topic
from strider.messaging.topics.tail import TailedMessage

from .arguments import closest
from .output import json_text

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_AGO: Final = re.compile(r"(\d{1,9})([smhd])")
_MILLISECONDS: Final = re.compile(r"\d{12,14}")

_BEGINNING: Final = datetime.fromtimestamp(0, UTC)
"""Earliest time that a broker accepts."""


def message_json(message: TailedMessage, *, encoding: str = "utf-8") -> str:
    """Return one message as JSON: its event where it could be decoded, else its bytes and the reason.

    Characters that the encoding does not have are escaped, as JSON escapes them.
    """
    record = message.record
    shown: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "time": datetime.fromtimestamp(record.timestamp / 1000, UTC).isoformat(timespec="milliseconds"),
        "key": _json_value(record.key),
        "headers": {name: _json_value(value) for name, value in record.headers},
    }
    if message.reason is not None:
        shown |= {"error": message.reason, "detail": message.detail}
    shown["value"] = _json_value(record.value if message.event is None else message.event.to_record())
    text = json_text(shown, ascii_only=False)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json_text(shown)
    return text


def parse_since(text: str, now: datetime) -> datetime:
    """Parse a time: `15m`, `2h`, `1d` ago, milliseconds since 1970, or ISO 8601 (UTC without a zone).

    Raises ValueError with one sentence.
    """
    try:
        moment = _parse_moment(text, now)
    except (ValueError, OverflowError):
        raise ValueError(
            f"--since {text!r} is not a time: expected 15m, 2h or 1d (ago), milliseconds since 1970, "
            "or ISO 8601 such as 2026-05-01T12:00Z"
        ) from None
    return max(moment, _BEGINNING)


def _parse_moment(text: str, now: datetime) -> datetime:
    if match := _AGO.fullmatch(text):
        return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
    if _MILLISECONDS.fullmatch(text):
        return datetime.fromtimestamp(int(text) / 1000, UTC)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def parse_where(conditions: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parse conditions `field=value`; raises ValueError for one without a field."""
    pairs = [condition.partition("=") for condition in conditions]
    if wrong := [field + sign + value for field, sign, value in pairs if not field or not sign]:
        raise ValueError(f"--where {wrong[0]!r} is not field=value")
    return tuple((field.strip(), value) for field, _, value in pairs)


def check_conditions(where: Sequence[tuple[str, str]], name: str, topic: Topic[Any] | None) -> None:
    """Raise ValueError for a field that events of the topic do not have: it would match nothing."""
    if where and topic is None:
        raise ValueError(
            f"--where {where[0][0]}: {name} is not declared, so its fields are unknown{_encoding_hint(name)}"
        )
    known = [each.name for each in fields(topic.value)] if topic else []
    for path, _ in where:
        field = path.partition(".")[0]
        if field not in known:
            near = closest(field, known)
            hint = f"did you mean {near}?" if near else f"there are: {', '.join(known)}"
            raise ValueError(f"--where {path}: {name} has no field {field}; {hint}")


def _encoding_hint(name: str) -> str:
    near = closest(name, TOPICS)
    return f"; did you mean {near}?" if near else ""


def _json_value(value: Any) -> Any:
    """Return bytes as text where they are UTF-8, else as an object with their base64."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {name: _json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return value
