"""Does a settled page close its entry?

It does for the same run and the same fetch. A fetch that is newer than what the record knows is the
one under way: its page went round faster than its outcome was read. An older one is a repeat.
"""

from __future__ import annotations

from strider.contracts.generated.events import EntryRecorded, PageSettled

from .entries import settled


def settle(entry: EntryRecorded, page: PageSettled, *, now_ms: int) -> EntryRecorded | None:
    """Close an open entry, or leave it."""
    if entry.execution_id != page.execution_id or page.fetch_sequence < entry.fetch_sequence:
        return None
    return settled(entry, page, now_ms=now_ms)
