"""Completion proof: no order of events completes a run that is not complete."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.scheduler.core.runs.completion import (
    CompletionObservation,
    CompletionPhase,
    CompletionProof,
    ShardRunCount,
)

SHARDS = 2
QUIET = {0: ShardRunCount(is_ready=True), 1: ShardRunCount(is_ready=True)}


def looks(*each: CompletionObservation, seeds: int = 0) -> list[CompletionPhase]:
    proof, seen = CompletionProof(SHARDS, {0: seeds} if seeds else {}), []
    for look in each:
        proof = proof.after(look)
        seen.append(proof.phase)
    return seen


def test_each_step_takes_a_look_of_its_own() -> None:
    quiet = CompletionObservation(QUIET, seeds_committed={0: 3}, links_end={0: 7}, links_committed={0: 7})

    assert looks(*[quiet] * 6, seeds=3) == [
        CompletionPhase.QUIET,
        CompletionPhase.SEEDED,
        CompletionPhase.DRAINING,
        CompletionPhase.DRAINED,
        CompletionPhase.COMPLETE,
        CompletionPhase.COMPLETE,
    ]


def test_unread_seeds_hold_it_back() -> None:
    unread = CompletionObservation(QUIET, seeds_committed={0: 2})

    assert looks(unread, unread, unread, seeds=3) == [CompletionPhase.QUIET] * 3


def test_unread_links_hold_it_back() -> None:
    unread = CompletionObservation(QUIET, links_end={0: 9}, links_committed={0: 8})

    assert looks(*[unread] * 5)[-1] is CompletionPhase.DRAINING


def test_a_shard_without_counts_postpones_completion() -> None:
    quiet = CompletionObservation(QUIET)

    assert looks(quiet, quiet, CompletionObservation({0: ShardRunCount(is_ready=True)}), quiet) == [
        CompletionPhase.QUIET,
        CompletionPhase.SEEDED,
        CompletionPhase.WAITING,
        CompletionPhase.QUIET,
    ]
    assert looks(CompletionObservation({**QUIET, 1: ShardRunCount(is_ready=False)})) == [
        CompletionPhase.WAITING
    ]


def test_what_came_and_went_between_two_looks_is_noticed() -> None:
    """Nothing is open at either look, but something was accepted: its links may be on their way."""
    moved = CompletionObservation({**QUIET, 0: ShardRunCount(is_ready=True, open=0, accepted=1)})

    assert looks(CompletionObservation(QUIET), CompletionObservation(QUIET), moved, moved) == [
        CompletionPhase.QUIET,
        CompletionPhase.SEEDED,
        CompletionPhase.QUIET,
        CompletionPhase.SEEDED,
    ]


@pytest.mark.parametrize("counted_by", [(1, 9), (2, 5)], ids=["rebuilt", "taken"])
def test_a_count_that_starts_again_is_no_proof(counted_by: tuple[int, int]) -> None:
    """Where something came and another thing came again, a rebuild counts as many as there were."""
    before, after = (
        CompletionObservation({**QUIET, 0: ShardRunCount(is_ready=True, accepted=9, counted_by=by)})
        for by in ((1, 5), counted_by)
    )

    assert looks(before, before, after, after) == [
        CompletionPhase.QUIET,
        CompletionPhase.SEEDED,
        CompletionPhase.QUIET,
        CompletionPhase.SEEDED,
    ]


@dataclass
class Crawl:
    """A crawl in small, whose every link is in exactly one place: to be read, in the log, or open."""

    seeds: int
    links: int
    """That pages have yet to bring up."""
    seeds_read: int = 0
    log_end: int = 0
    log_read: int = 0
    open: list[int] = field(default_factory=lambda: [0] * SHARDS)
    accepted: list[int] = field(default_factory=lambda: [0] * SHARDS)

    def step(self, what: int, shard: int) -> None:
        if what == 0 and self.seeds_read < self.seeds:
            self.seeds_read += 1
            self.log_end += 1
        elif what == 1 and self.log_read < self.log_end:
            self.log_read += 1
            self.open[shard] += 1
            self.accepted[shard] += 1
        elif what == 2 and self.open[shard]:
            if self.links:
                self.links -= 1
                self.log_end += 1
            self.open[shard] -= 1

    @property
    def is_over(self) -> bool:
        return self.seeds_read == self.seeds and self.log_read == self.log_end and not any(self.open)


STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, SHARDS - 1)), max_size=4)


@given(
    st.integers(1, 3),
    st.integers(0, 6),
    st.lists(st.tuples(STEPS, STEPS, STEPS), min_size=1, max_size=40),
)
def test_no_order_of_events_fools_it(seeds: int, links: int, rounds: list[tuple[list, list, list]]) -> None:
    """Looks are not taken at one moment: the crawl continues between the facts that one look gathers."""
    crawl, proof = Crawl(seeds, links), CompletionProof(SHARDS, {0: seeds})
    for before, between, after in rounds:
        for step in before:
            crawl.step(*step)
        ends, read = {0: crawl.log_end}, {0: crawl.log_read}
        for step in between:
            crawl.step(*step)
        first = ShardRunCount(is_ready=True, open=crawl.open[0], accepted=crawl.accepted[0])
        for step in after:
            crawl.step(*step)
        second = ShardRunCount(is_ready=True, open=crawl.open[1], accepted=crawl.accepted[1])
        look = CompletionObservation(
            {0: first, 1: second}, {0: crawl.seeds_read}, links_end=ends, links_committed=read
        )
        proof = proof.after(look)

        assert not proof.is_complete or crawl.is_over


@given(st.integers(1, 3), st.integers(0, 6))
def test_every_crawl_that_is_over_is_proven(seeds: int, links: int) -> None:
    crawl, proof = Crawl(seeds, links), CompletionProof(SHARDS, {0: seeds})
    for number in range(400):
        crawl.step(number % 3, number % SHARDS)
    assert crawl.is_over

    for _ in range(5):
        shards = {n: ShardRunCount(is_ready=True, open=0, accepted=crawl.accepted[n]) for n in range(SHARDS)}
        look = CompletionObservation(
            shards, {0: seeds}, links_end={0: crawl.log_end}, links_committed={0: crawl.log_read}
        )
        proof = proof.after(look)

    assert proof.is_complete
