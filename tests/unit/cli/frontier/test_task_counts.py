"""Task counts and task states, combined from tables and working set."""

from __future__ import annotations

from typing import Any

import pytest

from strider.cli.explain.facts import UrlFact
from strider.cli.frontier.task_counts import add_task_states, combine_counts, with_task_state
from strider.frontier.redis.inspection import OutstandingRequests
from strider.messaging.inprocess import simulate


def test_what_seems_to_wait_may_be_under_way() -> None:
    """The tables lag behind, so no count becomes negative."""
    stored = {"pending": 5, "downloaded": 1, "completed": 7}

    assert combine_counts(stored, OutstandingRequests(issued=2, started=1)) == {
        "pending": 2,
        "queued": 2,
        "crawling": 1,
        "downloaded": 1,
        "parsing": 0,
        "completed": 7,
        "failed": 0,
    }
    assert combine_counts({}, OutstandingRequests(issued=1))["pending"] == 0


def an_entry(state: str, **details: Any) -> UrlFact:
    fields = {"url_key": "k", "state": state, "fetch_sequence": 7, **details}
    return UrlFact(None, "scheduler", f"has its entry in the state {state}.", "frontier", "j", "r", fields)


@pytest.mark.req("S4.12.11")
def test_an_entry_shows_its_progress() -> None:
    fact = with_task_state(an_entry("pending"), "started", is_read=False)

    assert (fact.text, fact.details["task_state"]) == (
        "has its entry in the state pending. Its task state is crawling.",
        "crawling",
    )


def test_a_page_counts_as_read_for_its_own_fetch_only() -> None:
    """Without a working set the log and the tables decide."""
    older, newer = (UrlFact(None, "indexer", "", "page", "j", "r", {"fetch_sequence": n}) for n in (6, 7))

    async def states(*pages: UrlFact) -> list[str]:
        facts = await add_task_states([*pages, an_entry("in_progress")], url="", host="a.test", shards=12)
        return [fact.details["task_state"] for fact in facts if fact.kind == "frontier"]

    assert simulate(states(older)) == ["downloaded"]
    assert simulate(states(newer)) == ["parsing"]
