"""Parsing of link messages."""

from __future__ import annotations

import pytest

from strider.scheduler.core.entries.candidates import (
    Candidate,
    CandidateOrigin,
    host_group_of,
    parse_candidates,
)
from tests.unit.scheduler.builders import key
from tests.unit.scheduler.simulation.pipeline import links_event


def test_a_link_carries_the_facts_of_its_page() -> None:
    event = links_event(["http://b.test/x"], shard=1, page="http://a.test/")

    (candidate,) = parse_candidates(event, by_domain=False)

    assert candidate == Candidate(
        "http://b.test/x",
        key("http://b.test/x"),
        CandidateOrigin("link", "http://a.test/", key("http://a.test/"), "job", "run", "spec"),
        depth=1,
        priority=1,
        group="b.test",
        metadata={},
    )


def test_a_seed_carries_its_token() -> None:
    event = links_event(["http://b.test/"], shard=1, via="seed", offset=41)

    (candidate,) = parse_candidates(event, by_domain=False)

    assert (candidate.seed_token, candidate.is_start, candidate.depth) == ("seeds/0/41", True, 0)


def test_each_url_finds_its_own_page() -> None:
    event = links_event(
        ["http://b.test/1", "http://b.test/2"],
        shard=1,
        from_at=(1, 0),
        from_vias=("link", "seed"),
        from_urls=("http://p.test/", ""),
        from_url_keys=("k", ""),
        from_job_ids=("j1", "j2"),
        from_execution_ids=("e1", "e2"),
        from_crawl_spec_ids=("s1", "s2"),
    )

    assert [each.origin.job_id for each in parse_candidates(event, by_domain=False)] == ["j2", "j1"]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"depths": (1,)}, id="too-few-depths"),
        pytest.param({"from_at": (0, 1)}, id="a-page-that-is-not-there"),
        pytest.param({"from_at": (0, -1)}, id="a-page-before-the-first"),
        pytest.param({"hops": (0, 0, 0)}, id="too-many-hops"),
        pytest.param({"seed_topics": ("s", "s"), "seed_partitions": (0,)}, id="half-a-token"),
    ],
)
def test_arrays_that_do_not_fit_are_a_bad_message(changes: dict[str, object]) -> None:
    """Else a URL would be crawled with another one's depth, job or seed."""
    event = links_event(["http://b.test/1", "http://b.test/2"], shard=1, **changes)

    with pytest.raises(ValueError):
        list(parse_candidates(event, by_domain=False))


@pytest.mark.req("S3.5.1")
@pytest.mark.parametrize(
    ("url", "by_domain", "group"),
    [
        pytest.param("http://www.a.test:8080/x", False, "www.a.test", id="host-without-port"),
        pytest.param("http://www.a.test/x", True, "a.test", id="domain"),
        pytest.param("http://[::1]:80/", False, "[::1]", id="address"),
    ],
)
def test_a_group_is_a_host_or_a_domain(url: str, by_domain: bool, group: str) -> None:
    assert host_group_of(url, by_domain=by_domain) == group
