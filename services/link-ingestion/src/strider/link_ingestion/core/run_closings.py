"""Decide about a message that closes a run: a command, or a refusal with its reason.

The run is named as in its seeds, so that a sender closes what it has named and nothing else: of a raw sender
`run` is in the namespace of raw seeds, and a run with limits is named with the same limits. A repeat changes
nothing. Whether the run is over is the scheduler's decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from strider.contracts.crawl_specs import spec_from_seed
from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import CrawlSpecDeclared, JobEvent, SeedSubmitted
from strider.contracts.ids import command_id
from strider.contracts.owner_signature import SenderRole
from strider.contracts.seed_names import MAX_NAME_CHARS, names_of_seed, refused_names

from .refusal_events import RefusedSeed
from .seeds import seed_fault

NO_RUN: Final = "close: the message names no run; name it in `run`"
HAS_URL: Final = "close: a message that closes a run has no URL; publish the seed before it"
_UNNAMED_SENDER: Final = "a sender of seeds"


@dataclass(frozen=True, slots=True)
class ClosedRun:
    """A run of which no more seeds come."""

    execution_id: str
    by: str
    job_id: str = ""
    """The job that the message names, for the log of the run."""

    def command(self, *, now_ms: int) -> JobEvent:
        """Return the command; its id depends on the run alone."""
        return JobEvent(
            event_id=command_id(JobEventKind.CLOSE, execution_id=self.execution_id),
            what=JobEventKind.CLOSE.value,
            is_wish=True,
            at_ms=now_ms,
            by=self.by,
            execution_id=self.execution_id,
        )


def close_run(
    seed: SeedSubmitted, *, sender: SenderRole, known_specs: Mapping[str, CrawlSpecDeclared]
) -> ClosedRun | RefusedSeed:
    """Return the run that a message closes, or why it closes none."""
    named = known_specs.get(seed.crawl_spec_id) if seed.crawl_spec_id else None
    if fault := seed_fault(seed, sender) or _fault_of(seed):
        return _refuse(seed, DecisionReason.BAD_SEED, fault, sender)
    if seed.crawl_spec_id and named is None:
        unknown = f"no crawl spec {seed.crawl_spec_id} was published on crawl-specs"
        return _refuse(seed, DecisionReason.UNKNOWN_SPEC, unknown, sender)
    spec = named or spec_from_seed(seed)
    # A run that the message names depends on neither its position nor its time.
    names = names_of_seed(seed, spec, sender=sender, position="", timestamp_ms=0)
    return ClosedRun(names.execution_id, seed.submitted_by[:MAX_NAME_CHARS] or _UNNAMED_SENDER, names.job_id)


def _fault_of(seed: SeedSubmitted) -> str:
    if seed.url:
        return HAS_URL
    return "" if seed.execution_id else NO_RUN


def _refuse(seed: SeedSubmitted, reason: str, detail: str, sender: SenderRole) -> RefusedSeed:
    names = refused_names(seed, sender)
    return RefusedSeed(
        url=seed.url[:500],
        url_key="",
        reason=reason,
        detail=detail[:500],
        job_id=names.job_id[:MAX_NAME_CHARS],
        execution_id=names.execution_id[:MAX_NAME_CHARS],
    )
