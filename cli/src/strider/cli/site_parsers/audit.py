"""Audit a sample of stored pages (`strider parser audit`).

Keys are hashes: a range of them from a random one is a sample of all pages, and reads no other rows.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from strider.cli.connections import POSTGRES, open_postgres, require_address, run_reported
from strider.cli.exit_codes import CommandExit
from strider.cli.output import json_text, print_text, table_text

from .audit_rules import AuditFinding, audit_pages

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
    total = f"{pages} pages audited, {len(findings)} findings"
    if not findings:
        return total
    rows = [
        (each.kind, each.domain, each.field, each.what, f"{each.pages} of {each.of}", each.example)
        for each in findings
    ]
    headers = ("finding", "domain", "field", "what", "pages", "example")
    return f"{total}\n{table_text(headers, rows, wrapped=('what', 'example'))}"
