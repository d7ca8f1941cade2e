"""Queries and replies between shards about a robots.txt that redirects to another host.

    site's shard    ── query: what is the robots.txt of the target? ──▶ target's shard
    site's shard    ◀── reply: its text, absent, failed, or a redirect ──  target's shard

A lease for one host group allows no request to another, so the target's shard fetches the file as it fetches
any robots.txt of its own: by a lease of the target's group, unless its rules are known already. A reply that
is a redirect leads to the next query, at most `MAX_REDIRECTS` in all. Both travel on links-discovered as one
URL of kind `robots` of a job that no client can name; neither becomes an entry. Here are the values and
their encoding; `handlers/robots_redirects.py` sends and handles them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import EntryReason, EntryState, ErrorClass, LinkVia, RequestKind
from strider.contracts.generated.events import EntryRecorded, FetchCompleted, LinksDiscovered
from strider.politeness.robots.freshness import (
    OriginRobots,
    RobotsFetchResult,
    RobotsResponse,
    RobotsStatus,
)
from strider.scheduler.core.entries.acceptance import MAX_REDIRECTS
from strider.scheduler.core.entries.candidates import Candidate, CandidateOrigin
from strider.scheduler.core.entries.redirects import redirect_messages
from strider.urls import host_group_of, origin_of, url_hash, url_key_of

from .robots import ROBOTS_PATH

ROBOTS_QUERY_JOB: Final = ".robots-of-other-hosts"
"""Job of queries, replies, and of the requests that a query leads to."""

HIGHEST_PRIORITY: Final = 3

_SEQUENCE, _RESULT, _TEXT, _STATUS, _TARGET = "sequence", "result", "text", "status", "target"
"""Fields of queries and replies in the attachment of their URL."""


@fast_dataclass(frozen=True, slots=True)
class RobotsQuery:
    """A query for the robots.txt at a URL, on behalf of an origin whose robots.txt redirects there."""

    url: str
    chain: tuple[str, ...]
    """The robots.txt URLs that redirected there, oldest first."""
    sequence: int
    """Fetch sequence of the origin's request."""

    @property
    def origin(self) -> str:
        """The origin on whose behalf it is."""
        return origin_of(self.chain[0])


@fast_dataclass(frozen=True, slots=True)
class RobotsReply:
    """The reply to a query."""

    query: RobotsQuery
    result: RobotsFetchResult
    text: str = ""
    status: int = 0
    target: str = ""
    """Where it redirects to, by the result."""


RobotsMessage: TypeAlias = RobotsQuery | RobotsReply


def first_query(outcome: FetchCompleted) -> RobotsQuery:
    """Return the query that follows from the redirect of a robots.txt."""
    return RobotsQuery(outcome.redirect_target, (outcome.url,), outcome.fetch_sequence)


def next_query(reply: RobotsReply) -> RobotsQuery | None:
    """Return the query that follows from a reply; None where it is no redirect, a loop, or one too many."""
    before = reply.query
    chain = (*before.chain, before.url)
    if reply.result is not RobotsFetchResult.REDIRECTED or reply.target in chain:
        return None
    if len(chain) > MAX_REDIRECTS or not _is_robots_url(reply.target):
        return None
    return RobotsQuery(reply.target, chain, before.sequence)


def reply_to(query: RobotsQuery, origin_state: OriginRobots, *, now_ms: int) -> RobotsReply | None:
    """Return the reply that the state of the target allows; None where it has to be fetched first."""
    standing = origin_state.status_at(now_ms)
    if standing is RobotsStatus.FETCH_FIRST:
        return None
    if standing is RobotsStatus.APPLY_RULES:
        return RobotsReply(query, RobotsFetchResult.GOOD, origin_state.text, origin_state.status)
    if standing in {RobotsStatus.ALLOW_ALL, RobotsStatus.FORBIDDEN}:
        return RobotsReply(query, RobotsFetchResult.ABSENT, status=origin_state.status)
    if origin_state.error_class == ErrorClass.ROBOTS_REDIRECTED:
        return RobotsReply(query, RobotsFetchResult.REDIRECTED, target=origin_state.url)
    return RobotsReply(query, RobotsFetchResult.FAILED, status=origin_state.status)


def response_of(reply: RobotsReply, before: OriginRobots) -> RobotsResponse:
    """Return a reply as the response of the origin that redirected; a redirect without end as an absence."""
    result = RobotsFetchResult.ABSENT if reply.result is RobotsFetchResult.REDIRECTED else reply.result
    error = ErrorClass.ROBOTS_REDIRECTED if result is RobotsFetchResult.FAILED else ""
    return RobotsResponse(
        result,
        reply.query.sequence,
        text=reply.text,
        status=before.status if error else reply.status,
        url=reply.query.url,
        error_class=error,
    )


def is_robots_message(candidate: Candidate) -> bool:
    """Whether a URL of links-discovered is a query or a reply."""
    return candidate.kind == RequestKind.ROBOTS and candidate.origin.job_id == ROBOTS_QUERY_JOB


def parse_robots_message(candidate: Candidate) -> RobotsMessage:
    """Parse a query or a reply; raises ValueError."""
    fields, chain = candidate.metadata, candidate.redirect_chain
    if not chain or not fields.get(_SEQUENCE, "").isdecimal():
        raise ValueError(f"message about the robots.txt at {candidate.url} lacks its chain or sequence")
    if _RESULT not in fields:
        return RobotsQuery(candidate.url, chain, int(fields[_SEQUENCE]))
    return RobotsReply(
        RobotsQuery(candidate.origin.url, chain, int(fields[_SEQUENCE])),
        RobotsFetchResult(fields[_RESULT]),
        text=fields.get(_TEXT, ""),
        status=int(fields.get(_STATUS, "0")),
        target=fields.get(_TARGET, ""),
    )


def robots_messages(
    messages: Iterable[RobotsMessage], *, shards: int, now_ms: int, by_domain: bool
) -> Iterator[LinksDiscovered]:
    """Return queries and replies as messages, each to the shard of its URL's host."""
    candidates = (_candidate_of(each, by_domain=by_domain) for each in messages)
    return redirect_messages(candidates, shards=shards, now_ms=now_ms)


def _candidate_of(message: RobotsMessage, *, by_domain: bool) -> Candidate:
    if isinstance(message, RobotsQuery):
        query, url, from_url = message, message.url, message.chain[-1]
        fields = {_SEQUENCE: str(query.sequence)}
    else:
        query = message.query
        url, from_url = query.chain[0], query.url
        fields = {
            _SEQUENCE: str(query.sequence),
            _RESULT: message.result.value,
            _TEXT: message.text,
            _STATUS: str(message.status),
            _TARGET: message.target,
        }
    from_key = url_hash(url_key_of(from_url))
    origin = CandidateOrigin(LinkVia.REDIRECT, from_url, from_key, ROBOTS_QUERY_JOB, ROBOTS_QUERY_JOB, "")
    return Candidate(
        url=url,
        url_key=url_hash(url_key_of(url)),
        origin=origin,
        depth=0,
        priority=HIGHEST_PRIORITY,
        group=host_group_of(url, by_domain=by_domain),
        kind=RequestKind.ROBOTS,
        redirect_chain=query.chain,
        metadata=fields,
    )


def query_entry(query: RobotsQuery, *, by_domain: bool, now_ms: int) -> EntryRecorded:
    """Return the entry that waits in the queue of the target's group for a lease; it is never recorded."""
    return EntryRecorded(
        job_id=ROBOTS_QUERY_JOB,
        url_key=url_hash(url_key_of(query.url)),
        url=query.url,
        group=host_group_of(query.url, by_domain=by_domain),
        state=EntryState.PENDING,
        execution_id=ROBOTS_QUERY_JOB,
        crawl_spec_id="",
        fetch_sequence=0,
        updated_at_ms=now_ms,
        reason=EntryReason.WAITS_FOR_ROBOTS,
        priority=HIGHEST_PRIORITY,
        discovered_at_ms=now_ms,
        due_at_ms=now_ms,
    )


def _is_robots_url(url: str) -> bool:
    return url == origin_of(url) + ROBOTS_PATH
