"""Names of jobs and runs that seeds may choose, and the run that each seed belongs to.

Owners and raw senders have namespaces of their own, so that no unknown sender can add to, limit or end what
another sender has named:

    an owner's name     as it is
    a raw seed's name   `raw.` before it; where its run has limits, `raw-<digest of the limits>.`
    no run, limits      a raw seed is a run of its own, `raw-seed.<digest>`; without a job it is a job, too
    no job, no limits   the standing job `adhoc`, which all senders share: a run for each spec and UTC day

Names that the crawler gives itself are reserved. Pure.
"""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final, NamedTuple

from .generated.events import CrawlSpecDeclared, SeedSubmitted
from .ids import ADHOC_JOB_ID
from .owner_signature import SenderRole

MAX_NAME_CHARS: Final = 200
"""Of job, run and source: they become parts of keys."""

MAX_RAW_NAME_CHARS: Final = 180
"""The same for a raw seed, whose names become longer."""

RAW_PREFIX: Final = "raw."

LIMIT_FIELDS: Final = tuple(
    field.name
    for field in fields(CrawlSpecDeclared)
    if field.name.startswith(("max_pages", "max_bytes", "max_seconds"))
)
"""Fields of a crawl spec that limit a run."""

FEED_RUN_PREFIX: Final = ".feeds."
"""Begins the names of the runs in which feeds are polled."""

_LIMITED_PREFIX: Final = "raw-"
_OWN_RUN_PREFIX: Final = "raw-seed."
_SPEC_CHARACTERS: Final = 12
_LIMITS_BYTES: Final = 6
_SEED_BYTES: Final = 10
_LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999: a client may put any number into a message's timestamp."""

_UNFIT_NAME: Final = re.compile(r"[\s{}\x00-\x1f\x7f-\x9f]")
_RUN_NAMES: Final = ("job_id", "execution_id")
_OTHER_NAMES: Final = ("source_id", "crawl_spec_id")
_RESERVED: Final = {
    ".": "the crawler's own jobs",
    f"{ADHOC_JOB_ID}-": "the runs of the standing job",
    f"{ADHOC_JOB_ID}.": "the standing job's set of known URLs",
}
"""Beginnings of names that no seed may choose, and what has them."""

_RESERVED_FOR_RAW: Final = {RAW_PREFIX: "the names of raw seeds", _LIMITED_PREFIX: "the names of raw seeds"}
"""Beginnings that an owner may not choose, so that no unknown sender can have the same name."""


class RunNames(NamedTuple):
    """The job and the run of a seed."""

    job_id: str
    execution_id: str


def name_fault(seed: SeedSubmitted, sender: SenderRole) -> str:
    """Return why a seed may not have the names that it gives, with the field; empty where it may."""
    longest = MAX_RAW_NAME_CHARS if sender is SenderRole.RAW else MAX_NAME_CHARS
    for field in (*_RUN_NAMES, *_OTHER_NAMES):
        text = getattr(seed, field) or ""
        if len(text) > longest:
            return f"{field} has {len(text)} characters, the limit is {longest}"
        if _UNFIT_NAME.search(text):
            return f"{field} contains a blank, a brace or a control character"
    reserved = _RESERVED if sender is SenderRole.RAW else {**_RESERVED, **_RESERVED_FOR_RAW}
    for field in _RUN_NAMES:
        text = getattr(seed, field) or ""
        for beginning, owner in reserved.items():
            if text.startswith(beginning):
                return f"{field} is {text!r}: names that begin with {beginning} are reserved for {owner}"
    if seed.execution_id == ADHOC_JOB_ID:
        return f"execution_id is {ADHOC_JOB_ID!r}, which is the name of the standing job"
    if seed.source_id and sender is SenderRole.RAW:
        return "source_id: only an owner may name a source; sign the seed with STRIDER_OWNER_KEY, or omit it"
    return ""


def names_of_seed(
    seed: SeedSubmitted, spec: CrawlSpecDeclared, *, sender: SenderRole, position: str, timestamp_ms: int
) -> RunNames:
    """Return the job and the run of a seed without a fault of names.

    `position` is that of its message, and `timestamp_ms` the message's: a redelivery has both, so that it is
    the same run.
    """
    job_id = job_id_of_seed(seed, sender)
    if sender is SenderRole.OWNER:
        return RunNames(job_id, seed.execution_id or _run_of_day(job_id, spec, timestamp_ms))
    limits = _limits_digest(spec)
    if seed.execution_id:
        run = seed.execution_id.removeprefix(RAW_PREFIX)
        return RunNames(job_id, f"{_LIMITED_PREFIX}{limits}.{run}" if limits else f"{RAW_PREFIX}{run}")
    if limits:
        run = _own_run(seed, spec, position=position, timestamp_ms=timestamp_ms)
        return RunNames(run if job_id == ADHOC_JOB_ID else job_id, run)
    return RunNames(job_id, _run_of_day(job_id, spec, timestamp_ms))


def job_id_of_seed(seed: SeedSubmitted, sender: SenderRole) -> str:
    """Return the id of the job that a seed names, or of the standing job."""
    if not seed.job_id or seed.job_id == ADHOC_JOB_ID:
        return ADHOC_JOB_ID
    return _raw_name(seed.job_id) if sender is SenderRole.RAW else seed.job_id


def feed_run_of(job_id: str) -> str:
    """Return the run in which the feeds of a job are polled: it has no end, and no seed can name it."""
    return FEED_RUN_PREFIX + job_id


def is_raw_name(name: str) -> bool:
    """Whether a job or run has a name that only raw seeds have: as many as their senders make up."""
    return name.startswith((RAW_PREFIX, _LIMITED_PREFIX))


def refused_names(seed: SeedSubmitted, sender: SenderRole) -> RunNames:
    """Return the names under which a refusal is reported: never those of another sender, or reserved ones."""
    if name_fault(seed, sender):
        return RunNames("", "")
    run = seed.execution_id or ""
    return RunNames(job_id_of_seed(seed, sender), _raw_name(run) if run and sender is SenderRole.RAW else run)


def _raw_name(name: str) -> str:
    return RAW_PREFIX + name.removeprefix(RAW_PREFIX)


def _run_of_day(job_id: str, spec: CrawlSpecDeclared, timestamp_ms: int) -> str:
    """Return the run of a job, UTC day and spec."""
    seconds = min(max(timestamp_ms, 0), _LAST_MS) / 1000
    day = datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%d")
    return f"{job_id}-{day}-{spec.crawl_spec_id[:_SPEC_CHARACTERS]}"


def _limits_digest(spec: CrawlSpecDeclared) -> str:
    """Return a digest of the limits of a spec; empty where it has none."""
    limits = [f"{name}={value}" for name in LIMIT_FIELDS if (value := getattr(spec, name))]
    return _digest(*limits, size_bytes=_LIMITS_BYTES) if limits else ""


def _own_run(seed: SeedSubmitted, spec: CrawlSpecDeclared, *, position: str, timestamp_ms: int) -> str:
    """Return the run of a single seed: by its `seed_id` if it has one, else by its message."""
    which = ("id", seed.seed_id) if seed.seed_id else ("message", position, str(timestamp_ms))
    return _OWN_RUN_PREFIX + _digest(*which, seed.url, spec.crawl_spec_id, size_bytes=_SEED_BYTES)


def _digest(*parts: str, size_bytes: int) -> str:
    whole = blake2b(digest_size=size_bytes)
    for part in parts:
        text = part.encode("utf-8", "surrogatepass")
        whole.update(len(text).to_bytes(4, "big") + text)
    return whole.hexdigest()
