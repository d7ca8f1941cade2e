"""Looking through all that is open, wherever it is."""

from __future__ import annotations

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.models import EntryLocation
from tests.contract.working_set.implementations.frontiers import EPOCH, LEASE_MS, SHARD, FrontierWorld, page


async def everything(
    frontier: FrontierWorld, *, limit: int = 10
) -> dict[str, tuple[EntryRecorded, EntryLocation]]:
    """Scan to the end, by the words of the entries."""
    found: dict[str, tuple[EntryRecorded, EntryLocation]] = {}
    cursor = 0
    while True:
        part = await frontier.working_set.scan(SHARD, EPOCH, cursor=cursor, limit=limit)
        found |= {entry.url.rpartition("/")[2]: (entry, place) for entry, place in part.entries}
        cursor = part.cursor
        if cursor == 0:
            return found


async def test_a_scan_shows_every_open_entry_and_where_it_is(frontier: FrontierWorld) -> None:
    """Also what is due later and what is leased; the cancellation of a run must miss nothing."""
    await frontier.open()
    waiting = [page(f"w{number}", execution_id="old") for number in range(700)]
    later = page("later", "b.test", due_at_ms=10**13)
    await frontier.accept(page("first", "c.test"))
    release = await frontier.working_set.release(SHARD, EPOCH, limit=1, lease_ms=LEASE_MS)
    await frontier.accept(later, *waiting)

    found = await everything(frontier)

    [lease] = release.leases
    assert found == {
        "first": (lease.entry, EntryLocation.LEASED),
        "later": (later, EntryLocation.QUEUED),
        **{f"w{number}": (entry, EntryLocation.QUEUED) for number, entry in enumerate(waiting)},
    }


async def test_a_scan_of_one_place_leaves_the_others_out(frontier: FrontierWorld) -> None:
    """Few entries are on their way round, and many wait: a search for those must not read these."""
    await frontier.open()
    await frontier.accept(page("first", "c.test"))
    release = await frontier.working_set.release(SHARD, EPOCH, limit=1, lease_ms=LEASE_MS)
    waiting = page("waiting", "a.test")
    await frontier.accept(waiting)

    found = {
        place: await frontier.working_set.scan(SHARD, EPOCH, cursor=0, limit=10, location=place)
        for place in EntryLocation
    }

    [lease] = release.leases
    assert {place: list(scan.entries) for place, scan in found.items()} == {
        EntryLocation.QUEUED: [(waiting, EntryLocation.QUEUED)],
        EntryLocation.LEASED: [(lease.entry, EntryLocation.LEASED)],
        EntryLocation.PIPELINE: [],
    }
