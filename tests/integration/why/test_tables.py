"""`strider why` and the tables: URLs with a key, and texts without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from strider.cli.explain.lookup import find_refusal, look_up
from strider.cli.explain.subject import parse_subject
from strider.indexer.adapters import PostgresTables
from strider.indexer.core import RowChanges, decision_rows
from strider.storage.postgres import Postgres, PostgresOptions
from tests.unit.indexer.events import a_decision, key

GOOD = "https://www.example.org/a"
LONG = f"https://www.example.org/{'x' * 9_000}"
SENT = {GOOD: key(GOOD), "ftp://www.example.org/": "", LONG[:500]: "", "ftp://www.example.org/longer": ""}
"""URLs in the refusals, and their keys; of a too long one only the beginning is stored."""


@pytest.fixture
async def dsn(database: str) -> str:
    """A database in which each of these was refused, for a different reason."""
    postgres = Postgres(PostgresOptions(database, max_connections=1))
    reasons = tuple(f"reason_{number}" for number in range(len(SENT)))
    refusals = a_decision(*SENT, url_keys=tuple(SENT.values()), reasons=reasons, crawl_spec_id="spec")
    await PostgresTables(postgres).write(RowChanges(decisions=list(decision_rows(refusals))))
    await postgres.close()
    return database


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        pytest.param("HTTPS://www.example.org:443/a#top", ["reason_0"], id="by-its-key"),
        pytest.param(" ftp://www.example.org/ ", ["reason_1"], id="as-it-was-sent"),
        pytest.param(LONG, ["reason_2"], id="by-its-beginning"),
        pytest.param("ftp://www.example.org/other", [], id="another"),
        pytest.param("", [], id="nothing"),
    ],
)
async def test_a_refusal_is_found(dsn: str, tmp_path: Path, text: str, reasons: list[str]) -> None:
    """Each refusal has its reason, also that of a text that is not a URL."""
    answers = await look_up(parse_subject(text), {"POSTGRES_DSN": dsn}, tmp_path, job="", quick=True)

    assert [fact.details["reason"] for fact in answers.facts] == reasons
    assert (answers.unavailable, answers.sources_read) == ((), 1)


async def test_the_newest_decision_against_a_url_names_its_job_crawl_spec_and_page(dsn: str) -> None:
    """`strider explain` evaluates the rules of a URL without an entry with these."""
    subject = parse_subject(GOOD)

    found = await find_refusal(dsn, subject, job="")

    assert found == ("adhoc", "spec", "")
    assert await find_refusal(dsn, subject, job="another") is None
    assert await find_refusal(dsn, parse_subject("https://www.example.org/never"), job="") is None
