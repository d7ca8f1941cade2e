"""Where does a redirect lead, and may it be followed?

    same key                      ──▶ the same entry, with its new URL
    no URL, a circle, too many    ──▶ closed for that
    outside of scope and rules    ──▶ closed as redirected, its target refused
    anything else                 ──▶ closed as redirected, its target a candidate of its own

A target stays in scope as a link of the redirecting page would; a start URL may also move within
its registrable domain (`example.org` to `www.example.org`), else such sites could not be crawled.
"""

from __future__ import annotations

from dataclasses import dataclass

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import DecisionReason, EntryReason, EntryState, LinkVia, RequestKind
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, FetchCompleted
from strider.urls import CrawlScope, build_scope, host_of, registrable_domain

from .acceptance import MAX_REDIRECTS, Refusal, refuse_url
from .candidates import Candidate, Origin, group_of
from .seed_tokens import redirect_token
from .state import close_entry
from .url_decisions import UrlDecision, refused_decision


@dataclass(frozen=True, slots=True)
class RedirectResult:
    """What follows from a redirect."""

    entry: EntryRecorded
    target: Candidate | None = None
    """To be discovered; its shard may be another one."""
    refused_target: UrlDecision | None = None
    """The target, where it may not be asked."""
    detail: str = ""


def apply_redirect(  # noqa: PLR0911  # one a case of the table above
    entry: EntryRecorded,
    outcome: FetchCompleted,
    spec: CrawlSpecDeclared,
    *,
    now_ms: int,
    allow_private: bool,
    by_domain: bool,
) -> RedirectResult:
    """Decide about a redirect; the entry carries the outcome's sequence and status already."""
    target, key = outcome.redirect_target, outcome.redirect_target_key
    named = replace_fields(entry, redirect_target=target)
    if outcome.redirect_refused and not target:
        return RedirectResult(close_entry(named, _reason(outcome.redirect_refused), now_ms=now_ms))
    if not target or not key:
        return RedirectResult(close_entry(named, DecisionReason.BAD_REDIRECT, now_ms=now_ms))
    if target == entry.url or target in entry.redirect_chain:
        return RedirectResult(close_entry(named, DecisionReason.REDIRECT_LOOP, now_ms=now_ms))
    if entry.hop + 1 > (most := min(spec.max_hops, MAX_REDIRECTS)):
        detail = f"more than {most}"
        return RedirectResult(
            close_entry(named, DecisionReason.TOO_MANY_REDIRECTS, now_ms=now_ms), detail=detail
        )
    if key == entry.url_key:
        if outcome.redirect_refused:
            return RedirectResult(close_entry(named, _reason(outcome.redirect_refused), now_ms=now_ms))
        return RedirectResult(change_entry_url(entry, target, now_ms=now_ms))
    candidate = _target_candidate(entry, outcome, by_domain=by_domain)
    ending = close_entry(named, DecisionReason.REDIRECTED, now_ms=now_ms)
    barrier = _refuse_target(entry, outcome, spec, allow_private=allow_private)
    if barrier is None:
        return RedirectResult(ending, target=candidate)
    return RedirectResult(ending, refused_target=refused_decision(candidate, barrier.reason, barrier.detail))


def change_entry_url(entry: EntryRecorded, url: str, *, now_ms: int) -> EntryRecorded:
    """Put an entry back under another URL of the same key."""
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
    entry: EntryRecorded, outcome: FetchCompleted, spec: CrawlSpecDeclared, *, allow_private: bool
) -> Refusal | None:
    if outcome.redirect_refused:
        return Refusal(_reason(outcome.redirect_refused))
    if (barrier := refuse_url(outcome.redirect_target, spec, allow_private=allow_private)) is not None:
        return barrier
    if entry.is_start and _is_same_site(entry, outcome.redirect_target):
        return None
    scope = page_scope(spec, entry.url)
    word = scope.refusal_reason(outcome.redirect_target) if isinstance(scope, CrawlScope) else ""
    return Refusal(DecisionReason(word)) if word else None


def page_scope(spec: CrawlSpecDeclared, page: str) -> object:
    """Give the bounds of what a page may lead to; a spec whose patterns cannot be read bounds nothing here.

    It was refused with its seed; a redirect is not the place to find out.
    """
    return build_scope(
        spec.scope,
        [page],
        hosts=spec.hosts,
        domains=spec.domains,
        path_prefixes=spec.path_prefixes,
        include=spec.include,
        exclude=spec.exclude,
    )


def _is_same_site(entry: EntryRecorded, target: str) -> bool:
    return registrable_domain(host_of(target)) == registrable_domain(host_of(entry.url))


def _target_candidate(entry: EntryRecorded, outcome: FetchCompleted, *, by_domain: bool) -> Candidate:
    url = outcome.redirect_target
    return Candidate(
        url=url,
        url_key=outcome.redirect_target_key,
        origin=Origin(
            LinkVia.REDIRECT,
            entry.url,
            entry.url_key,
            entry.job_id,
            entry.execution_id,
            entry.crawl_spec_id,
        ),
        depth=entry.depth,
        priority=entry.priority,
        group=group_of(url, by_domain=by_domain),
        hop=entry.hop + 1,
        kind=entry.kind or RequestKind.PAGE,
        is_start=entry.is_start,
        # A seed that is sent again shall reach the page behind it again.
        seed_token=redirect_token(entry.discovered_at_ms) if entry.seed_token else "",
        redirect_chain=(*entry.redirect_chain, entry.url),
        metadata=entry.metadata,
    )


def _reason(word: str) -> DecisionReason:
    try:
        return DecisionReason(word)
    except ValueError:  # a newer fetcher's word
        return DecisionReason.BAD_REDIRECT
