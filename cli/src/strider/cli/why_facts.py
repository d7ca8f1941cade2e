"""What is known of a URL, as facts: one for each row, record or line.

Turns what was read into sentences; reads nothing itself. What a word means is said in the sentence
that the contracts declare for it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any, Final

from strider.contracts.generated.enums import (
    BlockReason,
    DeadLetterReason,
    Decision,
    DecisionReason,
    EntryReason,
    EntryState,
    ErrorClass,
    FetchOutcome,
    HostRecordKind,
    RobotsState,
)
from strider.contracts.generated.events import DeadLetter, EntryRecorded, HostRecorded
from strider.contracts.seed_limits import SEED_RANGES
from strider.scheduler.core.runs.control import FOREVER_MS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is known."""

    at: datetime | None
    """When it was so; None where that is not known."""
    by: str
    """Who says so."""
    says: str
    """A sentence or two."""
    kind: str
    """Where it was found: page, decision, failure, dead_letter, frontier, host, output."""
    job_id: str = ""
    execution_id: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Everything that was read, for machines."""


def page_fact(row: Mapping[str, Any]) -> Fact:
    """Tell of a stored page."""
    parts = [f"status {row['status_code']}", row["content_type"], f"depth {row['depth']}"]
    parts += [f"{row['text_length']} characters", f"{row['links_count']} links"]
    title = f", titled {row['title']!r}" if row["title"] else ""
    since = row["first_crawled_at"]
    before = f"; known since {moment_text(since)}" if since != row["crawled_at"] else ""
    found = f"; found on {row['referrer']}" if row["referrer"] else ""
    says = f"stored it as {row['validation_status']}{title} ({', '.join(filter(None, parts))}){found}{before}"
    return _of_row("page", row, by="indexer", at=row["crawled_at"], says=says)


def decision_fact(row: Mapping[str, Any]) -> Fact:
    """Tell of a decision."""
    says = f"{_DECIDED.get(row['decision'], row['decision'])}: {row['reason']}."
    says += _meaning(DecisionReason, row["reason"])
    says += _also("detail", row["detail"]) + _meaning(ErrorClass, row["detail"])
    says += _also("status", row["status_code"])
    says += _also("redirects to", row["redirect_target"]) + _also("found on", row["page_url"])
    return _of_row("decision", row, by=row["decided_by"], at=row["decided_at"], says=says)


def failure_fact(row: Mapping[str, Any]) -> Fact:
    """Tell of a request that brought no page."""
    about = "its robots.txt" if row["kind"] == "robots" else "it"
    says = f"asked for {about} in vain, try {row['try_number']}: {row['outcome']}."
    says += _meaning(FetchOutcome, row["outcome"])
    error = ": ".join(part for part in (row["error_class"], row["error_message"]) if part)
    says += _also("error", error) + _also("status", row["status_code"])
    return _of_row("failure", row, by="fetcher", at=row["failed_at"], says=says)


def letter_fact(row: Mapping[str, Any]) -> Fact:
    """Tell of a message that was given up."""
    says = f"could not handle its message: {row['reason']}." + _meaning(DeadLetterReason, row["reason"])
    says += _also("error", ": ".join(part for part in (row["type"], row["message"]) if part))
    says += f" ({row['topic']}[{row['partition']}]@{row['offset']})"
    job = str(row["task_id"]).rpartition("/")[0]
    return Fact(row["occurred_at"], row["service"], says, "dead_letter", job, row["execution_id"], dict(row))


def lost_seed_fact(letter: DeadLetter) -> Fact:
    """Tell of a seed that could not be read; its bytes are in the dead letter."""
    says = f"could not read it as a seed: {letter.reason}." + _meaning(DeadLetterReason, letter.reason)
    says += _also("error", letter.error_message.removeprefix(f"{letter.reason}: "))
    says += f" ({letter.topic}[{letter.partition}]@{letter.offset})"
    details = {**letter.to_record(), "value": _shown(letter.value), "key": _shown(letter.key)}
    return Fact(moment(letter.occurred_at_ms), letter.service, says, "dead_letter", details=details)


def entry_fact(entry: EntryRecorded) -> Fact:
    """Tell where the frontier has it."""
    says = f"has it as {entry.state}" + (f", {entry.reason}" if entry.reason else "") + "."
    says += _meaning(EntryState, entry.state) + _meaning(EntryReason, entry.reason)
    says += _also("tries that failed", entry.tries) + _also("error", entry.error_class)
    says += _also("redirects to", entry.redirect_target)
    if entry.state == EntryState.PENDING and entry.due_at_ms:
        says += _also("not before", moment_text(moment(entry.due_at_ms)))
    return Fact(
        moment(entry.updated_at_ms),
        "scheduler",
        says,
        "frontier",
        entry.job_id,
        entry.execution_id,
        entry.to_record(),
    )


def host_fact(host: HostRecorded, *, now_ms: int = 0) -> Fact:
    """Tell how its host, or its origin's robots.txt, stands; what is over by now is told as such."""
    says = _robots_says(host) if host.kind == HostRecordKind.ROBOTS else _group_says(host, now_ms)
    return Fact(moment(host.updated_at_ms), "scheduler", says, "host", details=host.to_record())


def line_fact(line: Mapping[str, Any]) -> Fact:
    """Tell of a line in the output of a crawl."""
    outcome, reason = str(line.get("outcome") or "?"), str(line.get("reason") or "")
    says = f"says {outcome}" + (f": {reason}." if reason else ".") + _meaning(DecisionReason, reason)
    says += _also("status", line.get("status")) + _also("title", line.get("title"))
    final = line.get("final_url")
    says += _also("redirects to", final if final != line.get("url") else "")
    says += _also("found on", line.get("referrer"))
    return Fact(_read_moment(line.get("fetched_at")), "the crawl", says, "output", details=dict(line))


def moment(milliseconds: int) -> datetime | None:
    """Turn milliseconds since 1970 into a moment; what is not known is 0, or beyond all years."""
    if not 0 < milliseconds <= SEED_RANGES["submitted_at_ms"][1]:
        return None
    return _EPOCH + timedelta(milliseconds=milliseconds)


def moment_text(at: datetime | None) -> str:
    """Write a moment for people."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}" if at is not None else "?"


def _of_row(kind: str, row: Mapping[str, Any], *, by: str, at: datetime, says: str) -> Fact:
    return Fact(at, by, says, kind, row["job_id"], row["execution_id"], dict(row))


def _shown(value: bytes | None) -> str | None:
    return value.decode("utf-8", "backslashreplace") if value is not None else None


def _robots_says(host: HostRecorded) -> str:
    rests = _meaning(RobotsState, host.robots_state)
    rests = f" What it allows rests{rests.replace(' On', ' on', 1)}" if rests.startswith(" On ") else rests
    says = f"robots.txt of {host.origin}: {host.robots_state}.{rests}"
    asked = moment(host.robots_asked_at_ms)
    says += _also("status", host.robots_status)
    return says + (_also("asked", moment_text(asked)) if asked else "")


def _group_says(host: HostRecorded, now_ms: int) -> str:
    says = f"requests to {host.group} keep {host.delay_seconds:g} s apart, breaker {host.breaker}."
    if host.block_reason:
        blocked = "Blocked" if host.blocked_until_ms > now_ms else "Was blocked"
        says += f" {blocked} until {moment_text(moment(host.blocked_until_ms))}: {host.block_reason}."
        says += _meaning(BlockReason, host.block_reason)
    return says + ("" if host.is_active else _bar_says(host, now_ms))


def _bar_says(host: HostRecorded, now_ms: int) -> str:
    is_for_ever = not host.barred_until_ms or host.barred_until_ms >= FOREVER_MS
    until = "it is unblocked" if is_for_ever else moment_text(moment(host.barred_until_ms))
    left = "Left" if is_for_ever or host.barred_until_ms > now_ms else "Was left"
    return (
        f" {left} alone until {until}."
        + _also("wished by", host.blocked_by)
        + _also("why", host.block_detail)
    )


def _also(name: str, value: object) -> str:
    end = "" if str(value).endswith((".", "?", "!")) else "."
    return f" {name[0].upper()}{name[1:]}: {value}{end}" if value else ""


def reason_text(reason: str) -> str:
    """Say what a reason for a decision means; empty for one that nobody here knows."""
    return _meaning(DecisionReason, reason).strip()


def _meaning(words: type[StrEnum], word: str) -> str:
    meaning = _meanings(words).get(word, "")
    return f" {meaning}" if meaning else ""


@cache
def _meanings(words: type[StrEnum]) -> Mapping[str, str]:
    """Read what each word means from where it is declared: the sentence beneath it."""
    body = ast.parse(inspect.getsource(words)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for said, meant in zip(body.body, body.body[1:], strict=False):
        match said, meant:
            case ast.Assign(value=ast.Constant(value=word)), ast.Expr(value=ast.Constant(value=sentence)):
                found[str(word)] = " ".join(str(sentence).split())
    return found


def _read_moment(text: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


_DECIDED: Final[Mapping[str, str]] = {
    Decision.REFUSED: "refused it",
    Decision.CLOSED: "closed it without a page",
    Decision.NOT_STORED: "did not keep its page",
}
