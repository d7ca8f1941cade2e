"""fetch-requests -> mark -> request -> pages-fetched, then fetches-completed.

What was marked is answered: with a page where there is one, and always with how it ended. What
cannot be marked is dropped, because the lease's own end repairs it. What is fetched and cannot be
stored now is kept until it can, and never fetched again for that.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.enums import ErrorClass
from strider.contracts.generated.events import FetchCompleted, FetchRequested, PageFetched
from strider.contracts.generated.topics import FETCH_REQUESTS, FETCHER_DLQ, FETCHES_COMPLETED, PAGES_FETCHED
from strider.messaging.effects import NO_EFFECTS, Effects, Publish, Subscription
from strider.messaging.ports import Clock, Record
from strider.runtime.consumer.ports import DeadLetterObjectStore
from strider.runtime.consumer.spec import ConsumerSettings

from .core import (
    FailedFetch,
    FetchedResponse,
    RedirectRules,
    RequestTrace,
    build_crash_event,
    interpret_result,
    max_inline_body_bytes,
)

CONSUMES: Final = (FETCH_REQUESTS,)
PRODUCES: Final = (PAGES_FETCHED, FETCHES_COMPLETED)
DEAD_LETTERS: Final = FETCHER_DLQ

GROUP: Final = "fetcher"

LEASE_GONE: Final = "lease_gone"
"""The outcome of a request that somebody else has made, or that came too late."""

MAX_UNPUBLISHED_SECONDS: Final = 600.0
"""How long a request that was made waits to be spoken: its lease has ended long before."""

HANDLER_SECONDS: Final = 90.0
"""For what comes before and after a request: room, a name, a mark, a store. Their own limits are shorter."""

REVOKE_TIMEOUT_SECONDS: Final = 35.0
"""How long partitions that are taken away wait for requests in hand: the usual deadline and some, so that
a rebalance costs no fetch."""

SMALL_BYTES: Final = 64 * 1024
"""Bodies up to here are bounded by the number of messages in hand; larger ones are given back one by one."""


def loop_settings(*, concurrency: int, max_deadline_seconds: float) -> ConsumerSettings:
    """Say how the consumer loop of the fetcher runs: what is read ahead waits under a lease that ends."""
    return ConsumerSettings(
        concurrency=concurrency,
        buffer_messages=2 * concurrency,
        poll_records=min(500, 2 * concurrency),
        handler_timeout_seconds=max_deadline_seconds + HANDLER_SECONDS,
        revoke_timeout_seconds=REVOKE_TIMEOUT_SECONDS,
    )


class Holding(Protocol):
    """The bytes of a body, as long as they are in hand."""

    def release(self) -> None:
        """Give them back."""


class FinishedRequestLike(Protocol):
    """A request that is over."""

    @property
    def result(self) -> FetchedResponse | FailedFetch:
        """What came back."""

    @property
    def trace(self) -> RequestTrace:
        """How it was made."""

    @property
    def holding(self) -> Holding:
        """What its body takes."""

    @property
    def ended_at(self) -> float:
        """When it was over, in monotonic seconds."""


class Client(Protocol):
    """Marks a lease and makes its request."""

    async def fetch(self, request: FetchRequested) -> FinishedRequestLike | None:
        """Give what came of it; None where the lease is gone. Raises Unavailable before anything is sent."""


class FetchRecorder(Protocol):
    """Counts what is in hand, and what came of it."""

    def request_started(self, request: FetchRequested) -> None:
        """Note that a request was taken in hand."""

    def request_finished(self, lease_id: str, completed: FetchCompleted | None) -> None:
        """Note that a request is done with; None where nothing came of it."""


class NullFetchRecorder:
    """Counts nothing."""

    def request_started(self, request: FetchRequested) -> None:
        """Do nothing."""

    def request_finished(self, lease_id: str, completed: FetchCompleted | None) -> None:
        """Do nothing."""


class Fetcher:
    """Mark, ask, interpret; the page is spoken before its end is."""

    def __init__(
        self,
        client: Client,
        *,
        rules: RedirectRules,
        codec: Codec,
        clock: Clock,
        objects: DeadLetterObjectStore | None = None,
        recorder: FetchRecorder | None = None,
    ) -> None:
        self._counting = recorder or NullFetchRecorder()
        self._asking = client
        self._rules = rules
        self._codec = codec
        self._clock = clock
        self._objects = objects
        self._unpublished: OrderedDict[str, FinishedRequestLike] = OrderedDict()
        """By lease: what was made and could not be stored yet."""

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Say which topic goes to which method."""
        # Leases keep the requests of a group apart, or let several go at a time where that is set.
        return (Subscription(FETCH_REQUESTS, self.on_fetch_requested, is_ordered_by_key=False),)

    async def on_fetch_requested(self, request: FetchRequested, _record: Record) -> Effects:
        """Make a request, once, and say what came of it."""
        lease, completed = request.lease_id, None
        self._counting.request_started(request)
        try:
            done = self._unpublished.get(lease)
            if done is None:
                self._drop_expired()
                done = await self._asking.fetch(request)
                if done is None:
                    return Effects(outcome=LEASE_GONE)
                self._unpublished[lease] = done
            effects, completed = await self._told(request, done)
        finally:
            self._counting.request_finished(lease, completed)
        self._unpublished.pop(lease, None)
        return effects

    async def on_given_up(self, record: Record, reason: str) -> Effects:
        """Say of a request that went to the dead letters that it is over, so that its lease ends."""
        try:
            request = self._codec.decode(FETCH_REQUESTS, record.value, record.headers)
        except DecodeError:
            return NO_EFFECTS
        done = self._unpublished.pop(request.lease_id, None)
        made = (
            done.trace
            if done is not None
            else RequestTrace(0, record.timestamp * 1000, is_before_connect=True)
        )
        if done is not None:
            done.holding.release()
        completed = build_crash_event(request, f"gave up: {reason}", made=made)
        return Effects(publish_last=(Publish(FETCHES_COMPLETED, completed),), outcome=completed.outcome)

    async def _told(
        self, request: FetchRequested, finished: FinishedRequestLike
    ) -> tuple[Effects, FetchCompleted]:
        meaning = interpret_result(request, finished.result, made=finished.trace, rules=self._rules)
        page = meaning.page
        if page is not None and not _fits(page):
            if self._objects is None:
                why = "no object store is set for what fits no event"
                failed = FailedFetch(
                    ErrorClass.BODY_TOO_LARGE, why, finished.result.head, finished.result.body_bytes
                )
                meaning = interpret_result(request, failed, made=finished.trace, rules=self._rules)
                page = None
            else:
                page = await self._stored(page, self._objects)
        close = (Publish(FETCHES_COMPLETED, meaning.completed),)
        outcome = meaning.completed.outcome
        if page is None or len(page.body) <= SMALL_BYTES:
            finished.holding.release()
            say = () if page is None else (Publish(PAGES_FETCHED, page),)
            return Effects(say, close, outcome=outcome), meaning.completed
        say = (Publish(PAGES_FETCHED, page),)
        return Effects(say, close, partial(_release, finished.holding), outcome=outcome), meaning.completed

    async def _stored(self, page: PageFetched, objects: DeadLetterObjectStore) -> PageFetched:
        reference = await objects.put(page.body)
        return replace(page, body=b"", body_object=reference)

    def _drop_expired(self) -> None:
        """Let go of what nobody asks for any more, because its partition has gone to somebody else."""
        while self._unpublished:
            lease, done = next(iter(self._unpublished.items()))
            if self._clock.monotonic() - done.ended_at < MAX_UNPUBLISHED_SECONDS:
                return
            del self._unpublished[lease]
            done.holding.release()


def _fits(page: PageFetched) -> bool:
    """Say whether a page fits into its event: a small body does, whatever the head (which has a limit)."""
    size_bytes = len(page.body)
    return size_bytes <= SMALL_BYTES or size_bytes <= max_inline_body_bytes(
        page, max_bytes=PAGES_FETCHED.max_bytes
    )


async def _release(holding: Holding) -> None:
    holding.release()
