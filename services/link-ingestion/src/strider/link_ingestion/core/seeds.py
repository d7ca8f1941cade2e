"""Decide about a seed: a link at depth 0, or a refusal with its reason.

People write seeds, so every mistake has a sentence: what is wrong, where, and what would be right. Nothing
here is an exception or a dead letter. Knows no topics and no stores; the caller passes the crawl specs that
exist.

The personal headers of a seed are encrypted here, for the origin of its URL, before they are part of a crawl
spec.

A message that closes a run is a command, or a refusal. It names the run as its seeds do, so that a sender
closes what it has named and nothing else: of a raw sender in the namespace of raw seeds, and with the same
limits. A repeat changes nothing. Whether the run is over is the scheduler's decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from strider.contracts.generated.enums import DecisionReason, LinkVia, RequestKind
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import CrawlSpecDeclared, JobEvent, SeedSubmitted
from strider.contracts.generated.topics import SEEDS_OWNED, SEEDS_SUBMITTED
from strider.contracts.ids import command_id
from strider.contracts.numbered_seeds import NUMBERED_TOPIC, parse_seed_number
from strider.contracts.owner_signature import SIGNATURE_NAME, SenderRole
from strider.contracts.seed_limits import (
    SEED_RANGES,
    SEED_WORDS,
    seed_range_error,
    seed_word_error,
    spec_range_error,
)
from strider.contracts.seed_names import MAX_NAME_CHARS, name_fault, names_of_seed, refused_names
from strider.contracts.specs.crawl_specs import spec_from_seed
from strider.contracts.specs.fields import conflict_fault
from strider.contracts.specs.settings import settings_fault
from strider.politeness import HeaderRefused, ProtectHeaders, header_fault, refuse_clear_values
from strider.urls import (
    InvalidPattern,
    RefusedUrl,
    address_refusal,
    compile_patterns,
    host_kind,
    host_of,
    origin_of,
    spec_scope_fault,
    to_wire_url,
    url_hash,
    url_key_of,
)

from .link_batches import LinkItem, LinkOrigin, SeedPosition
from .raw_seeds import (
    DEFAULT_LIMITS,
    RawSeedLimits,
    raw_seed_fault,
    raw_spec_fault,
)
from .refusal_events import RefusedSeed

REPLAY_HEADER: Final = "replay-id"

REPLAYED_SEED: Final = (
    f"{REPLAY_HEADER}: the header marks messages that are sent again for the read models, and a seed is for "
    "none of them; send the seed without it"
)

UNSIGNED_SEED: Final = (
    f"{SIGNATURE_NAME}: missing, and {SEEDS_OWNED.name} takes signed seeds alone; sign the seed with "
    f"STRIDER_OWNER_KEY, or send it to {SEEDS_SUBMITTED.name} as a raw seed"
)

_MAX_TEXT_CHARS: Final = 500
"""Of a text that is not a URL, and of a sentence: enough to find it again."""

NO_RUN: Final = "close: the message names no run; name it in `run`"
HAS_URL: Final = "close: a message that closes a run has no URL; publish the seed before it"
BOTH_SPECS: Final = "spec: the seed names a crawl spec by crawl_spec_id as well; set one of them"
_UNNAMED_SENDER: Final = "a sender of seeds"

_BAD_KINDS: Final = frozenset({RequestKind.ROBOTS})
"""robots.txt is requested by the scheduler only, and is not a page."""


@dataclass(frozen=True, slots=True)
class AcceptedSeed:
    """An accepted seed."""

    item: LinkItem
    origin: LinkOrigin
    host: str
    spec: CrawlSpecDeclared | None
    """To be published before the seed's link; None where the seed names a declared spec."""


@dataclass(frozen=True, slots=True)
class SeedRules:
    """Rules of a deployment for its seeds."""

    allow_private: bool = False
    limits: RawSeedLimits = DEFAULT_LIMITS
    """Of seeds without an owner's signature."""
    protect_headers: ProtectHeaders = refuse_clear_values


def accept_seed(
    seed: SeedSubmitted,
    position: SeedPosition,
    *,
    sender: SenderRole,
    timestamp_ms: int,
    known_specs: Mapping[str, CrawlSpecDeclared],
    rules: SeedRules,
) -> AcceptedSeed | RefusedSeed:
    """Accept or refuse a seed; `known_specs` has the specs that seeds may name."""
    found = to_wire_url(seed.url)
    named = known_specs.get(seed.crawl_spec_id) if seed.crawl_spec_id else None
    for reason, detail in _objections(seed, found, named, sender=sender, rules=rules):
        return _refuse(seed, found, reason, detail, sender=sender)
    assert not isinstance(found, RefusedUrl), "refused before"
    try:
        spec = named or spec_from_seed(_protected(seed, found, rules))
    except HeaderRefused as refused:
        return _refuse(seed, found, DecisionReason.BAD_SEED, str(refused), sender=sender)
    names = names_of_seed(
        seed, spec, sender=sender, position="/".join(map(str, position)), timestamp_ms=timestamp_ms
    )
    origin = LinkOrigin(LinkVia.SEED, "", "", *names, spec.crawl_spec_id, 0)
    item = LinkItem(
        url=found,
        url_key=url_hash(url_key_of(found)),
        depth=0,
        priority=seed.priority,
        kind=seed.kind,
        is_start=True,
        is_fresh=seed.fresh,
        seed=_order_of(seed, position, sender),
        attachment=seed.metadata,
    )
    return AcceptedSeed(item, origin, host_of(found), None if named else spec)


def _order_of(seed: SeedSubmitted, position: SeedPosition, sender: SenderRole) -> SeedPosition:
    """Return what orders a seed among those of its URL: its number, or the position of its message.

    Only an owner numbers seeds: in a job that all senders share, a raw seed could pass over another one's.
    """
    number = parse_seed_number(seed.seed_id) if sender is SenderRole.OWNER else None
    return position if number is None else SeedPosition(NUMBERED_TOPIC, number.partition, number.number)


def _protected(seed: SeedSubmitted, url: str, rules: SeedRules) -> SeedSubmitted:
    """Return a seed without clear personal headers; raises HeaderRefused."""
    if not seed.headers:
        return seed
    return replace(seed, headers=rules.protect_headers(seed.headers, (origin_of(url),)))


def refuse_headers(seed: SeedSubmitted, detail: str) -> RefusedSeed:
    """Refuse a seed for the headers of its message; it is reported under the names of a raw seed."""
    found = to_wire_url(seed.url)
    return _refuse(seed, found, DecisionReason.BAD_SEED, detail, sender=SenderRole.RAW)


def _objections(
    seed: SeedSubmitted,
    found: str | RefusedUrl,
    named: CrawlSpecDeclared | None,
    *,
    sender: SenderRole,
    rules: SeedRules,
) -> Iterator[tuple[str, str]]:
    """Yield why a seed is refused, as reason and detail; `named` is the spec that it names, or None."""
    limits, allow_private, is_raw = rules.limits, rules.allow_private, sender is SenderRole.RAW
    if fault := seed_fault(seed, sender):
        yield DecisionReason.BAD_SEED, fault
    if is_raw and (fault := raw_seed_fault(seed, limits, allow_private=allow_private)):
        yield DecisionReason.BAD_SEED, fault
    if seed.crawl_spec_id and named is None:
        yield DecisionReason.UNKNOWN_SPEC, f"no crawl spec {seed.crawl_spec_id} was published on crawl-specs"
    if named is not None and (fault := spec_range_error(named) or _pattern_fault(named)):
        yield DecisionReason.UNKNOWN_SPEC, f"the crawl spec cannot be used: {fault}"
    if is_raw and named is not None:
        fault = raw_spec_fault(named, limits, url=seed.url, allow_private=allow_private)
        if fault:
            yield DecisionReason.BAD_SEED, fault
    if isinstance(found, RefusedUrl):
        yield found.reason, _detail_of(found, seed.url)
    elif blocked := address_refusal(host_kind(host_of(found)), allow_private=allow_private):
        yield blocked.reason, blocked.detail


def seed_fault(seed: SeedSubmitted, sender: SenderRole) -> str:
    """Return the first fault of a seed's fields; empty for none."""
    return (
        _number_fault(seed)
        or _word_fault(seed)
        or name_fault(seed, sender)
        or (f"kind is {seed.kind!r}, which seeds may not request" if seed.kind in _BAD_KINDS else "")
        or _pattern_fault(seed)
        or header_fault(seed.headers)
        or _settings_fault(seed)
    )


def _settings_fault(seed: SeedSubmitted) -> str:
    """Return the first fault of the field `spec`."""
    if not seed.spec:
        return ""
    if seed.crawl_spec_id:
        return BOTH_SPECS
    if fault := settings_fault(seed.spec):
        return fault
    spec = spec_from_seed(seed)
    fault = spec_scope_fault(spec) or conflict_fault(spec)
    return f"spec.{fault}" if fault else ""


def _number_fault(seed: SeedSubmitted) -> str:
    """Apply the ranges of JSON seeds to Avro seeds as well."""
    values = ((name, getattr(seed, name)) for name in SEED_RANGES)
    return next(
        (fault for name, value in values if value is not None and (fault := seed_range_error(name, value))),
        "",
    )


def _word_fault(seed: SeedSubmitted) -> str:
    """Apply the word lists of JSON seeds to Avro seeds as well: a crawl spec could not carry another word."""
    values = ((name, getattr(seed, name)) for name in SEED_WORDS)
    return next(
        (fault for name, word in values if word is not None and (fault := seed_word_error(name, word))), ""
    )


def _pattern_fault(of: SeedSubmitted | CrawlSpecDeclared) -> str:
    patterns = compile_patterns(of.include, of.exclude)
    return patterns.sentence() if isinstance(patterns, InvalidPattern) else ""


def _detail_of(refused: RefusedUrl, text: str) -> str:
    """Add a suggestion where only the scheme is missing, the most frequent mistake."""
    if refused.reason != DecisionReason.BAD_URL or "://" in text:
        return refused.detail
    guess = to_wire_url(f"https://{text.strip()}")
    return refused.detail if isinstance(guess, RefusedUrl) else f"without a scheme; did you mean {guess}?"


def _refuse(
    seed: SeedSubmitted, found: str | RefusedUrl, reason: str, detail: str, *, sender: SenderRole
) -> RefusedSeed:
    """Refuse a seed; its key is kept, so that `strider why` finds it."""
    names = refused_names(seed, sender)
    return RefusedSeed(
        url=seed.url[:_MAX_TEXT_CHARS] if isinstance(found, RefusedUrl) else found,
        url_key="" if isinstance(found, RefusedUrl) else url_hash(url_key_of(found)),
        reason=reason,
        detail=detail[:_MAX_TEXT_CHARS],
        job_id=names.job_id[:MAX_NAME_CHARS],
        execution_id=names.execution_id[:MAX_NAME_CHARS],
    )


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
    if fault := seed_fault(seed, sender) or _closing_fault(seed):
        return _refuse_closing(seed, DecisionReason.BAD_SEED, fault, sender)
    if seed.crawl_spec_id and named is None:
        unknown = f"no crawl spec {seed.crawl_spec_id} was published on crawl-specs"
        return _refuse_closing(seed, DecisionReason.UNKNOWN_SPEC, unknown, sender)
    spec = named or spec_from_seed(seed)
    # A run that the message names depends on neither its position nor its time.
    names = names_of_seed(seed, spec, sender=sender, position="", timestamp_ms=0)
    return ClosedRun(names.execution_id, seed.submitted_by[:MAX_NAME_CHARS] or _UNNAMED_SENDER, names.job_id)


def _closing_fault(seed: SeedSubmitted) -> str:
    if seed.url:
        return HAS_URL
    return "" if seed.execution_id else NO_RUN


def _refuse_closing(seed: SeedSubmitted, reason: str, detail: str, sender: SenderRole) -> RefusedSeed:
    names = refused_names(seed, sender)
    return RefusedSeed(
        url=seed.url[:_MAX_TEXT_CHARS],
        url_key="",
        reason=reason,
        detail=detail[:_MAX_TEXT_CHARS],
        job_id=names.job_id[:MAX_NAME_CHARS],
        execution_id=names.execution_id[:MAX_NAME_CHARS],
    )
