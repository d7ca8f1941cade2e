"""fetch-requests -> mark lease -> HTTP request -> pages-fetched, then fetches-completed.

Every request whose lease was marked is published: its page, if there is one, and always how it ended. A
request whose lease cannot be marked is dropped; the expiry of the lease repairs that. A page that cannot be
stored now is kept until it can be, and is not fetched again.
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
from strider.messaging.effects import NO_EFFECTS, Effects, GivenUp, Publish, Subscription
from strider.messaging.ports import Clock, Record
from strider.runtime.consumer.ports import DeadLetterBodyStore
from strider.runtime.consumer.spec import ConsumerSettings

from .core import (
    FailedFetch,
    FinishedRequest,
    HeldBody,
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
"""Outcome of a request that another fetcher has made, or that came too late."""

MAX_UNPUBLISHED_SECONDS: Final = 600.0
"""How long a finished request waits to be published; its lease has expired long before."""

MIN_BUFFER_MESSAGES: Final = 16_384
"""Requests that are read ahead at least: as many as all shards may lease, so that none waits unread behind
those whose share of the places is used up. They are dropped when their leases end.
"""

HANDLER_SECONDS: Final = 90.0
"""Time for what precedes and follows a request: budget, name, mark, store. Their own limits are shorter."""

REVOKE_TIMEOUT_SECONDS: Final = 35.0
"""How long revoked partitions wait for requests in flight: the usual deadline and a margin, so that a
rebalance costs no fetch.
"""

NO_OBJECT_STORE: Final = "the page does not fit its event, and OBJECT_STORE_URL is not set"

SMALL_BODY_BYTES: Final = 64 * 1024
"""Bodies up to this size are limited by the number of messages in flight; larger ones are released one by
one.
"""


def loop_settings(*, concurrency: int, max_deadline_seconds: float) -> ConsumerSettings:
    """Return the loop settings; a kill repeats what was started and not acknowledged."""
    return ConsumerSettings(
        concurrency=concurrency,
        max_started=2 * concurrency,
        buffer_messages=max(2 * concurrency, MIN_BUFFER_MESSAGES),
        poll_records=500,
        handler_timeout_seconds=max_deadline_seconds + HANDLER_SECONDS,
        revoke_timeout_seconds=REVOKE_TIMEOUT_SECONDS,
    )


class Client(Protocol):
    """Marks a lease and makes its request."""

    async def fetch(self, request: FetchRequested) -> FinishedRequest | None:
        """Make a request; None if its lease is gone. Raises Unavailable before anything is sent."""


class FetchRecorder(Protocol):
    """Records requests in flight and their outcomes."""

    def request_started(self, request: FetchRequested) -> None:
        """Record that a request was started."""

    def request_finished(self, lease_id: str, completed: FetchCompleted | None) -> None:
        """Record that a request has ended; None if it has no outcome."""


class NullFetchRecorder:
    """Records nothing."""

    def request_started(self, request: FetchRequested) -> None:
        """Do nothing."""

    def request_finished(self, lease_id: str, completed: FetchCompleted | None) -> None:
        """Do nothing."""


class Fetcher:
    """Handles fetch requests: mark, fetch, interpret, publish the page and then its end."""

    def __init__(
        self,
        client: Client,
        *,
        rules: RedirectRules,
        codec: Codec,
        clock: Clock,
        objects: DeadLetterBodyStore | None = None,
        recorder: FetchRecorder | None = None,
    ) -> None:
        self._recorder = recorder or NullFetchRecorder()
        self._client = client
        self._rules = rules
        self._codec = codec
        self._clock = clock
        self._objects = objects
        self._unpublished: OrderedDict[str, FinishedRequest] = OrderedDict()
        """By lease: finished requests whose page could not be stored yet."""

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Return the subscriptions of this service."""
        # Leases serialize the requests of a group, or allow several at a time where that is configured.
        return (Subscription(FETCH_REQUESTS, self.on_fetch_requested, is_ordered_by_key=False),)

    async def on_fetch_requested(self, request: FetchRequested, _record: Record) -> Effects:
        """Make a request, once, and publish its page and outcome."""
        lease, completed = request.lease_id, None
        self._recorder.request_started(request)
        try:
            finished = self._unpublished.get(lease)
            if finished is None:
                self._drop_expired()
                finished = await self._client.fetch(request)
                if finished is None:
                    return Effects(outcome=LEASE_GONE)
                self._unpublished[lease] = finished
            effects, completed = await self._effects_of(request, finished)
        finally:
            self._recorder.request_finished(lease, completed)
        self._unpublished.pop(lease, None)
        return effects

    async def on_given_up(self, record: Record, failure: GivenUp) -> Effects:
        """Publish the end of a request that went to the dead letters, so that its lease ends."""
        try:
            request = self._codec.decode(FETCH_REQUESTS, record.value, record.headers)
        except DecodeError:
            return NO_EFFECTS
        finished = self._unpublished.pop(request.lease_id, None)
        trace = RequestTrace(0, record.timestamp * 1000, is_before_connect=True)
        if finished is not None:
            trace = finished.trace
            finished.held_body.release()
        completed = build_crash_event(request, f"given up: {failure.reason}", trace=trace)
        return Effects(publish_last=(Publish(FETCHES_COMPLETED, completed),), outcome=completed.outcome)

    async def _effects_of(
        self, request: FetchRequested, finished: FinishedRequest
    ) -> tuple[Effects, FetchCompleted]:
        events = interpret_result(request, finished.result, trace=finished.trace, rules=self._rules)
        page = events.page
        if page is not None and not _fits_inline(page):
            if self._objects is None:
                head, body_bytes = finished.result.head, finished.result.body_bytes
                failed = FailedFetch(ErrorClass.BODY_TOO_LARGE, NO_OBJECT_STORE, head, body_bytes)
                events = interpret_result(request, failed, trace=finished.trace, rules=self._rules)
                page = None
            else:
                page = await self._store_body(page, self._objects)
        close = (Publish(FETCHES_COMPLETED, events.completed),)
        outcome = events.completed.outcome
        if page is None or len(page.body) <= SMALL_BODY_BYTES:
            finished.held_body.release()
            pages = () if page is None else (Publish(PAGES_FETCHED, page),)
            return Effects(pages, close, outcome=outcome), events.completed
        release = partial(_release_body, finished.held_body)
        return Effects((Publish(PAGES_FETCHED, page),), close, release, outcome=outcome), events.completed

    async def _store_body(self, page: PageFetched, objects: DeadLetterBodyStore) -> PageFetched:
        reference = await objects.put(page.body)
        return replace(page, body=b"", body_object=reference)

    def _drop_expired(self) -> None:
        """Drop finished requests that are not redelivered here, as their partition was reassigned."""
        while self._unpublished:
            lease, finished = next(iter(self._unpublished.items()))
            if self._clock.monotonic() - finished.ended_at < MAX_UNPUBLISHED_SECONDS:
                return
            del self._unpublished[lease]
            finished.held_body.release()


def _fits_inline(page: PageFetched) -> bool:
    """Whether a page fits into its event; a small body always does, as the head is limited."""
    size_bytes = len(page.body)
    if size_bytes <= SMALL_BODY_BYTES:
        return True
    return size_bytes <= max_inline_body_bytes(page, max_bytes=PAGES_FETCHED.max_bytes)


async def _release_body(held_body: HeldBody) -> None:
    held_body.release()
