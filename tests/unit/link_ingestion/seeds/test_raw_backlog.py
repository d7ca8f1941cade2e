"""Counting URLs of raw seeds until the scheduler has read them."""

from __future__ import annotations

import pytest

from strider.link_ingestion.core import RawSeedBacklog


def test_urls_wait_until_the_group_has_committed_what_the_log_held_after_them() -> None:
    backlog = RawSeedBacklog(1_000)
    backlog.add(600)
    backlog.settle(600, {0: 5, 1: 5}, {0: 9, 1: 7})
    backlog.add(400)
    full = backlog.is_full
    backlog.settle(400, {0: 9, 1: 6}, {0: 20, 1: 20})
    half_read = backlog.waiting
    backlog.settle(0, {0: 12, 1: 7}, {0: 20, 1: 20})

    assert (full, half_read, backlog.waiting, backlog.is_full) == (True, 1_000, 400, False)


def test_urls_that_come_while_offsets_are_read_wait_for_the_next_mark() -> None:
    """Their messages may be behind the ends that were read."""
    backlog = RawSeedBacklog(1_000)
    backlog.add(10)
    before = backlog.unmarked
    backlog.add(7)
    backlog.settle(before, {0: 3}, {0: 3})

    assert (backlog.waiting, backlog.unmarked) == (7, 7)


def test_links_of_pages_and_owners_never_add_to_the_number() -> None:
    """However far behind the scheduler is: raw seeds continue at the pace at which it reads."""
    backlog = RawSeedBacklog(1_000)
    for number in range(1, 50):
        backlog.add(500)
        backlog.settle(500, {0: 1_000 * (number - 1)}, {0: 1_000 * number})

    assert backlog.waiting == 500


@pytest.mark.parametrize(
    ("committed", "waiting"),
    [
        pytest.param({0: 40}, 10, id="not-read"),
        pytest.param({}, 10, id="no-commit-yet"),
        pytest.param({0: 50}, 0, id="read"),
    ],
)
def test_a_group_without_a_commit_has_read_nothing(committed: dict[int, int], waiting: int) -> None:
    backlog = RawSeedBacklog(1_000)
    backlog.add(10)
    backlog.settle(10, committed, {0: 50})

    assert backlog.waiting == waiting


def test_a_topic_that_was_deleted_and_created_holds_nothing_back() -> None:
    backlog = RawSeedBacklog(1_000)
    backlog.add(1_000)
    backlog.settle(1_000, {0: 7_000}, {0: 9_000})
    backlog.settle(0, {0: 0}, {0: 0})

    assert backlog.waiting == 0


def test_offsets_are_read_often_from_half_of_the_limit_on() -> None:
    backlog = RawSeedBacklog(1_000)
    backlog.add(499)
    before = backlog.is_half_full
    backlog.add(1)

    assert (before, backlog.is_half_full, backlog.is_full) == (False, True, False)
