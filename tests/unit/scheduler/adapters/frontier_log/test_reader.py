"""Reading the frontier log to its end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FRONTIER
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate
from strider.scheduler.adapters.frontier_log.reader import TopicFrontierLogReader
from strider.scheduler.adapters.frontier_log.writer import TopicFrontierLogs
from strider.scheduler.ports import ClosedEntry

PENDING = EntryRecorded("news", "0" * 64, "https://a.test/", "a.test", "pending", "run", "spec", 1, 2)


def entry(number: int, **changes: object) -> EntryRecorded:
    return replace(PENDING, url_key=f"{number:064x}", url=f"https://a.test/{number}", **changes)  # type: ignore[arg-type]  # the table's


async def told(
    *records: EntryRecorded, most: int = 100
) -> tuple[dict[str, EntryRecorded], list[ClosedEntry]]:
    """Write records down and read them back."""
    broker, codec, clock = (
        InProcessBroker(clock=EventLoopClock()),
        Codec(SchemaStore.bundled()),
        EventLoopClock(),
    )
    broker.declare_topic(FRONTIER, shards=1)
    bus = InProcessBus(broker)
    truth = await TopicFrontierLogs(bus, codec, commit_interval_seconds=0.1).take_over(0)
    await truth.write([truth.encode_entry(record) for record in records])
    opened: dict[str, EntryRecorded] = {}
    closed: list[ClosedEntry] = []
    shares = []
    async for part in TopicFrontierLogReader(bus, codec, clock=clock, max_records=most).read_entries(0):
        entries = [each.to_event() for each in part.open]
        assert not opened.keys() & {each.url for each in entries}
        opened |= {each.url: each for each in entries}
        closed += part.closed
        shares.append(part.progress)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    await truth.close()
    return opened, closed


def test_the_last_record_of_an_entry_counts() -> None:
    settled = entry(1, state="completed", reason="settled", fetch_sequence=5)

    opened, closed = simulate(told(entry(1), entry(2), settled))

    assert list(opened) == ["https://a.test/2"]
    assert closed == [ClosedEntry(settled, f"{1:064x}".encode(), b"https://a.test/1", 5, 2, 0, 0)]


CLOSED = [
    pytest.param({"reason": "settled", "seed_token": "seeds/0/9"}, "seeds/0/9", False, id="seed"),
    pytest.param({"reason": "budget"}, "", True, id="untried"),
    pytest.param({"reason": "budget", "error_class": "dns_failed"}, "", False, id="tried"),
]


@pytest.mark.parametrize(("changes", "token", "is_forgotten"), CLOSED)
def test_what_a_glance_does_not_see_is_read(
    changes: dict[str, object], token: str, is_forgotten: bool
) -> None:
    """A seed's token stands last, and whether an entry was tried in the middle."""
    _, closed = simulate(told(entry(1, state="failed", **changes)))

    [remnant] = closed
    assert (remnant.seed_token, remnant.is_forgotten) == (token, is_forgotten)


def test_more_than_memory_holds_is_read_in_passes() -> None:
    """Each entry comes once, whichever pass it belongs to."""
    records = [entry(number) for number in range(60)]
    gone = [entry(number, state="completed", reason="settled") for number in range(0, 60, 3)]

    opened, closed = simulate(told(*records, *gone, most=7))

    assert set(opened) == {record.url for number, record in enumerate(records) if number % 3}
    assert {remnant.url_key.decode() for remnant in closed} == {record.url_key for record in gone}
    assert len(closed) == len(gone)


def test_what_is_open_comes_group_by_group_in_the_order_of_the_log() -> None:
    """A working set does with all entries of a group at once."""
    records = [
        replace(
            entry(number), url=f"https://{'abc'[number % 3]}.test/{number}", group=f"{'abc'[number % 3]}.test"
        )
        for number in range(9)
    ]

    opened, _ = simulate(told(*records))

    assert [url.rpartition("/")[2] for url in opened] == ["0", "3", "6", "1", "4", "7", "2", "5", "8"]
