"""What is counted of links and seeds, and noted for the logs of runs. Decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from strider.link_ingestion.core import AcceptedSeed, RefusedSeed

CountLinks = Callable[[str, int], None]
"""Counts links (or seeds) by what became of them."""

NoteRunEvent = Callable[[str, str, str, str, int], None]
"""Notes for the log of a run: what, job, run, of which kind, how often."""

SEEDS_ACCEPTED: Final = "Seeds Taken"
SEEDS_REFUSED: Final = "Seeds Refused"


def discard_count(what: str, number: int) -> None:
    """For processes without metrics."""


def discard_note(event: str, job_id: str, execution_id: str, kind: str, count: int) -> None:
    """For processes that keep no logs of jobs."""


def note_seeds(note: NoteRunEvent, taken: Sequence[AcceptedSeed], refused: Sequence[RefusedSeed]) -> None:
    """Note what became of seeds, run by run."""
    runs = Counter((sown.origin.job_id, sown.origin.execution_id) for sown in taken)
    for run, count in runs.items():
        note(SEEDS_ACCEPTED, *run, "", count)
    whys = Counter((seed.job_id, seed.execution_id, seed.reason) for seed in refused)
    for why, count in whys.items():
        note(SEEDS_REFUSED, *why, count)
