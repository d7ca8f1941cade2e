"""How much may be released is what the slowest of the ring can still take."""

from __future__ import annotations

import pytest

from strider.scheduler.core.gates import GATES, Backlog, Gate, Spent

FETCHER = Gate("fetcher", "fetch-requests", is_own=False)
PARSER = Gate("parser", "pages-fetched", is_own=False)
LINKS = Gate("link-ingestion-pages", "pages-validated", is_own=False)
INDEXER = Gate("indexer", "pages-validated", is_own=False)
OUTCOMES = Gate("scheduler", "fetches-completed", is_own=True)
SETTLED = Gate("scheduler", "pages-settled", is_own=True)


def a_backlog(**waiting: tuple[int, ...]) -> Backlog:
    gates = {
        "fetcher": FETCHER,
        "parser": PARSER,
        "links": LINKS,
        "indexer": INDEXER,
        "outcomes": OUTCOMES,
        "settled": SETTLED,
    }
    return Backlog({gates[name]: counts for name, counts in waiting.items()}, since=10.0)


def test_the_list_is_closed() -> None:
    """Seeds, links, archives and insights never gate: what drains a back-log must not wait for it."""
    assert {(gate.group, gate.topic) for gate in GATES} == {
        ("fetcher", "fetch-requests"),
        ("parser", "pages-fetched"),
        ("validator", "pages-parsed"),
        ("link-ingestion-pages", "pages-validated"),
        ("link-ingestion-pages", "pages-rejected"),
        ("indexer", "pages-validated"),
        ("indexer", "pages-rejected"),
        ("scheduler", "fetches-completed"),
        ("scheduler", "pages-settled"),
    }
    assert {gate.topic for gate in GATES if gate.is_own} == {"fetches-completed", "pages-settled"}


@pytest.mark.parametrize(
    ("backlog", "credits_of_two"),
    [
        pytest.param(a_backlog(), [50, 50], id="nothing-waits"),
        pytest.param(a_backlog(fetcher=(10, 10), parser=(20,)), [30, 30], id="stages-add-up"),
        pytest.param(a_backlog(links=(40,), indexer=(20,)), [30, 30], id="the-slower-reader-counts"),
        pytest.param(a_backlog(parser=(100,)), [0, 0], id="full"),
        pytest.param(a_backlog(indexer=(300,)), [0, 0], id="beyond"),
        pytest.param(a_backlog(parser=(99,)), [1, 1], id="the-last-one-is-anybodys"),
        pytest.param(a_backlog(outcomes=(50, 0)), [0, 50], id="its-own-outcomes"),
        pytest.param(a_backlog(outcomes=(20, 0), settled=(10, 5)), [20, 45], id="both-of-its-own"),
    ],
)
def test_credits_are_what_the_ring_has_room_for(backlog: Backlog, credits_of_two: list[int]) -> None:
    assert [backlog.credits(shard, shards=2, most=100) for shard in (0, 1)] == credits_of_two


def test_what_a_count_may_have_missed_is_taken_off() -> None:
    """What was spoken before the counting began is in the count; what came later is not, or twice."""
    spent = Spent()
    spent.spend(5, now=1.0)
    spent.spend(0, now=1.5)
    spent.spend(7, now=2.0)

    assert (spent.since(0.0), spent.since(2.0), spent.since(2.1), spent.since(0.0)) == (12, 7, 0, 0)
