"""Order of publishing: every marked request is completed, and a page that cannot be stored is not fetched
again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import ErrorClass
from strider.contracts.generated.topics import FETCH_REQUESTS, FETCHES_COMPLETED, PAGES_FETCHED
from strider.fetcher.adapters.state.body_budget import BodyBudget, BodyHold
from strider.fetcher.core import FailedFetch, FetchedResponse, FinishedRequest, RedirectRules
from strider.fetcher.topology import CONSUMES, PRODUCES, Fetcher
from strider.messaging.effects import NO_EFFECTS, Effects, GivenUp, Publish
from strider.messaging.errors import Unavailable

from .builders import TRACE, ManualClock, a_request, a_response

CODEC = Codec(SchemaStore.bundled())
LARGE = a_response(b"x" * 600_000)


class Web:
    """A client that responds once per request; None for leases that are gone."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.budget = BodyBudget(10_000_000, clock=ManualClock())
        self.answers: dict[str, FetchedResponse | FailedFetch | None] = {}
        self.asked: list[str] = []

    async def fetch(self, wanted: Any) -> FinishedRequest | None:
        self.asked.append(wanted.lease_id)
        result = self.answers.get(wanted.lease_id, a_response(b"<p>"))
        if result is None:
            return None
        hold: BodyHold = self.budget.open_hold()
        hold.add(result.body_bytes)
        return FinishedRequest(result, TRACE, hold, self.clock.monotonic())


@dataclass
class Objects:
    """An object store that may be down."""

    is_down: bool = False
    kept: list[bytes] = field(default_factory=list)

    async def put(self, content: bytes) -> str:
        if self.is_down:
            raise Unavailable("objects", "down")
        self.kept.append(content)
        return f"day/{len(self.kept)}"


@dataclass
class Message:
    """The attributes of a record that are used."""

    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp: int = 1_000


class Scene:
    def __init__(self, objects: Objects | None = None) -> None:
        self.clock = ManualClock()
        self.web = Web(self.clock)
        self.fetcher = Fetcher(
            self.web, rules=RedirectRules(), codec=CODEC, clock=self.clock, objects=objects
        )

    async def on(self, **more: Any) -> Effects:
        return await self.fetcher.on_fetch_requested(a_request(**more), Message(b""))  # type: ignore[arg-type]


def _said(effects: Effects) -> list[tuple[str, str]]:
    return [
        (say.topic.name, say.event.lease_id)
        for say in (*effects.publish, *effects.publish_last)
        if isinstance(say, Publish)
    ]


def test_the_topics_are_the_declared_ones() -> None:
    assert tuple(reads.topic for reads in Scene().fetcher.subscriptions()) == CONSUMES == (FETCH_REQUESTS,)
    assert all("fetcher" in topic.writers for topic in PRODUCES)


@pytest.mark.req("S3.7.3", "S3.7.4")
async def test_the_page_is_published_before_the_completion() -> None:
    scene = Scene()

    effects = await scene.on()

    assert [say.topic for say in effects.publish] == [PAGES_FETCHED]
    assert [say.topic for say in effects.publish_last] == [FETCHES_COMPLETED]
    assert (_said(effects), effects.outcome) == (
        [(PAGES_FETCHED.name, "3-a1-7"), (FETCHES_COMPLETED.name, "3-a1-7")],
        "fetched",
    )
    assert scene.web.budget.held_bytes == 0


async def test_a_failure_publishes_only_a_completion() -> None:
    scene = Scene()
    scene.web.answers["3-a1-7"] = FailedFetch(ErrorClass.CONNECT_REFUSED, "no")

    effects = await scene.on()

    assert (_said(effects), effects.outcome) == ([(FETCHES_COMPLETED.name, "3-a1-7")], "network_failed")


async def test_a_lease_that_is_gone_is_dropped_and_counted() -> None:
    """Its expiry repairs it; an outcome would end another fetcher's lease."""
    scene = Scene()
    scene.web.answers["3-a1-7"] = None

    assert await scene.on() == Effects(outcome="lease_gone")


async def test_a_large_body_goes_to_the_store_first() -> None:
    objects = Objects()
    scene = Scene(objects)
    scene.web.answers["3-a1-7"] = LARGE

    effects = await scene.on()

    page = effects.publish[0].event  # type: ignore[union-attr]
    assert (page.body, page.body_object, page.body_bytes) == (b"", "day/1", 600_000)
    assert (objects.kept, scene.web.budget.held_bytes) == ([LARGE.body], 0)


async def test_a_page_that_cannot_be_stored_is_kept_and_not_fetched_again() -> None:
    """An outage of ours must cost the site nothing."""
    objects = Objects(is_down=True)
    scene = Scene(objects)
    scene.web.answers["3-a1-7"] = LARGE
    for _ in range(3):
        with pytest.raises(Unavailable):
            await scene.on()
    objects.is_down = False

    effects = await scene.on()

    assert (scene.web.asked, effects.outcome, objects.kept) == (["3-a1-7"], "fetched", [LARGE.body])


async def test_a_kept_page_expires_if_its_message_is_not_redelivered() -> None:
    """Its partition was reassigned, and its bytes take memory from others."""
    scene = Scene(Objects(is_down=True))
    scene.web.answers["3-a1-7"] = LARGE
    with pytest.raises(Unavailable):
        await scene.on()
    scene.clock.seconds += 601

    await scene.on(lease_id="other")

    assert scene.web.budget.held_bytes == 0


async def test_without_an_object_store_a_page_beyond_its_event_is_too_large() -> None:
    scene = Scene()
    scene.web.answers["3-a1-7"] = LARGE

    effects = await scene.on()

    assert (_said(effects), effects.outcome) == ([(FETCHES_COMPLETED.name, "3-a1-7")], "too_large")
    assert effects.publish_last[0].event.has_page is False  # type: ignore[union-attr]


async def test_a_large_body_is_held_until_its_page_is_published() -> None:
    scene = Scene()
    scene.web.answers["3-a1-7"] = a_response(b"x" * 200_000)

    effects = await scene.on()

    assert scene.web.budget.held_bytes == 200_000
    assert effects.after_ack is not None
    await effects.after_ack()
    assert scene.web.budget.held_bytes == 0


async def test_a_request_in_the_dead_letters_is_completed_as_crashed() -> None:
    """Its lease would otherwise block its host until it expires."""
    value = CODEC.encode(FETCH_REQUESTS, a_request()).value

    effects = await Scene().fetcher.on_given_up(Message(value), GivenUp("handler_crashed"))  # type: ignore[arg-type]

    completed = effects.publish_last[0].event  # type: ignore[union-attr]
    told = (completed.lease_id, completed.outcome, completed.before_connect, completed.error_message)
    assert told == ("3-a1-7", "crashed", True, "given up: handler_crashed")


async def test_an_undecodable_dead_letter_publishes_nothing() -> None:
    assert await Scene().fetcher.on_given_up(Message(b"bad"), GivenUp("bad_magic")) == NO_EFFECTS  # type: ignore[arg-type]
