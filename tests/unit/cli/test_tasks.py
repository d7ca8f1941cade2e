"""How far the work of runs and URLs is, put together from who knows."""

from __future__ import annotations

from typing import Any

import pytest

from strider.cli.crawls_tasks import tasks_of
from strider.cli.why_facts import Fact
from strider.cli.why_tasks import told, with_tasks
from strider.frontier.redis.inspection import OutstandingRequests
from strider.messaging.inprocess import simulate


def test_what_seems_to_wait_may_be_under_way() -> None:
    """Tables cannot tell; and they are a moment behind, so nothing is counted below none."""
    stored = {"pending": 5, "downloaded": 1, "completed": 7}

    assert tasks_of(stored, OutstandingRequests(issued=2, started=1)) == {
        "pending": 2,
        "queued": 2,
        "crawling": 1,
        "downloaded": 1,
        "parsing": 0,
        "completed": 7,
        "failed": 0,
    }
    assert tasks_of({}, OutstandingRequests(issued=1))["pending"] == 0


def an_entry(state: str, **details: Any) -> Fact:
    fields = {"url_key": "k", "state": state, "fetch_sequence": 7, **details}
    return Fact(None, "scheduler", f"has it as {state}.", "frontier", "j", "r", fields)


@pytest.mark.req("S4.12.11")
def test_an_entry_says_how_far_its_work_is() -> None:
    fact = told(an_entry("pending"), "started", is_read=False)

    assert (fact.says, fact.details["task_state"]) == (
        "has it as pending. As a task it is crawling.",
        "crawling",
    )


def test_a_page_of_this_fetch_was_read_and_one_of_an_earlier_fetch_says_nothing() -> None:
    """Without a working set the log and the tables are all there is."""
    older, newer = (Fact(None, "indexer", "", "page", "j", "r", {"fetch_sequence": n}) for n in (6, 7))

    async def states(*pages: Fact) -> list[str]:
        facts = await with_tasks([*pages, an_entry("in_progress")], url="", host="a.test", shards=12)
        return [fact.details["task_state"] for fact in facts if fact.kind == "frontier"]

    assert simulate(states(older)) == ["downloaded"]
    assert simulate(states(newer)) == ["parsing"]
