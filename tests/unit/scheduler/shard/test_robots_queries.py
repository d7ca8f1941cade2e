"""Queries for robots.txt files that wait for a request, and their bounds."""

from __future__ import annotations

from strider.scheduler.core.hosts.redirect_queries import RobotsQuery
from strider.scheduler.shard.robots_queries import MAX_QUERIES, QUERY_MS, RobotsQueries

TARGET = "https://www.b.test"


def a_query(number: int, target: str = TARGET) -> RobotsQuery:
    return RobotsQuery(f"{target}/robots.txt", (f"http://a{number}.test/robots.txt",), 1)


def test_one_request_is_made_for_all_origins_that_wait_for_it() -> None:
    queries = RobotsQueries()

    assert [queries.add(a_query(number), now_ms=1) for number in (0, 1, 0)] == [True, False, False]
    assert [query.origin for query in queries.take(TARGET)] == ["http://a0.test", "http://a1.test"]
    assert (queries.take(TARGET), queries.is_waiting(TARGET)) == ([], False)


def test_a_query_is_dropped_after_a_time() -> None:
    queries = RobotsQueries()
    queries.add(a_query(0), now_ms=0)
    queries.add(a_query(1), now_ms=QUERY_MS // 2)
    queries.add(a_query(0, "https://c.test"), now_ms=QUERY_MS // 2)

    assert queries.drop_expired(now_ms=QUERY_MS) == []
    assert [query.origin for query in queries.take(TARGET)] == ["http://a1.test"]
    assert queries.drop_expired(now_ms=2 * QUERY_MS) == [a_query(0, "https://c.test")]


def test_no_number_of_origins_takes_more_memory() -> None:
    queries = RobotsQueries()
    for number in range(MAX_QUERIES + 100):
        queries.add(a_query(number), now_ms=1)
        queries.drop_expired(now_ms=1)

    assert len(queries.take(TARGET)) == MAX_QUERIES
