"""Release credits follow the slowest service of the pipeline."""

from __future__ import annotations

import pytest

from strider.scheduler.core.release.backpressure import GATES, LagGate, PipelineBacklog, SpentCredits

FETCHER = LagGate("fetcher", "fetch-requests", is_per_shard=False)
PARSER = LagGate("parser", "pages-fetched", is_per_shard=False)
LINKS = LagGate("link-ingestion-pages", "pages-validated", is_per_shard=False)
INDEXER = LagGate("indexer", "pages-validated", is_per_shard=False)
OUTCOMES = LagGate("scheduler", "fetches-completed", is_per_shard=True)
SETTLED = LagGate("scheduler", "pages-settled", is_per_shard=True)


def a_backlog(**waiting: tuple[int, ...]) -> PipelineBacklog:
    gates = {
        "fetcher": FETCHER,
        "parser": PARSER,
        "links": LINKS,
        "indexer": INDEXER,
        "outcomes": OUTCOMES,
        "settled": SETTLED,
    }
    return PipelineBacklog({gates[name]: counts for name, counts in waiting.items()}, counted_from=10.0)


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
    assert {gate.topic for gate in GATES if gate.is_per_shard} == {"fetches-completed", "pages-settled"}


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
def test_credits_are_the_free_capacity_of_the_pipeline(
    backlog: PipelineBacklog, credits_of_two: list[int]
) -> None:
    assert [backlog.release_credits(shard, shards=2, max_lag=100) for shard in (0, 1)] == credits_of_two


def test_what_a_count_may_have_missed_is_taken_off() -> None:
    """What was published before the counting began is in the count; what came later is not, or twice."""
    spent = SpentCredits()
    spent.add(5, now=1.0)
    spent.add(0, now=1.5)
    spent.add(7, now=2.0)

    assert (
        spent.spent_since(0.0),
        spent.spent_since(2.0),
        spent.spent_since(2.1),
        spent.spent_since(0.0),
    ) == (12, 7, 0, 0)
