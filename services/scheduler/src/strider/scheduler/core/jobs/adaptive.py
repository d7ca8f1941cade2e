"""Adaptive interval of a source: doubled after each run without a change, reset by a change.

    interval = baseline · 2^n after n runs without a change in a row, at most the cap of 24 hours

The baseline is the job's own interval; it is also the lower bound, so a longer one than the cap stays as it
is. A run changed its source where the hash of any start page differs from the last one known of it; a start
page that is new counts as changed, but not where many pages have one hash and some of them failed: that hash
is new, too (`ComparedRun.counts_new_pages`). Where no page has changed, but the hash of one is unknown (it
could not be loaded), nothing follows from the run: the interval stays, without reward or penalty. Takes the
last record of the source, returns the next one; knows neither topics nor jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from strider.contracts.generated.enums import ChangeBasis
from strider.contracts.generated.events import AdaptiveRecorded
from strider.jobs.adaptive import ADAPTIVE_CAP_SECONDS, adaptive_interval_seconds

MAX_UNCHANGED: Final = 1_000_000
"""Where the count of runs without a change stops: beyond the cap it changes nothing."""

KEPT_STATES_MS: Final = 400 * 86_400_000
"""How long the state of a source is kept after its last comparison: the longest interval is 366 days."""

MAX_PAGES: Final = 250
"""Start pages of a source whose hashes are kept, so that the record fits its topic."""


@dataclass(frozen=True, slots=True)
class StartPageHashes:
    """Hashes of one start page; empty where they are unknown."""

    raw: str = ""
    text: str = ""

    def by(self, basis: str) -> str:
        """Return the hash that decides about a change."""
        return self.raw if basis == ChangeBasis.RAW else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """A run whose start pages are compared with those of the one before."""

    source_id: str
    execution_id: str
    baseline_seconds: int
    pages: Mapping[str, StartPageHashes]
    """By URL key, the start pages of the run that were fetched."""
    is_complete: bool = True
    """Whether these are all of its start pages."""
    counts_new_pages: bool = True
    """Whether a page without an earlier hash is a change."""
    basis: str = ChangeBasis.TEXT.value
    ended_at_ms: int
    cap_seconds: int = ADAPTIVE_CAP_SECONDS


def compare_run(before: AdaptiveRecorded | None, run: ComparedRun) -> AdaptiveRecorded | None:
    """Return the state of a source after a run; None where nothing is known of its start pages yet.

    A run that was compared last is not compared again: a repeat returns the state as it is.
    """
    if before is not None and before.last_execution_id == run.execution_id:
        return before
    known = {} if before is None else _pages_of(before)
    pages = dict(sorted(run.pages.items())[:MAX_PAGES])
    merged = {key: _merged(now, known.get(key)) for key, now in pages.items()}
    if not any(page.by(run.basis) for page in merged.values()):
        return before
    is_first = not any(page.by(run.basis) for page in known.values())
    is_changed = not is_first and any(
        _has_changed(now.by(run.basis), known.get(key, _UNKNOWN).by(run.basis), run)
        for key, now in pages.items()
    )
    is_complete = run.is_complete and all(page.by(run.basis) for page in pages.values())
    count = 0 if before is None or is_first or is_changed else before.unchanged_count
    if is_complete and not is_first and not is_changed:
        count = min(count + 1, MAX_UNCHANGED)
    others = {key: page for key, page in known.items() if key not in pages}
    kept = dict([*merged.items(), *others.items()][:MAX_PAGES])
    return _record(before, run, kept, unchanged_count=count, is_changed=is_changed)


_UNKNOWN: Final = StartPageHashes()


def _has_changed(now: str, before: str, run: ComparedRun) -> bool:
    """Whether the hash of a page differs from the last one known."""
    is_compared = bool(before) or run.counts_new_pages
    return bool(now) and is_compared and now != before


def _record(
    before: AdaptiveRecorded | None,
    run: ComparedRun,
    pages: Mapping[str, StartPageHashes],
    *,
    unchanged_count: int,
    is_changed: bool,
) -> AdaptiveRecorded:
    interval = adaptive_interval_seconds(run.baseline_seconds, unchanged_count, cap_seconds=run.cap_seconds)
    keys = sorted(pages)
    last_change_at_ms = run.ended_at_ms if before is None else before.last_change_at_ms
    return AdaptiveRecorded(
        source_id=run.source_id,
        unchanged_count=unchanged_count,
        current_interval_seconds=interval,
        updated_at_ms=run.ended_at_ms,
        last_hash=_hash_of_pages(pages, run.basis),
        last_change_at_ms=run.ended_at_ms if is_changed else last_change_at_ms,
        baseline_interval_seconds=run.baseline_seconds,
        cap_seconds=run.cap_seconds,
        change_basis=run.basis,
        url_keys=tuple(keys),
        raw_hashes=tuple(pages[key].raw for key in keys),
        text_hashes=tuple(pages[key].text for key in keys),
        last_execution_id=run.execution_id,
        next_run_at_ms=run.ended_at_ms + 1000 * interval,
    )


def is_forgotten(state: AdaptiveRecorded, *, exists: bool, now_ms: int) -> bool:
    """Whether the state of a source is deleted: with the source, or when nothing has compared it for long."""
    return not exists or state.updated_at_ms < now_ms - KEPT_STATES_MS


def interval_of_state(state: AdaptiveRecorded, *, baseline_seconds: int) -> int:
    """Return the interval of a job by the state of its source: jobs of one source may differ in their own."""
    return adaptive_interval_seconds(baseline_seconds, state.unchanged_count, cap_seconds=state.cap_seconds)


def _pages_of(state: AdaptiveRecorded) -> dict[str, StartPageHashes]:
    hashes = zip(state.raw_hashes, state.text_hashes, strict=True)
    return {key: StartPageHashes(*each) for key, each in zip(state.url_keys, hashes, strict=True)}


def _merged(now: StartPageHashes, before: StartPageHashes | None) -> StartPageHashes:
    """Return the latest known hashes of a page: one that failed keeps those of an earlier run."""
    if before is None:
        return now
    return replace(now, raw=now.raw or before.raw, text=now.text or before.text)


def _hash_of_pages(pages: Mapping[str, StartPageHashes], basis: str) -> str:
    """Return one hash over all start pages; of a single page its own."""
    found = [(key, pages[key].by(basis)) for key in sorted(pages)]
    if len(found) == 1:
        return found[0][1]
    return sha256("\n".join(f"{key} {page_hash}" for key, page_hash in found).encode()).hexdigest()
