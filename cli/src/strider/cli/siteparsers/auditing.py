"""strider parser audit: a sample of stored pages, looked through for what is wrong with them.

Keys are hashes: a range of them from anywhere is a sample of everything, at the cost of its own rows.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from strider.localstack.plan.endpoints import read_endpoints
from strider.messaging.errors import StartRefused, Unavailable
from strider.storage.errors import StoreRejected
from strider.storage.postgres import Postgres, PostgresOptions

from .audits import Finding, audit

EXIT_UNREACHABLE: Final = 3

_COLUMNS: Final = """url, domain, parser, parser_version, title, description, language, author, published_at,
    canonical_url, left(text, 40) AS text, text_length, word_count, quality, content_hash,
    crawled_at, first_crawled_at, changed_at"""
_FROM_KEY: Final = f"""SELECT {_COLUMNS} FROM crawled_pages
    WHERE url_key >= $1 AND url_key < $2 AND ($3 = '' OR domain = $3) ORDER BY url_key LIMIT $4"""  # noqa: S608  # ours
_END: Final = "g"
"""Behind every key: they are hexadecimal."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line."""

    dsn: str = ""
    domain: str = ""
    sample: int = 1_000
    as_json: bool = False


def run_audit(asked: Asked) -> int:
    """Look, and print what was found; gives the exit code."""
    dsn = asked.dsn or read_endpoints(os.environ, Path.cwd()).get("postgres", "")
    if not dsn:
        print("strider parser audit: no database is named: give --dsn or set POSTGRES_DSN", file=sys.stderr)
        return 2
    try:
        rows = asyncio.run(sample(dsn, asked, begin=secrets.token_hex(32)))
    except StartRefused as failure:
        print(f"strider parser audit: {failure}", file=sys.stderr)
        return 2
    except (Unavailable, StoreRejected) as failure:
        print(f"strider parser audit: {failure}", file=sys.stderr)
        return EXIT_UNREACHABLE
    findings = audit(rows, datetime.now(UTC))
    print(as_json(findings, len(rows)) if asked.as_json else as_text(findings, len(rows)))
    return 1 if findings else 0


async def sample(dsn: str, asked: Asked, *, begin: str) -> list[dict[str, Any]]:
    """Read rows from a key on, and from the first one where the last was reached."""
    postgres = Postgres(PostgresOptions(dsn, application="strider-audit", max_connections=1))
    try:
        rows = await postgres.fetch(_FROM_KEY, begin, _END, asked.domain, asked.sample)
        if len(rows) < asked.sample:
            rows += await postgres.fetch(_FROM_KEY, "", begin, asked.domain, asked.sample - len(rows))
        return [dict(row) for row in rows]
    finally:
        await postgres.close()


def as_json(findings: Sequence[Finding], pages: int) -> str:
    """Write it for programs."""
    return json.dumps(
        {"pages": pages, "findings": [asdict(one) for one in findings]}, ensure_ascii=False, indent=1
    )


def as_text(findings: Sequence[Finding], pages: int) -> str:
    """Write it for people."""
    lines = [f"{pages} pages looked through, {len(findings)} findings"]
    lines += [
        f"{one.kind:<11}{one.domain:<30} {one.field}: {one.what}"
        f" ({one.pages} of {one.of}), such as {one.example}"
        for one in findings
    ]
    return "\n".join(lines)
