"""The record of decisions: one page each, with its parts, and found from its index."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("Status: ", "## Context", "## Decision")
LONGEST_PAGE_LINES = 60
CHOICES = ("Why not PostgreSQL", "*Deduplication*", "*Lock or token bucket*", "*Parser*", "*Priority levels*")


def odd_decisions(directory: Path) -> list[str]:
    """Records without their parts, beyond a page, or that the index does not name."""
    index = (directory / "README.md").read_text(encoding="utf-8")
    found = []
    for page in sorted(directory.glob("[0-9]*.md")):
        text = page.read_text(encoding="utf-8")
        found += [f"{page.name}: no {part.strip('# :')}" for part in PARTS if f"\n{part}" not in text]
        if text.count("\n") > LONGEST_PAGE_LINES:
            found.append(f"{page.name}: more than a page")
        if f"({page.name})" not in index:
            found.append(f"{page.name}: not in the index")
    return found


def test_every_decision_is_a_whole_page_and_can_be_found() -> None:
    assert odd_decisions(ROOT / "docs/adr") == []


def test_what_is_no_record_of_a_decision_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("nothing here")
    (tmp_path / "0001-so-it-is.md").write_text(
        "# 1. So it is\n\nStatus: accepted\n" + "\n" * LONGEST_PAGE_LINES
    )

    assert odd_decisions(tmp_path) == [
        "0001-so-it-is.md: no Context",
        "0001-so-it-is.md: no Decision",
        "0001-so-it-is.md: more than a page",
        "0001-so-it-is.md: not in the index",
    ]


def reason_given(text: str, choice: str) -> str:
    """The paragraph that continues, or follows, where a choice is named; empty where it is not."""
    return " ".join(text.partition(choice)[2].strip().split("\n\n")[0].split())


@pytest.mark.req("S3.18.1")
@pytest.mark.parametrize("choice", CHOICES)
def test_each_choice_about_the_frontier_has_its_reason(choice: str) -> None:
    text = (ROOT / "docs/adr/0001-kafka-is-the-system-of-record.md").read_text(encoding="utf-8")

    assert len(reason_given(text, choice)) > len("a word or two")


@pytest.mark.req("S3.12.3")
def test_leases_are_weighed_against_locks_a_central_owner_and_token_buckets() -> None:
    text = (ROOT / "docs/frontier-decisions.md").read_text(encoding="utf-8")
    reason = reason_given(text, "**Why leases and one owner,**")

    assert all(word in reason for word in ("lock", "token bucket", "scheduler", "The price"))


def test_the_lack_of_work_stealing_has_a_reason() -> None:
    """The line asks for work stealing; the design answers that credits of each shard make it needless."""
    text = (ROOT / "docs/operations/fetcher.md").read_text(encoding="utf-8")

    assert "Credits of each shard" in reason_given(text, "## Why no work stealing")


def test_the_lack_of_a_frequency_for_domains_has_a_reason() -> None:
    """The line asks for a frequency by domain; each page learns its own, which does more."""
    text = (ROOT / "docs/frontier-decisions.md").read_text(encoding="utf-8")

    assert "learns its own interval" in reason_given(text, "**Why no frequency for each domain:**")


def test_an_unexplained_choice_has_no_reason() -> None:
    assert reason_given("## Why\n\nBecause.\n", "## Why not") == ""
