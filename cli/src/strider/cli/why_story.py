"""The story of a URL, for people and for machines: facts in order of time."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from strider.contracts.generated.enums import DecisionReason
from strider.urls import (
    RefusedUrl,
    escape_unstorable,
    host_of,
    origin_of,
    registrable_domain,
    to_wire_url,
    url_hash,
    url_key_of,
)

from .why_asking import Answers
from .why_facts import Fact, moment_text, reason_text

_WIDTH: Final = 110
_INDENT: Final = " " * 21
_TOLD_CHARACTERS: Final = 200
"""Of a text that is no URL."""
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Subject:
    """The URL that is asked about, as the crawler knows it."""

    url: str
    """As it would be fetched; as it is written, where it would not be."""
    key: str = ""
    """Empty where no crawler takes it; so are the others."""
    origin: str = ""
    host: str = ""
    domain: str = ""
    refusal: str = ""
    """Why no crawler takes it, in a sentence."""
    text: str = ""
    """As it is written: what is looked for where there are no keys."""


def subject_of(text: str) -> Subject:
    """Read a URL as the crawler reads it, and say why where it would refuse it."""
    typed = text.strip()
    shown, found = escape_unstorable(typed), to_wire_url(typed)
    if isinstance(found, RefusedUrl):
        return Subject(shown, refusal=_refusal(found, shown), text=shown)
    name = host_of(found)
    key = url_hash(url_key_of(found))
    return Subject(found, key, origin_of(found), name, registrable_domain(name), text=shown)


def tell(subject: Subject, answers: Answers) -> str:
    """Tell the story."""
    lines = [subject.url, f"key {subject.key}", ""] if subject.key else [subject.refusal, ""]
    own = [fact for fact in answers.facts if fact.kind != "host"]
    about_host = [fact for fact in answers.facts if fact.kind == "host"]
    if not own:
        asked = "nobody could be asked" if answers.is_nobody_asked else "nothing is known of this URL"
        lines.append(asked)
    lines += [_line(fact) for fact in in_order(own)]
    if about_host:
        lines += ["", f"and of {subject.host}:", *(_line(fact) for fact in in_order(about_host))]
    return "\n".join(lines)


def as_json(subject: Subject, answers: Answers) -> str:
    """Tell the same as one JSON object."""
    return json.dumps(
        {
            "url": subject.url,
            "url_key": subject.key,
            "host": subject.host,
            "known": answers.is_anything_known,
            "facts": [_object(fact) for fact in in_order(answers.facts)],
            "not_asked": list(answers.silent),
        },
        default=_plain,
        ensure_ascii=False,
    )


def in_order(facts: Sequence[Fact]) -> list[Fact]:
    """Order facts by time; those without one first."""
    return sorted(facts, key=lambda fact: fact.at or _LONG_AGO)


def _refusal(refused: RefusedUrl, text: str) -> str:
    says = f"{_shortened(text)!r} is no URL that a crawler takes: {refused.reason}"
    if refused.reason != DecisionReason.BAD_URL:
        return f"{says}. {reason_text(refused.reason)}"
    guess = to_wire_url(f"https://{text}") if "://" not in text else refused
    return says if isinstance(guess, RefusedUrl) else f"{says}; did you mean {guess}?"


def _shortened(text: str) -> str:
    return text if len(text) <= _TOLD_CHARACTERS else f"{text[:_TOLD_CHARACTERS]}…"


def _line(fact: Fact) -> str:
    names = (fact.job_id, f"run {fact.execution_id}" if fact.execution_id else "")
    run = f" [{', '.join(filter(None, names))}]" if fact.job_id else ""
    text = f"{moment_text(fact.at):<19}  {fact.by} {fact.says}{run}"
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False
    )


def _object(fact: Fact) -> dict[str, Any]:
    return {
        "at": fact.at,
        "by": fact.by,
        "says": fact.says,
        "kind": fact.kind,
        "job_id": fact.job_id,
        "execution_id": fact.execution_id,
        "details": fact.details,
    }


def _plain(value: Any) -> Any:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
