"""Follow, refuse or close a redirect, and build the messages of redirect targets.

    same key                      ──▶ the same entry, with its new URL
    no URL, a loop, too many      ──▶ closed for that reason
    outside of scope and rules    ──▶ closed as redirected, its target refused
    anything else                 ──▶ closed as redirected, its target a candidate of its own

A target has to be in scope as a link of the redirecting page would; a start URL may also move within its
registrable domain (`example.org` to `www.example.org`), or such sites could not be crawled. Targets are
published to links-discovered, to the shard of their host, as many in one message as fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import DecisionReason, EntryReason, EntryState, LinkVia, RequestKind
from strider.contracts.generated.events import (
    CrawlSpecDeclared,
    EntryRecorded,
    FetchCompleted,
    LinksDiscovered,
)
from strider.contracts.partitioning import shard_of_host
from strider.urls import (
    CrawlScope,
    InvalidPattern,
    RefusedUrl,
    build_scope,
    host_group_of,
    host_of,
    registrable_domain,
)
from strider.urls.templates import repeated_path_fault

from .acceptance import MAX_REDIRECTS, UrlRefusal, refuse_url
from .candidates import Candidate, CandidateOrigin, redirect_token
from .state import close_entry
from .url_decisions import UrlDecision, refused_decision, split_by_size

MAX_URLS: Final = 500
"""Redirect targets in one message."""
MAX_CHARACTERS: Final = 128 * 1024
"""Characters of URLs, chains and metadata in one message: half of its topic's limit in bytes."""


SPECS_KEPT: Final = 512
"""Crawl specs whose compiled scope is kept."""
VERDICTS_KEPT: Final = 10_000
"""Verdicts of patterns on redirect targets that are kept."""


class SpecScopes:
    """Scopes of recent crawl specs, compiled once, and verdicts of their patterns on redirect targets."""

    def __init__(self) -> None:
        self._scopes: dict[str, tuple[CrawlSpecDeclared, CrawlScope | InvalidPattern | RefusedUrl]] = {}
        self._path_reasons: dict[tuple[str, str], str] = {}

    def spec_fault(self, spec: CrawlSpecDeclared) -> str:
        """Return why a spec cannot be used; empty where it can."""
        scope = self._scope_of(spec)
        if isinstance(scope, CrawlScope):
            return ""
        return scope.sentence() if isinstance(scope, InvalidPattern) else scope.detail

    def refusal_reason(self, spec: CrawlSpecDeclared, page: str, target: str) -> str:
        """Return why a link of a page is out of scope, or an empty text."""
        scope = self._scope_of(spec)
        assert isinstance(scope, CrawlScope), "the spec was checked before"
        reason = self._path_reasons.get((spec.crawl_spec_id, target))
        scope = scope.with_seed(spec.scope, page)
        if reason is None or not scope.includes_host(host_of(target)):
            return scope.refusal_reason(target)
        return reason

    def match_steps(self, spec: CrawlSpecDeclared, target: str) -> int:
        """Return the work of matching the patterns of a spec with a URL, at most."""
        scope = self._scope_of(spec)
        return scope.pattern_size * len(target) if isinstance(scope, CrawlScope) else 0

    def path_reasons(self, targets: Iterable[tuple[CrawlSpecDeclared, str]]) -> Mapping[tuple[str, str], str]:
        """Match targets with the paths and patterns of their specs; may run in a thread."""
        return {
            (spec.crawl_spec_id, target): scope.path_refusal_reason(target)
            for spec, target in targets
            if isinstance(scope := self._scope_of(spec), CrawlScope)
        }

    def keep(self, path_reasons: Mapping[tuple[str, str], str]) -> None:
        """Keep verdicts, so that the decision about their redirects does not match them again."""
        if len(self._path_reasons) > VERDICTS_KEPT:
            self._path_reasons.clear()
        self._path_reasons.update(path_reasons)

    def _scope_of(self, spec: CrawlSpecDeclared) -> CrawlScope | InvalidPattern | RefusedUrl:
        known = self._scopes.get(spec.crawl_spec_id)
        if known is not None and known[0] is spec:
            return known[1]
        if len(self._scopes) >= SPECS_KEPT:
            self._scopes.clear()
        scope = build_scope(
            spec.scope,
            hosts=spec.hosts,
            domains=spec.domains,
            path_prefixes=spec.path_prefixes,
            include=spec.include,
            exclude=spec.exclude,
        )
        self._scopes[spec.crawl_spec_id] = spec, scope
        return scope


@dataclass(frozen=True, slots=True)
class RedirectResult:
    """Closed or changed entry of a redirect, and its target."""

    entry: EntryRecorded
    target: Candidate | None = None
    """New candidate; its shard may be another one."""
    refused_target: UrlDecision | None = None
    """Decision about the target, where it may not be fetched."""
    detail: str = ""


def apply_redirect(  # noqa: PLR0911  # one a case of the table above
    entry: EntryRecorded,
    outcome: FetchCompleted,
    spec: CrawlSpecDeclared,
    *,
    now_ms: int,
    allow_private: bool,
    by_domain: bool,
    scopes: SpecScopes,
) -> RedirectResult:
    """Decide about a redirect; the entry has the sequence and status of the outcome already."""
    target, key = outcome.redirect_target, outcome.redirect_target_key
    entry_with_target = replace_fields(entry, redirect_target=target)
    if outcome.redirect_refused and not target:
        return RedirectResult(
            close_entry(entry_with_target, _refusal_reason(outcome.redirect_refused), now_ms=now_ms)
        )
    if not target or not key:
        return RedirectResult(close_entry(entry_with_target, DecisionReason.BAD_REDIRECT, now_ms=now_ms))
    if target == entry.url or target in entry.redirect_chain:
        closed = close_entry(entry_with_target, DecisionReason.REDIRECT_LOOP, now_ms=now_ms)
        return RedirectResult(closed, detail=_loop_text((*entry.redirect_chain, entry.url), target))
    if entry.hop + 1 > (max_redirects := min(spec.max_hops, MAX_REDIRECTS)):
        detail = f"more than {max_redirects} redirects"
        return RedirectResult(
            close_entry(entry_with_target, DecisionReason.TOO_MANY_REDIRECTS, now_ms=now_ms), detail=detail
        )
    if key == entry.url_key:
        if outcome.redirect_refused:
            return RedirectResult(
                close_entry(entry_with_target, _refusal_reason(outcome.redirect_refused), now_ms=now_ms)
            )
        return RedirectResult(change_entry_url(entry, target, now_ms=now_ms))
    candidate = _target_candidate(entry, outcome, by_domain=by_domain)
    closed = close_entry(entry_with_target, DecisionReason.REDIRECTED, now_ms=now_ms)
    refusal = _refuse_target(entry, outcome, spec, allow_private=allow_private, scopes=scopes)
    if refusal is None:
        return RedirectResult(closed, target=candidate)
    return RedirectResult(closed, refused_target=refused_decision(candidate, refusal.reason, refusal.detail))


def _loop_text(chain: tuple[str, ...], target: str) -> str:
    """Return the URLs of a loop, from the one to which the last redirect leads back."""
    return " -> ".join((*chain[chain.index(target) :], target))


def change_entry_url(entry: EntryRecorded, url: str, *, now_ms: int) -> EntryRecorded:
    """Requeue an entry under another URL of the same key."""
    return replace_fields(
        entry,
        url=url,
        hop=entry.hop + 1,
        redirect_chain=(*entry.redirect_chain, entry.url),
        state=EntryState.PENDING,
        reason=EntryReason.REDIRECTED,
        tries=0,
        due_at_ms=now_ms,
        updated_at_ms=now_ms,
    )


def _refuse_target(
    entry: EntryRecorded,
    outcome: FetchCompleted,
    spec: CrawlSpecDeclared,
    *,
    allow_private: bool,
    scopes: SpecScopes,
) -> UrlRefusal | None:
    if outcome.redirect_refused:
        return UrlRefusal(_refusal_reason(outcome.redirect_refused))
    if (refusal := refuse_url(outcome.redirect_target, spec, allow_private=allow_private)) is not None:
        return refusal
    if fault := scopes.spec_fault(spec):
        return UrlRefusal(DecisionReason.UNKNOWN_SPEC, f"the crawl spec cannot be used: {fault}")
    if fault := repeated_path_fault(outcome.redirect_target):
        return UrlRefusal(DecisionReason.TRAP_SUSPECTED, fault)
    if entry.is_start and _is_same_site(entry, outcome.redirect_target):
        return None
    reason = scopes.refusal_reason(spec, entry.url, outcome.redirect_target)
    return UrlRefusal(DecisionReason(reason)) if reason else None


def _is_same_site(entry: EntryRecorded, target: str) -> bool:
    return registrable_domain(host_of(target)) == registrable_domain(host_of(entry.url))


def _target_candidate(entry: EntryRecorded, outcome: FetchCompleted, *, by_domain: bool) -> Candidate:
    url = outcome.redirect_target
    return Candidate(
        url=url,
        url_key=outcome.redirect_target_key,
        origin=CandidateOrigin(
            LinkVia.REDIRECT,
            entry.url,
            entry.url_key,
            entry.job_id,
            entry.execution_id,
            entry.crawl_spec_id,
        ),
        depth=entry.depth,
        priority=entry.priority,
        group=host_group_of(url, by_domain=by_domain),
        hop=entry.hop + 1,
        kind=entry.kind or RequestKind.PAGE,
        is_start=entry.is_start,
        # A seed that is submitted again has to reach the page behind its redirect again.
        seed_token=redirect_token(entry.discovered_at_ms) if entry.seed_token else "",
        redirect_chain=(*entry.redirect_chain, entry.url),
        metadata=entry.metadata,
    )


def _refusal_reason(reason: str) -> DecisionReason:
    try:
        return DecisionReason(reason)
    except ValueError:  # a reason of a newer fetcher
        return DecisionReason.BAD_REDIRECT


def redirect_messages(targets: Iterable[Candidate], *, shards: int, now_ms: int) -> Iterator[LinksDiscovered]:
    """Return messages of redirect targets, by shard."""
    by_shard: dict[int, list[Candidate]] = {}
    for target in targets:
        by_shard.setdefault(shard_of_host(host_of(target.url), shards), []).append(target)
    for shard, targets_of_shard in by_shard.items():
        for batch in split_by_size(
            targets_of_shard, _size, max_items=MAX_URLS, max_characters=MAX_CHARACTERS
        ):
            yield _message(batch, shard=shard, shards=shards, now_ms=now_ms)


def _size(target: Candidate) -> int:
    origin = target.origin
    own = (target.url, target.url_key, target.seed_token, *target.redirect_chain)
    of_origin = (origin.url, origin.url_key, origin.job_id, origin.execution_id, origin.crawl_spec_id)
    metadata = (text for pair in target.metadata.items() for text in pair)
    return sum(map(len, (*own, *of_origin, *metadata)))


def _message(targets: Sequence[Candidate], *, shard: int, shards: int, now_ms: int) -> LinksDiscovered:
    origins = [target.origin for target in targets]
    tokens = [_token_parts(target.seed_token) for target in targets]
    return LinksDiscovered(
        shard=shard,
        shards=shards,
        urls=tuple(target.url for target in targets),
        url_keys=tuple(target.url_key for target in targets),
        from_at=tuple(range(len(targets))),
        from_vias=tuple(origin.via for origin in origins),
        from_urls=tuple(origin.url for origin in origins),
        from_url_keys=tuple(origin.url_key for origin in origins),
        from_job_ids=tuple(origin.job_id for origin in origins),
        from_execution_ids=tuple(origin.execution_id for origin in origins),
        from_crawl_spec_ids=tuple(origin.crawl_spec_id for origin in origins),
        from_fetch_sequences=(0,) * len(targets),
        depths=tuple(target.depth for target in targets),
        priorities=tuple(target.priority for target in targets),
        hops=tuple(target.hop for target in targets),
        kinds=tuple(target.kind for target in targets),
        start_flags=tuple(target.is_start for target in targets),
        seed_topics=tuple(topic for topic, _, _ in tokens),
        seed_partitions=tuple(partition for _, partition, _ in tokens),
        seed_offsets=tuple(offset for _, _, offset in tokens),
        redirect_chains=tuple(target.redirect_chain for target in targets),
        attachments=tuple(target.metadata for target in targets),
        spoken_at_ms=now_ms,
    )


def _token_parts(token: str) -> tuple[str, int, int]:
    if not token:
        return "", 0, 0
    topic, partition, offset = token.rsplit("/", 2)
    return topic, int(partition), int(offset)
