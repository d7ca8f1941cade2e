"""Does a settled page close its entry?

It does for the same run and the same fetch. A fetch that is newer than what the record knows is the
one under way: its page went round faster than its outcome was read. An older one is a repeat.
"""

from __future__ import annotations

from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, PageSettled

from .recrawl import is_over, reschedule_after_page
from .state import settle_entry


def apply_settlement(
    entry: EntryRecorded, page: PageSettled, *, now_ms: int, spec: CrawlSpecDeclared | None = None
) -> EntryRecorded | None:
    """Close an open entry, or have it come again; or leave it."""
    if entry.execution_id != page.execution_id or page.fetch_sequence < entry.fetch_sequence:
        return None
    if is_over(entry, now_ms):
        return None
    ended = settle_entry(entry, page, now_ms=now_ms)
    return ended if spec is None else reschedule_after_page(entry, ended, page, spec, now_ms=now_ms)
