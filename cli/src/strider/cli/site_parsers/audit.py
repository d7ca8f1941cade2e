"""Audit a sample of stored pages: empty, impossible, repeated or changed fields.

Keys are hashes: a range of them from a random one is a sample of all pages, and reads no other rows. A field
that no page of a site has is normal for that site; it counts as changed where pages of one version, or the
newer pages, lack what the others have.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from strider.cli.connections import POSTGRES, open_postgres, require_address, run_reported
from strider.cli.exit_codes import CommandExit
from strider.cli.output import counted, json_text, print_text, table_text

MIN_PAGES: Final = 10
"""Pages of a site or version below which nothing is concluded."""
DROP_SHARE: Final = 0.25
"""Decrease of the share of pages with a field from which on it counts as changed."""
MOST_SHARE: Final = 0.9
"""Share of pages with the same value from which on it is taken from the layout."""

FIELDS: Final = ("title", "description", "language", "author", "published_at", "canonical_url", "text")

Row = Mapping[str, Any]

_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
EARLIEST_YEAR: Final = 1990
MAX_AUTHOR_CHARS: Final = 150
MAX_AHEAD: Final = timedelta(days=2)

_ORDER: Final = ("impossible", "changed", "repeated", "empty")
"""Kinds of findings, the worst first."""


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One problem of the pages of a site."""

    kind: str
    """`empty`, `impossible`, `repeated` or `changed`."""
    domain: str
    field: str
    what: str
    pages: int
    of: int
    example: str = ""


def _is_bad_date(row: Row, now: datetime) -> bool:
    text = row["published_at"]
    match = _DATE.match(text) if text else None
    if not text:
        return False
    try:
        moment = datetime.fromisoformat(match[0]).replace(tzinfo=now.tzinfo) if match else None
    except ValueError:
        return True
    return moment is None or moment.year < EARLIEST_YEAR or moment > now + MAX_AHEAD


Rule = tuple[str, str, Callable[[Row, datetime], bool]]

_RULES: Final[tuple[Rule, ...]] = (
    ("published_at", "is not a date, or in the future", _is_bad_date),
    (
        "language",
        "is not a language code",
        lambda row, _: bool(row["language"]) and not _LANGUAGE.fullmatch(row["language"]),
    ),
    (
        "text",
        "has a word count without text, or text without a word count",
        lambda row, _: bool(row["word_count"]) != bool(row["text_length"]),
    ),
    ("quality", "is greater than 1", lambda row, _: row["quality"] > 1),
    (
        "content_hash",
        "is missing, with text",
        lambda row, _: bool(row["text_length"]) and not row["content_hash"],
    ),
    ("title", "is a URL", lambda row, _: str(row["title"]).startswith(("http://", "https://"))),
    (
        "author",
        "is a URL, or too long for a name",
        lambda row, _: str(row["author"]).startswith("http") or len(row["author"]) > MAX_AUTHOR_CHARS,
    ),
    ("changed_at", "is before the first crawl", lambda row, _: row["changed_at"] < row["first_crawled_at"]),
)


def audit_pages(rows: Iterable[Row], now: datetime) -> list[AuditFinding]:
    """Return the findings of a sample, the worst first."""
    by_domain: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_domain[row["domain"]].append(row)
    found: list[AuditFinding] = []
    for domain, pages in by_domain.items():
        found += _empty(domain, pages)
        found += _impossible(domain, pages, now)
        found += _repeated(domain, pages)
        found += _changed(domain, pages)
    return sorted(
        found, key=lambda finding: (_ORDER.index(finding.kind), -finding.pages, finding.domain, finding.field)
    )


def _empty(domain: str, pages: Sequence[Row]) -> Iterator[AuditFinding]:
    for name in ("title", "text"):
        without = [row for row in pages if not row[name]]
        if without:
            yield AuditFinding("empty", domain, name, "is empty", len(without), len(pages), without[0]["url"])


def _impossible(domain: str, pages: Sequence[Row], now: datetime) -> Iterator[AuditFinding]:
    for field, what, is_wrong in _RULES:
        wrong = [row for row in pages if is_wrong(row, now)]
        if wrong:
            yield AuditFinding("impossible", domain, field, what, len(wrong), len(pages), wrong[0]["url"])


def _repeated(domain: str, pages: Sequence[Row]) -> Iterator[AuditFinding]:
    """Find values that most pages of a site share: they come from the layout, not from the page."""
    if len(pages) < MIN_PAGES:
        return
    for name in ("title", "description", "published_at", "content_hash"):
        values = Counter(row[name] for row in pages if row[name])
        value, count = values.most_common(1)[0] if values else ("", 0)
        if count >= MOST_SHARE * len(pages):
            example = next(row["url"] for row in pages if row[name] == value)
            yield AuditFinding(
                "repeated",
                domain,
                name,
                f"is {str(value)[:60]!r} on nearly all pages",
                count,
                len(pages),
                example,
            )


def _changed(domain: str, pages: Sequence[Row]) -> Iterator[AuditFinding]:
    versions: dict[str, list[Row]] = defaultdict(list)
    for row in pages:
        versions[f"{row['parser']} {row['parser_version']}"].append(row)
    ordered = sorted(versions.items(), key=lambda item: max(row["crawled_at"] for row in item[1]))
    for (before, older), (after, newer) in pairwise(ordered):
        yield from _compare(domain, older, newer, f"since {after}, with {before}")
    for version, alike in ordered:
        by_time = sorted(alike, key=lambda row: row["crawled_at"])
        half = len(by_time) // 2
        yield from _compare(domain, by_time[:half], by_time[half:], f"lately, with {version}")


def _compare(domain: str, older: Sequence[Row], newer: Sequence[Row], when: str) -> Iterator[AuditFinding]:
    if min(len(older), len(newer)) < MIN_PAGES:
        return
    for name in FIELDS:
        before, after = (sum(bool(row[name]) for row in some) / len(some) for some in (older, newer))
        if before - after >= DROP_SHARE:
            missing = [row for row in newer if not row[name]]
            what = f"on {after:.0%} of pages {when} on {before:.0%}"
            yield AuditFinding("changed", domain, name, what, len(missing), len(newer), missing[0]["url"])


_COLUMNS: Final = """url, domain, parser, parser_version, title, description, language, author, published_at,
    canonical_url, left(text, 40) AS text, text_length, word_count, quality, content_hash,
    crawled_at, first_crawled_at, changed_at"""
_FROM_KEY: Final = f"""SELECT {_COLUMNS} FROM crawled_pages
    WHERE url_key >= $1 AND url_key < $2 AND ($3 = '' OR domain = $3) ORDER BY url_key LIMIT $4"""  # noqa: S608  # constants
_END: Final = "g"
"""Greater than every key: they are hexadecimal."""


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """The options of `strider parser audit`."""

    dsn: str = ""
    domain: str = ""
    sample: int = 1_000
    as_json: bool = False


def run_audit(options: AuditOptions) -> CommandExit:
    """Audit a sample, and print the findings; returns the exit code."""
    rows = run_reported(lambda: _sample(options))
    findings = audit_pages(rows, datetime.now(UTC))
    print_text(audit_json(findings, len(rows)) if options.as_json else audit_text(findings, len(rows)))
    return CommandExit.FAILED if findings else CommandExit.DONE


async def _sample(options: AuditOptions) -> list[dict[str, Any]]:
    return await sample_pages(require_address(POSTGRES, options.dsn), options, begin=secrets.token_hex(32))


async def sample_pages(dsn: str, options: AuditOptions, *, begin: str) -> list[dict[str, Any]]:
    """Read rows from a key on, and from the first key after the last one."""
    async with open_postgres(dsn, application="strider-audit") as postgres:
        rows = await postgres.fetch(_FROM_KEY, begin, _END, options.domain, options.sample)
        if len(rows) < options.sample:
            rows += await postgres.fetch(_FROM_KEY, "", begin, options.domain, options.sample - len(rows))
        return [dict(row) for row in rows]


def audit_json(findings: Sequence[AuditFinding], pages: int) -> str:
    """Return the findings as JSON."""
    return json_text(
        {"pages": pages, "findings": [asdict(finding) for finding in findings]}, ascii_only=False, indent=1
    )


def audit_text(findings: Sequence[AuditFinding], pages: int) -> str:
    """Return the findings as lines for people."""
    total = f"{counted(pages, 'page')} audited, {counted(len(findings), 'finding')}"
    if not findings:
        return total
    rows = [
        (each.kind, each.domain, each.field, each.what, f"{each.pages} of {each.of}", each.example)
        for each in findings
    ]
    headers = ("finding", "domain", "field", "what", "pages", "example")
    return f"{total}\n{table_text(headers, rows, wrapped=('what', 'example'))}"
