"""History of a URL in order of time, as text and as JSON. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from strider.cli.output import json_text, time_text

from .facts import UrlFact
from .lookup import LookupResult
from .subject import UrlSubject

_WIDTH: Final = 110
_INDENT: Final = " " * 21
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def timeline_text(subject: UrlSubject, result: LookupResult) -> str:
    """Return the history as lines for people."""
    lines = [subject.url, f"key {subject.key}", ""] if subject.key else [subject.refusal, ""]
    own = [fact for fact in result.facts if fact.kind != "host"]
    about_host = [fact for fact in result.facts if fact.kind == "host"]
    if not own:
        lines.append("no source could be read" if result.has_no_source else "nothing is known of this URL")
    lines += [_fact_line(fact) for fact in in_time_order(own)]
    if about_host:
        lines += ["", f"about {subject.host}:", *(_fact_line(fact) for fact in in_time_order(about_host))]
    return "\n".join(lines)


def timeline_json(subject: UrlSubject, result: LookupResult) -> str:
    """Return the history as one JSON object."""
    return json_text(
        {
            "url": subject.url,
            "url_key": subject.key,
            "host": subject.host,
            "known": result.has_url_facts,
            "facts": [_fact_json(fact) for fact in in_time_order(result.facts)],
            "not_read": list(result.unavailable),
        },
        default=_json_value,
        ascii_only=False,
    )


def in_time_order(facts: Sequence[UrlFact]) -> list[UrlFact]:
    """Return facts by time, those without one first."""
    return sorted(facts, key=lambda fact: fact.at or _EPOCH)


def _fact_line(fact: UrlFact) -> str:
    names = (fact.job_id, f"run {fact.execution_id}" if fact.execution_id else "")
    run = f" [{', '.join(filter(None, names))}]" if fact.job_id else ""
    text = f"{time_text(fact.at):<19}  {fact.reported_by} {fact.text}{run}"
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False
    )


def _fact_json(fact: UrlFact) -> dict[str, Any]:
    return {
        "at": fact.at,
        "by": fact.reported_by,
        "text": fact.text,
        "kind": fact.kind,
        "job_id": fact.job_id,
        "execution_id": fact.execution_id,
        "details": fact.details,
    }


def _json_value(value: Any) -> Any:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
