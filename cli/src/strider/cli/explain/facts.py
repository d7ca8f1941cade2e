"""Facts about a URL: one for each row, record or line of `strider crawl`, with a sentence.

Pure. The meaning of a word is the sentence that the contracts declare for it.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from strider.cli.crawl.csv_cells import read_rows
from strider.cli.output import counted
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
from strider.contracts.generated.events import CrawlSpecDeclared, DeadLetter, EntryRecorded, HostRecorded
from strider.contracts.seed_limits import SEED_RANGES
from strider.crawl.runs.control import FOREVER_MS
from strider.frontier.redis.inspection import HostGroupSnapshot
from strider.urls import RefusedUrl, to_wire_url, url_hash, url_key_of

MAX_NAMED_SPECS: Final = 3
"""Crawl specs that one sentence names."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_DECISION_TEXTS: Final[Mapping[str, str]] = {
    Decision.REFUSED: "refused it",
    Decision.CLOSED: "closed it without a page",
    Decision.NOT_STORED: "did not store its page",
}


@dataclass(frozen=True, slots=True)
class UrlFact:
    """One thing that is known of a URL."""

    at: datetime | None
    """Time of the event; None where it is unknown."""
    reported_by: str
    """Service that reported it."""
    text: str
    """A sentence or two, with the service as their subject."""
    kind: str
    """Kind of source: page, decision, failure, dead_letter, frontier, host, output."""
    job_id: str = ""
    execution_id: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """All fields of the row, record or line."""


def page_fact(row: Mapping[str, Any]) -> UrlFact:
    """Return the fact of a stored page."""
    parts = [f"status {row['status_code']}", row["content_type"], f"depth {row['depth']}"]
    parts += [counted(row["text_length"], "character"), counted(row["links_count"], "link")]
    title = f", titled {row['title']!r}" if row["title"] else ""
    since = row["first_crawled_at"]
    before = f"; known since {time_text(since)}" if since != row["crawled_at"] else ""
    found = f"; found on {row['referrer']}" if row["referrer"] else ""
    status = f"validation status {row['validation_status']}"
    text = f"stored it, {status}{title} ({', '.join(filter(None, parts))}){found}{before}"
    return _row_fact("page", row, by="indexer", at=row["crawled_at"], text=text)


def decision_fact(row: Mapping[str, Any]) -> UrlFact:
    """Return the fact of a decision."""
    text = f"{_DECISION_TEXTS.get(row['decision'], row['decision'])}: {row['reason']}."
    text += _meaning_text(DecisionReason, row["reason"])
    text += _labelled("detail", row["detail"]) + _meaning_text(ErrorClass, row["detail"])
    text += _labelled("status", row["status_code"])
    text += _labelled("redirects to", row["redirect_target"]) + _labelled("found on", row["page_url"])
    return _row_fact("decision", row, by=row["decided_by"], at=row["decided_at"], text=text)


def failure_fact(row: Mapping[str, Any]) -> UrlFact:
    """Return the fact of a request without a page."""
    about = "its robots.txt" if row["kind"] == "robots" else "it"
    text = f"failed to fetch {about}, try {row['try_number']}: {row['outcome']}."
    text += _meaning_text(FetchOutcome, row["outcome"])
    error = ": ".join(part for part in (row["error_class"], row["error_message"]) if part)
    text += _labelled("error", error) + _labelled("status", row["status_code"])
    return _row_fact("failure", row, by="fetcher", at=row["failed_at"], text=text)


def dead_letter_fact(row: Mapping[str, Any]) -> UrlFact:
    """Return the fact of a message in a dead-letter topic."""
    text = f"could not handle its message: {row['reason']}." + _meaning_text(DeadLetterReason, row["reason"])
    text += _labelled("error", ": ".join(part for part in (row["type"], row["message"]) if part))
    text += f" ({row['topic']}[{row['partition']}]@{row['offset']})"
    job = str(row["task_id"]).rpartition("/")[0]
    return UrlFact(
        row["occurred_at"], row["service"], text, "dead_letter", job, row["execution_id"], dict(row)
    )


def lost_seed_fact(letter: DeadLetter) -> UrlFact:
    """Return the fact of a seed that could not be decoded; its bytes are in the dead letter."""
    text = f"could not decode it as a seed: {letter.reason}." + _meaning_text(DeadLetterReason, letter.reason)
    text += _labelled("error", letter.error_message.removeprefix(f"{letter.reason}: "))
    text += f" ({letter.topic}[{letter.partition}]@{letter.offset})"
    details = {**letter.to_record(), "value": _bytes_text(letter.value), "key": _bytes_text(letter.key)}
    return UrlFact(time_of_ms(letter.occurred_at_ms), letter.service, text, "dead_letter", details=details)


def entry_fact(entry: EntryRecorded) -> UrlFact:
    """Return the fact of a frontier entry."""
    text = (
        f"has its entry in the state {entry.state}"
        + (f", reason {entry.reason}" if entry.reason else "")
        + "."
    )
    text += _meaning_text(EntryState, entry.state) + _meaning_text(EntryReason, entry.reason)
    text += _labelled("tries that failed", entry.tries) + _labelled("error", entry.error_class)
    text += _labelled("redirects to", entry.redirect_target)
    if entry.state == EntryState.PENDING and entry.due_at_ms:
        text += _labelled("not before", time_text(time_of_ms(entry.due_at_ms)))
    return UrlFact(
        time_of_ms(entry.updated_at_ms),
        "scheduler",
        text,
        "frontier",
        entry.job_id,
        entry.execution_id,
        entry.to_record(),
    )


def delay_text(live: HostGroupSnapshot, specs: Mapping[str, CrawlSpecDeclared]) -> str:
    """Return the delay of a host group, with the crawl specs of its open entries that set it."""
    text = f"{live.delay_ms / 1000:g} s between requests{_setters_text(live, specs, live.delay_ms)}"
    if live.raw_delay_ms <= live.delay_ms:
        return text
    text += f"; {live.raw_delay_ms / 1000:g} s between those of some raw seeds"
    return text + _setters_text(live, specs, live.raw_delay_ms)


def _setters_text(live: HostGroupSnapshot, specs: Mapping[str, CrawlSpecDeclared], delay_ms: int) -> str:
    """Return which crawl specs of open entries set a delay; empty where none does."""
    entries = sum(count for pace, count in live.open_paces if pace.delay_ms == delay_ms)
    names = [name for name in live.crawl_spec_ids if _delay_ms(specs.get(name)) == delay_ms]
    if not entries or not names:
        return ""
    setters = ", ".join(names[:MAX_NAMED_SPECS]) + (" and others" if len(names) > MAX_NAMED_SPECS else "")
    return f", set by crawl spec {setters} ({entries} open entries)"


def _delay_ms(spec: CrawlSpecDeclared | None) -> int:
    return -1 if spec is None or spec.delay_seconds is None else round(spec.delay_seconds * 1000)


def host_fact(host: HostRecorded, *, now_ms: int = 0) -> UrlFact:
    """Return the state of the host, or of the origin's robots.txt; what has ended is in the past tense."""
    text = _robots_text(host) if host.kind == HostRecordKind.ROBOTS else _group_text(host, now_ms)
    return UrlFact(time_of_ms(host.updated_at_ms), "scheduler", text, "host", details=host.to_record())


def output_fact(line: Mapping[str, Any]) -> UrlFact:
    """Return the fact of a line in the output of a crawl."""
    outcome, reason = str(line.get("outcome") or "?"), str(line.get("reason") or "")
    text = f"reports {outcome}" + (f": {reason}." if reason else ".") + _meaning_text(DecisionReason, reason)
    text += _labelled("detail", line.get("detail"))
    text += _labelled("status", line.get("status")) + _labelled("title", line.get("title"))
    final = line.get("final_url")
    text += _labelled("redirects to", final if final != line.get("url") else "")
    text += _labelled("found on", line.get("referrer"))
    return UrlFact(_parse_time(line.get("fetched_at")), "the crawl", text, "output", details=dict(line))


def time_of_ms(milliseconds: int) -> datetime | None:
    """Return the time of milliseconds since 1970; None for 0, or for a value beyond the year 9999."""
    if not 0 < milliseconds <= SEED_RANGES["submitted_at_ms"][1]:
        return None
    return _EPOCH + timedelta(milliseconds=milliseconds)


def time_text(at: datetime | None) -> str:
    """Return a time as text, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}" if at is not None else "?"


def _row_fact(kind: str, row: Mapping[str, Any], *, by: str, at: datetime, text: str) -> UrlFact:
    return UrlFact(at, by, text, kind, row["job_id"], row["execution_id"], dict(row))


def _bytes_text(value: bytes | None) -> str | None:
    return value.decode("utf-8", "backslashreplace") if value is not None else None


def _robots_text(host: HostRecorded) -> str:
    text = f"robots.txt of {host.origin}: {host.robots_state}." + _meaning_text(
        RobotsState, host.robots_state
    )
    text += _labelled("status", host.robots_status)
    if not host.unreachable_since_ms:
        return text + _labelled_time("fetched", host.robots_asked_at_ms)
    text += _labelled("error", host.last_error_class) + _meaning_text(ErrorClass, host.last_error_class)
    text += _labelled_time("fetched", host.robots_fetched_at_ms)
    text += _labelled_time("last requested", host.robots_asked_at_ms)
    text += _labelled_time("unreachable since", host.unreachable_since_ms)
    return text + _labelled_time("requested again not before", host.robots_expires_at_ms)


def _group_text(host: HostRecorded, now_ms: int) -> str:
    text = f"{host.group}: crawl delay {host.delay_seconds:g} s, circuit breaker {host.breaker}."
    if host.block_reason:
        blocked = "Blocked" if host.blocked_until_ms > now_ms else "Was blocked"
        text += f" {blocked} until {time_text(time_of_ms(host.blocked_until_ms))}: {host.block_reason}."
        text += _meaning_text(BlockReason, host.block_reason)
    return text + ("" if host.is_active else _manual_block_text(host, now_ms))


def _manual_block_text(host: HostRecorded, now_ms: int) -> str:
    is_for_ever = not host.barred_until_ms or host.barred_until_ms >= FOREVER_MS
    until = "it is unblocked" if is_for_ever else time_text(time_of_ms(host.barred_until_ms))
    blocked = "Manually blocked" if is_for_ever or host.barred_until_ms > now_ms else "Was manually blocked"
    return (
        f" {blocked} until {until}."
        + _labelled("blocked by", host.blocked_by)
        + _labelled("reason", host.block_detail)
    )


def _labelled(name: str, value: object) -> str:
    end = "" if str(value).endswith((".", "?", "!")) else "."
    return f" {name[0].upper()}{name[1:]}: {value}{end}" if value else ""


def _labelled_time(name: str, at_ms: int) -> str:
    at = time_of_ms(at_ms)
    return _labelled(name, time_text(at) if at is not None else "")


def reason_text(reason: str) -> str:
    """Return the meaning of a decision reason; empty for an unknown one."""
    return _meaning_text(DecisionReason, reason).strip()


def _meaning_text(words: type[StrEnum], word: str) -> str:
    meaning = _enum_meanings(words).get(word, "")
    return f" {meaning}" if meaning else ""


@cache
def _enum_meanings(words: type[StrEnum]) -> Mapping[str, str]:
    """Return the meaning of each word: the sentence beneath it in the generated enumeration."""
    body = ast.parse(inspect.getsource(words)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for assignment, docstring in zip(body.body, body.body[1:], strict=False):
        match assignment, docstring:
            case ast.Assign(value=ast.Constant(value=word)), ast.Expr(value=ast.Constant(value=sentence)):
                found[str(word)] = " ".join(str(sentence).split())
    return found


def _parse_time(text: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def read_output_facts(path: Path, key: str, text: str) -> list[UrlFact]:
    """Return facts from the lines about a URL, and from those that redirect to it.

    A text without a key is found as it is written. Raises OSError and ValueError.
    """
    with path.open(encoding="utf-8", newline="") as file:
        lines = read_rows(file) if path.suffix == ".csv" else _json_lines(file)
        return [output_fact(line) for line in lines if _is_about(line, key, text)]


def _json_lines(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Parse one object per line; an incomplete last line is ignored."""
    broken = 0
    for number, text in enumerate(lines, start=1):
        if broken:
            raise ValueError(f"line {broken} is not a JSON object")
        try:
            line = json.loads(text)
        except ValueError:
            broken = number
            continue
        if not isinstance(line, dict):
            raise ValueError(f"line {number} is not a JSON object")  # noqa: TRY004  # of the file, not of the caller
        yield line
    if broken == 1:
        raise ValueError("not the output of a crawl: its line is not a JSON object")


def _is_about(line: Mapping[str, Any], key: str, text: str) -> bool:
    if not key:
        return bool(text) and line.get("url") == text
    return any(_key(line.get(name)) == key for name in ("url", "final_url"))


def _key(url: object) -> str:
    found = to_wire_url(url) if isinstance(url, str) else RefusedUrl("bad_url")
    return "" if isinstance(found, RefusedUrl) else url_hash(url_key_of(found))
