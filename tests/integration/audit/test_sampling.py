"""strider parser audit on real tables: a range of keys from anywhere is a sample of everything."""

from __future__ import annotations

import pytest
import typer

from strider.cli.site_parsers.audit import AuditOptions, run_audit, sample_pages
from strider.indexer.adapters import PostgresTables
from strider.indexer.core import RowChanges, page_row
from strider.storage.postgres import Postgres, PostgresOptions
from tests.unit.indexer.events import a_page

URLS = tuple(f"https://www.example.org/{number}" for number in range(6))


@pytest.fixture
async def dsn(database: str) -> str:
    """A database with six pages, of which one has no title."""
    postgres = Postgres(PostgresOptions(database, max_connections=1))
    pages = [a_page(url, title="" if url == URLS[0] else url[-1]) for url in URLS]
    await PostgresTables(postgres).write(RowChanges(pages=[page_row(page, "words") for page in pages]))
    await postgres.close()
    return database


@pytest.mark.req("S4.7.8", part="an audit of stored pages, when it is called")
async def test_a_sample_begins_anywhere_and_has_each_page_once(dsn: str) -> None:
    found = {
        begin: await sample_pages(dsn, AuditOptions(sample=10), begin=begin) for begin in ("", "8", "f" * 64)
    }

    assert all({row["url"] for row in rows} == set(URLS) and len(rows) == 6 for rows in found.values())
    assert len(await sample_pages(dsn, AuditOptions(sample=2), begin="8")) == 2
    assert await sample_pages(dsn, AuditOptions(domain="other.test"), begin="8") == []


@pytest.mark.req("S4.7.8", part="an audit of stored pages, when it is called")
def test_the_command_reports_what_is_wrong_and_where(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_audit(AuditOptions(dsn=dsn, sample=10)) == 1
    found = capsys.readouterr().out.splitlines()[2].split()
    assert found == ["empty", "example.org", "title", "is", "empty", "1", "of", "6", URLS[0]]


def test_an_unresponsive_database_is_reported_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        run_audit(AuditOptions(dsn="postgresql://127.0.0.1:9/none"))
    assert ended.value.exit_code == 3
    assert capsys.readouterr().err.count("\n") == 1
