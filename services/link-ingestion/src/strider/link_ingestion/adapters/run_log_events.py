"""Events of seeds for the logs of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from strider.link_ingestion.core import AcceptedSeed, RefusedSeed
from strider.runtime.observability import log_events

CountLinks = Callable[[str, int], None]
"""Counts links (or seeds) by outcome."""

NoteRunEvent = Callable[[str, str, str, str, int], None]
"""Notes an event for the log of a run: event, job, run, kind, count."""


def discard_count(what: str, number: int) -> None:
    """Discard a count, in processes without metrics."""


def discard_note(event: str, job_id: str, execution_id: str, kind: str, count: int) -> None:
    """Discard a note, in processes without job logs."""


def note_seeds(note: NoteRunEvent, taken: Sequence[AcceptedSeed], refused: Sequence[RefusedSeed]) -> None:
    """Note accepted and refused seeds, run by run."""
    runs = Counter((sown.origin.job_id, sown.origin.execution_id) for sown in taken)
    for run, count in runs.items():
        note(log_events.SEEDS_ACCEPTED.text, *run, "", count)
    whys = Counter((seed.job_id, seed.execution_id, seed.reason) for seed in refused)
    for why, count in whys.items():
        note(log_events.SEEDS_REFUSED.text, *why, count)
