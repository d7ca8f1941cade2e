"""Parsing of link messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.scheduler.core.entries.candidates import (
    MAX_PARTITIONS,
    Candidate,
    CandidateOrigin,
    is_newer,
    merge_tokens,
    opening_token,
    parse_candidates,
    redirect_token,
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


TOKENS = st.builds("{}/{}/{}".format, st.sampled_from("st"), st.integers(0, 3), st.integers(0, 30))


@pytest.mark.parametrize(
    ("token", "than", "expected"),
    [
        pytest.param("s/0/10", "s/0/9", True, id="compared-as-numbers"),
        pytest.param("s/0/9", "s/0/10", False, id="older"),
        pytest.param("s/0/9", "s/0/9", False, id="the-same"),
        pytest.param("", "", False, id="links-have-none"),
        pytest.param("s/0/0", "", True, id="the-first-seed-of-all"),
        # Nothing says which came first, and a seed that is left out is worse than one page fetched again.
        pytest.param("s/1/2", "s/0/9", True, id="another-partition"),
        pytest.param("s/0/9", "s/0/9 s/1/2", False, id="delivered-again-after-another-partitions"),
        pytest.param("s/1/2 s/0/8", "s/0/9 s/1/2", False, id="none-of-several"),
        pytest.param("s/1/3 s/0/8", "s/0/9 s/1/2", True, id="one-of-several"),
    ],
)
def test_a_seed_is_newer_than_what_its_place_had(token: str, than: str, *, expected: bool) -> None:
    assert is_newer(token, than) is expected


@given(st.lists(TOKENS, min_size=1, max_size=40))
def test_no_seed_counts_twice(tokens: list[str]) -> None:
    """In whatever order they come, and however often one is delivered."""
    known = ""
    for token in tokens:
        known = merge_tokens(token, known)
        assert not is_newer(token, known)

    assert [token for token in tokens if is_newer(token, known)] == []


def test_a_numbered_seed_is_newer_than_a_lower_number_of_its_name_alone() -> None:
    """It reopens its entry once, however often and however late it is repeated."""
    first, second, other = ".numbered/5/7", ".numbered/5/8", ".numbered/6/1"
    opened = merge_tokens(second, first)

    assert is_newer(second, first)
    assert not any(is_newer(each, opened) for each in (first, second))
    assert is_newer(other, opened)


def test_what_an_entry_remembers_is_bounded() -> None:
    known = ""
    for partition in range(100):
        known = merge_tokens(f"s/{partition}/7", known)

    assert len(known.split()) == MAX_PARTITIONS
    assert not is_newer("s/99/7", known)


def test_a_redirect_reaches_its_target_when_its_seed_came_after_that_was_opened() -> None:
    """Many seeds of one time that redirect to one page fetch it once; one that comes later does again."""
    opened = opening_token(redirect_token(1_000), 5_000)

    assert opened == ".moved/0/5000"
    assert not is_newer(redirect_token(4_999), opened)
    assert is_newer(redirect_token(5_001), opened)
    assert opening_token("s/0/7", 5_000) == "s/0/7"
    assert opening_token("s/0/7 .moved/0/9000", 5_000) == "s/0/7 .moved/0/9000"
