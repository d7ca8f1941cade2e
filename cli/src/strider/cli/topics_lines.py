"""Messages as lines of JSON, and the words by which a person says which ones."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any, Final

from strider.contracts import Topic
from strider.messaging.topics.tail import TailedMessage

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_AGO: Final = re.compile(r"(\d{1,9})([smhd])")
_MILLISECONDS: Final = re.compile(r"\d{12,14}")


_BEGINNING: Final = datetime.fromtimestamp(0, UTC)
"""Brokers know no earlier moment."""


def render_line(line: TailedMessage, *, encoding: str = "utf-8") -> str:
    """Write one message as JSON: its event where it has one, else its bytes and the reason.

    Text that the encoding cannot carry is escaped, as JSON escapes it: it stays JSON.
    """
    record = line.record
    shown: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "time": datetime.fromtimestamp(record.timestamp / 1000, UTC).isoformat(timespec="milliseconds"),
        "key": _plain(record.key),
        "headers": {name: _plain(value) for name, value in record.headers},
    }
    if line.reason is not None:
        shown |= {"error": line.reason, "detail": line.detail}
    shown["value"] = _plain(record.value if line.event is None else line.event.to_record())
    text = json.dumps(shown, ensure_ascii=False)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(shown)
    return text


def parse_since(text: str, now: datetime) -> datetime:
    """Read a moment: `15m`, `2h`, `1d` ago, milliseconds since 1970, or ISO 8601 (UTC without a zone).

    Raises ValueError with the whole sentence for a person.
    """
    try:
        moment = _moment(text, now)
    except (ValueError, OverflowError):
        raise ValueError(
            f"--since {text!r} is no moment: say 15m, 2h or 1d (ago), milliseconds since 1970, "
            "or ISO 8601 like 2026-05-01T12:00Z"
        ) from None
    return max(moment, _BEGINNING)


def _moment(text: str, now: datetime) -> datetime:
    if match := _AGO.fullmatch(text):
        return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
    if _MILLISECONDS.fullmatch(text):
        return datetime.fromtimestamp(int(text) / 1000, UTC)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def parse_where(conditions: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read conditions, each `field=value`; raises ValueError for one without a field."""
    pairs = [condition.partition("=") for condition in conditions]
    if wrong := [field + sign + value for field, sign, value in pairs if not field or not sign]:
        raise ValueError(f"--where {wrong[0]!r} is not field=value")
    return tuple((field.strip(), value) for field, _, value in pairs)


def check_where(where: Sequence[tuple[str, str]], name: str, topic: Topic[Any] | None) -> None:
    """Raise ValueError for a field that no event of the topic has: it would never match anything."""
    if where and topic is None:
        raise ValueError(f"--where {where[0][0]}: {name} is not declared, so its fields are not known")
    known = [each.name for each in fields(topic.value)] if topic else []
    for path, _ in where:
        field = path.partition(".")[0]
        if field not in known:
            near = get_close_matches(field, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
            raise ValueError(f"--where {path}: {name} has no field {field}; {hint}")


def _plain(value: Any) -> Any:
    """Turn bytes into text where they are text, and into base64, marked as such, where not."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
