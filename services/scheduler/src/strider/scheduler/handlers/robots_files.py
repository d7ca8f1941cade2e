"""Apply outcomes of robots.txt requests, and queries and replies of other shards.

A redirect to the robots.txt of another host group is followed by a query to the shard of that group (see
`core/hosts/redirect_queries.py`); its host group releases nothing until the reply, or for some seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import RobotsState
from strider.contracts.generated.events import EntryRecorded, FetchCompleted, HostRecorded
from strider.contracts.generated.topics import LINKS_DISCOVERED
from strider.messaging.effects import Publish
from strider.politeness.retry_policy import RandomSource
from strider.politeness.robots.freshness import (
    REDIRECT_WAIT_MS,
    OriginRobots,
    RobotsFetchResult,
    RobotsStatus,
    apply_redirect_target,
    apply_response,
)
from strider.politeness.robots.robots_txt import product_token
from strider.scheduler.core.entries.candidates import Candidate
from strider.scheduler.core.hosts.host_state import HostGroup, apply_robots_delay
from strider.scheduler.core.hosts.redirect_queries import (
    ROBOTS_QUERY_JOB,
    RobotsMessage,
    RobotsQuery,
    RobotsReply,
    first_query,
    next_query,
    parse_robots_message,
    query_entry,
    reply_to,
    response_of,
    robots_messages,
)
from strider.scheduler.core.hosts.robots import (
    is_robots_text_long,
    parse_robots,
    response_text,
    robots_fetch_result,
    robots_to_record,
    with_robots_excerpt,
)
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.shard.shard import OwnedShard
from strider.scheduler.shard.store_mapping import accepted_entry, query_conclusion
from strider.urls import host_group_of, origin_of


def is_query_waiting(shard: OwnedShard, entry: EntryRecorded) -> bool:
    """Whether the robots.txt that the entry of a query names has to be fetched, and may be."""
    origin, now_ms = origin_of(entry.url), shard.clock.now_ms()
    is_unknown = shard.robots.get(origin).origin_state.status_at(now_ms) is RobotsStatus.FETCH_FIRST
    is_blocked = shard.host_groups.get(entry.group).is_blocked(now_ms)
    return is_unknown and not is_blocked and shard.robots_queries.is_waiting(origin)


@dataclass(slots=True)
class RobotsUpdate:
    """Results of one batch in one shard."""

    hosts: list[HostRecorded] = field(default_factory=list)
    messages: list[RobotsMessage] = field(default_factory=list)
    """Queries and replies to publish."""
    unreachable: list[tuple[FetchCompleted, str]] = field(default_factory=list)
    """Failed requests of origins without rules, with their status or error."""
    waiting: list[RobotsQuery] = field(default_factory=list)
    """Queries whose target has to be fetched."""
    dropped: list[RobotsQuery] = field(default_factory=list)
    """Queries that waited too long."""
    replies: list[RobotsReply] = field(default_factory=list)
    """Replies that end a redirect of this shard."""


class RobotsFiles:
    """Updates the robots.txt files of shards."""

    def __init__(self, options: SchedulerOptions, *, chance: RandomSource) -> None:
        self._options = options
        self._chance = chance

    async def shorten(self, outcomes: Sequence[FetchCompleted]) -> list[FetchCompleted]:
        """Return outcomes with the excerpts of their robots.txt files that are kept, made in a thread."""
        shorten = partial(with_robots_excerpt, user_agent=self._options.user_agent)
        return [
            await asyncio.to_thread(shorten, each) if is_robots_text_long(each) else each for each in outcomes
        ]

    def apply_outcome(
        self, shard: OwnedShard, group: HostGroup, outcome: FetchCompleted, update: RobotsUpdate
    ) -> HostGroup:
        """Apply the outcome of a robots.txt request; return its host group after it."""
        now_ms = shard.clock.now_ms()
        response = robots_fetch_result(outcome)
        queries = shard.robots_queries.take(outcome.origin)
        is_redirect = response.result is RobotsFetchResult.REDIRECTED
        if is_redirect:
            update.messages += [RobotsReply(each, response.result, target=response.url) for each in queries]
        if is_redirect and outcome.job_id == ROBOTS_QUERY_JOB:
            return group  # no URL of the origin waits for it, so its own redirect is not followed
        before = shard.robots.get(outcome.origin).origin_state
        state = apply_response(before, response, now_ms=now_ms, random=self._chance)
        if is_redirect:
            update.messages.append(first_query(outcome))
        else:
            replies = (reply_to(each, state, now_ms=now_ms) for each in queries)
            update.messages += [reply for reply in replies if reply is not None]
        if state.state is RobotsState.UNREACHABLE and (not is_redirect or state.failures > 1):
            update.unreachable.append((outcome, response_text(state)))
        group = self._store(shard, group, outcome.origin, state, update)
        if not (is_redirect and state.state is RobotsState.UNREACHABLE):
            return group
        return replace_fields(group, robots_wait_until_ms=min(state.expires_at_ms, now_ms + REDIRECT_WAIT_MS))

    def receive(self, shard: OwnedShard, candidates: Sequence[Candidate]) -> RobotsUpdate:
        """Handle queries and replies of other shards; raises ValueError for a broken one."""
        update = RobotsUpdate()
        for message in map(parse_robots_message, candidates):
            if isinstance(message, RobotsQuery):
                self._receive_query(shard, message, update)
            elif (query := next_query(message)) is not None:
                update.messages.append(query)
            else:
                update.replies.append(message)
        if candidates:
            update.dropped = shard.robots_queries.drop_expired(now_ms=shard.clock.now_ms())
        return update

    def publications(self, shard: OwnedShard, update: RobotsUpdate) -> list[Publish]:
        """Return the queries and replies to publish."""
        events = robots_messages(
            update.messages,
            shards=self._options.shards,
            now_ms=shard.clock.now_ms(),
            by_domain=self._options.by_domain,
        )
        return [Publish(LINKS_DISCOVERED, event, partition=event.shard) for event in events]

    async def write_state(self, shard: OwnedShard, update: RobotsUpdate) -> None:
        """Apply replies to their origins, and queue the requests that queries need."""
        groups = {self._apply_reply(shard, reply, update) for reply in update.replies}
        if groups:
            await shard.write_log((), update.hosts, groups=groups)
        waiting = [self._entry_of(shard, query) for query in update.waiting]
        await shard.sync_host_groups([*groups, *(entry.group for entry in waiting)])
        # These entries belong to no crawl spec: the delay of the deployment applies to them.
        await shard.accept([accepted_entry(entry) for entry in waiting], (), {})
        await shard.conclude([query_conclusion(self._entry_of(shard, query)) for query in update.dropped])

    def _receive_query(self, shard: OwnedShard, query: RobotsQuery, update: RobotsUpdate) -> None:
        now_ms = shard.clock.now_ms()
        entry = self._entry_of(shard, query)
        reply = reply_to(query, shard.robots.get(origin_of(entry.url)).origin_state, now_ms=now_ms)
        if reply is None and shard.host_groups.get(entry.group).is_blocked(now_ms):
            reply = RobotsReply(query, RobotsFetchResult.FAILED)
        if reply is not None:
            update.messages.append(reply)
        elif shard.robots_queries.add(query, now_ms=now_ms):
            update.waiting.append(query)

    def _apply_reply(self, shard: OwnedShard, reply: RobotsReply, update: RobotsUpdate) -> str:
        """Apply a reply to the origin that redirected; return the name of its host group."""
        name, origin = self._group_of(reply.query.chain[0]), reply.query.origin
        before = shard.robots.get(origin).origin_state
        state = apply_redirect_target(
            before, response_of(reply, before), now_ms=shard.clock.now_ms(), random=self._chance
        )
        if state is not before:
            group = replace_fields(shard.host_groups.get(name), robots_wait_until_ms=0)
            shard.host_groups.put(self._store(shard, group, origin, state, update))
        return name

    def _store(
        self, shard: OwnedShard, group: HostGroup, origin: str, state: OriginRobots, update: RobotsUpdate
    ) -> HostGroup:
        """Store the state of an origin, and return its host group with the delay of its rules."""
        before, now_ms = shard.robots.get(origin), shard.clock.now_ms()
        robots = before if state.text == before.origin_state.text else parse_robots(state)
        robots = replace(robots, origin_state=state)
        shard.robots.put(origin, robots)
        user_agent = self._options.user_agent
        update.hosts.append(
            robots_to_record(
                origin, group.name, robots, user_agent=user_agent, now_ms=now_ms, epoch=shard.epoch
            )
        )
        return apply_robots_delay(group, origin, robots.rules.delay_seconds(product_token(user_agent)))

    def _entry_of(self, shard: OwnedShard, query: RobotsQuery) -> EntryRecorded:
        return query_entry(query, by_domain=self._options.by_domain, now_ms=shard.clock.now_ms())

    def _group_of(self, url: str) -> str:
        return host_group_of(url, by_domain=self._options.by_domain)
