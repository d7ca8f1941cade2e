"""One partition in memory: offsets, transactions, compaction, retention."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.messaging.inprocess.log import PartitionLog


def _log(*records: tuple[str, str | None], transaction: str | None = None) -> PartitionLog:
    log = PartitionLog("notes", 0)
    _write(log, *records, transaction=transaction)
    return log


def _write(log: PartitionLog, *records: tuple[str, str | None], transaction: str | None = None) -> None:
    for key, value in records:
        log.append(
            timestamp=1000 + log.end,
            key=key.encode(),
            value=None if value is None else value.encode(),
            transaction=transaction,
        )


def _read(
    log: PartitionLog, offset: int = 0, *, limit: int = 100, committed: bool = True
) -> list[tuple[int, str]]:
    found, _ = log.read(offset, limit, read_committed=committed)
    return [(record.offset, (record.value or b"-").decode()) for record in found]


def test_reading_continues_where_it_ended() -> None:
    log = _log(("a", "1"), ("b", "2"), ("c", "3"))
    first, position = log.read(0, 2, read_committed=True)
    second, end = log.read(position, 2, read_committed=True)

    assert ([r.offset for r in first], position) == ([0, 1], 2)
    assert ([r.offset for r in second], end) == ([2], 3)
    assert log.read(end, 2, read_committed=True) == ((), 3)


def test_an_open_transaction_hides_what_comes_behind_it() -> None:
    log = _log(("a", "1"))
    _write(log, ("b", "open"), transaction="t")
    _write(log, ("c", "3"))
    hidden = (_read(log), log.stable_end(), _read(log, committed=False))
    log.end_transaction("t", commit=True)

    assert hidden == ([(0, "1")], 1, [(0, "1"), (1, "open"), (2, "3")])
    assert _read(log) == [(0, "1"), (1, "open"), (2, "3")]
    assert (log.end, log.stable_end()) == (4, 4)


def test_an_aborted_transaction_is_never_seen_and_always_passed() -> None:
    log = _log(("a", "1"), transaction="t")
    log.end_transaction("t", commit=False)
    _write(log, ("b", "2"))
    found, position = log.read(0, 100, read_committed=True)

    assert [record.offset for record in found] == [2]
    assert position == 3
    assert _read(log, committed=False) == [(0, "1"), (2, "2")]


def test_a_log_that_ends_in_aborted_records_and_a_marker_is_read_to_its_end() -> None:
    """A table reader would wait for ever for a position that no record brings."""
    log = _log(("a", "1"))
    _write(log, ("b", "2"), transaction="t")
    log.end_transaction("t", commit=False)

    assert log.read(1, 100, read_committed=True) == ([], 3)


def test_ending_a_transaction_that_wrote_nothing_here_writes_no_marker() -> None:
    log = _log(("a", "1"))
    log.end_transaction("t", commit=True)

    assert log.end == 1


def test_compaction_keeps_the_last_of_each_key_and_offsets_stay() -> None:
    log = _log(("a", "1"), ("b", "2"), ("a", "3"), ("c", None), ("d", "5"), ("d", None))
    log.compact(now_ms=2000, delete_retention_ms=10_000)
    with_tombstones = _read(log)
    log.compact(now_ms=20_000, delete_retention_ms=10_000)

    assert with_tombstones == [(1, "2"), (2, "3"), (3, "-"), (5, "-")]
    assert _read(log) == [(1, "2"), (2, "3")]
    assert log.read(3, 100, read_committed=True) == ([], 6)
    assert log.append(timestamp=1, key=b"e", value=b"x") == 6


def test_compaction_leaves_open_transactions_alone_and_forgets_aborted_ones() -> None:
    log = _log(("a", "1"))
    _write(log, ("a", "aborted"), transaction="t1")
    log.end_transaction("t1", commit=False)
    _write(log, ("a", "open"), transaction="t2")
    log.compact(now_ms=2000, delete_retention_ms=0)
    before = _read(log)
    log.end_transaction("t2", commit=True)

    assert before == [(0, "1")]
    assert _read(log) == [(0, "1"), (3, "open")]


@pytest.mark.parametrize(
    ("before", "start", "left"),
    [
        pytest.param(0, 0, [0, 1, 2], id="nothing"),
        pytest.param(2, 2, [2], id="some"),
        pytest.param(99, 3, [], id="all, and no more than there is"),
    ],
)
def test_retention_moves_the_start(before: int, start: int, left: list[int]) -> None:
    log = _log(("a", "1"), ("b", "2"), ("c", "3"))
    log.trim(before)

    assert (log.start, log.end, [offset for offset, _ in _read(log, log.start)]) == (start, 3, left)
    assert (log.size_bytes == 0) == (not left)


@pytest.mark.parametrize(
    ("moment_ms", "offset"),
    [
        pytest.param(0, 0, id="before the first"),
        pytest.param(1001, 1, id="exactly one"),
        pytest.param(5000, 3, id="after the last"),
    ],
)
def test_a_moment_is_found(moment_ms: int, offset: int) -> None:
    log = _log(("a", "1"), ("b", "2"), ("c", "3"))

    assert log.offset_at(moment_ms, end=log.end) == offset


_actions = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 3)),
        st.tuples(st.just("transaction"), st.integers(0, 3)),
        st.tuples(st.sampled_from(["commit", "abort", "compact"]), st.just(0)),
        st.tuples(st.just("trim"), st.integers(0, 8)),
    ),
    max_size=40,
)


@given(_actions, st.integers(1, 4))
def test_any_history_reads_like_its_model(actions: list[tuple[str, int]], limit: int) -> None:
    """Whatever was done to a log: reading it in steps gives each visible record once, and ends at its end."""
    log = PartitionLog("notes", 0)
    visible: dict[int, int] = {}
    uncommitted: dict[int, int] = {}
    for action, number in actions:
        if action == "write":
            visible[log.append(timestamp=0, key=bytes([number]), value=b"v")] = number
        elif action == "transaction":
            offset = log.append(timestamp=0, key=bytes([number]), value=b"v", transaction="t")
            uncommitted[offset] = number
        elif action in ("commit", "abort"):
            log.end_transaction("t", commit=action == "commit")
            visible |= uncommitted if action == "commit" else {}
            uncommitted = {}
        elif action == "compact":
            stable = log.stable_end()
            settled = {offset: key for offset, key in sorted(visible.items()) if offset < stable}
            last = {key: offset for offset, key in settled.items()}
            visible = {o: k for o, k in visible.items() if o >= stable or last[k] == o}
            log.compact(now_ms=0, delete_retention_ms=0)
        else:
            log.trim(number)
            visible = {offset: key for offset, key in visible.items() if offset >= log.start}
            uncommitted = {offset: key for offset, key in uncommitted.items() if offset >= log.start}

    expected = [offset for offset in sorted(visible) if offset < log.stable_end()]
    seen: list[int] = []
    position = log.start
    while position < log.stable_end():
        found, following = log.read(position, limit, read_committed=True)
        assert following > position
        seen += [record.offset for record in found]
        position = following

    assert seen == expected
    assert log.size_bytes == sum(1 + 1 + 120 for _ in log.records)
