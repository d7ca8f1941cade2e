"""The order of words: what is marked is answered, and what cannot be stored now is not fetched again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from strider.contracts.book import SchemaBook
from strider.contracts.codec import Codec
from strider.contracts.generated.topics import FETCH_REQUESTS, FETCHES_COMPLETED, PAGES_FETCHED
from strider.contracts.generated.words import ErrorClass
from strider.fetcher.adapters import Budget, Fetched, Holding
from strider.fetcher.core import Answer, Failed, RedirectRules
from strider.fetcher.topology import CONSUMES, PRODUCES, Fetcher
from strider.runtime.effects import NOTHING, Effects, Say
from strider.runtime.errors import Unavailable

from .test_leases import Hand
from .values import MADE, answer, request

CODEC = Codec(SchemaBook.embedded())
LARGE = answer(b"x" * 600_000)


class Web:
    """Answers requests, each once; says None for leases that are gone."""

    def __init__(self, clock: Hand) -> None:
        self.clock = clock
        self.budget = Budget(10_000_000)
        self.answers: dict[str, Answer | Failed | None] = {}
        self.asked: list[str] = []

    async def ask(self, wanted: Any) -> Fetched | None:
        self.asked.append(wanted.lease_id)
        came = self.answers.get(wanted.lease_id, answer(b"<p>"))
        if came is None:
            return None
        holding: Holding = self.budget.hold()
        holding.add(came.body_bytes)
        return Fetched(came, MADE, holding, self.clock.monotonic())


@dataclass
class Objects:
    """A store that may be down."""

    is_down: bool = False
    kept: list[bytes] = field(default_factory=list)

    async def put(self, content: bytes) -> str:
        if self.is_down:
            raise Unavailable("objects", "down")
        self.kept.append(content)
        return f"day/{len(self.kept)}"


@dataclass
class Message:
    """What a record has that is looked at."""

    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp: int = 1_000


class Scene:
    def __init__(self, objects: Objects | None = None) -> None:
        self.clock = Hand()
        self.web = Web(self.clock)
        self.fetcher = Fetcher(
            self.web, rules=RedirectRules(), codec=CODEC, clock=self.clock, objects=objects
        )

    async def on(self, **more: Any) -> Effects:
        return await self.fetcher.on_fetch_requested(request(**more), Message(b""))  # type: ignore[arg-type]


def _said(effects: Effects) -> list[tuple[str, str]]:
    return [
        (say.topic.name, say.event.lease_id) for say in (*effects.say, *effects.close) if isinstance(say, Say)
    ]


def test_the_topics_are_the_declared_ones() -> None:
    assert tuple(reads.topic for reads in Scene().fetcher.reads()) == CONSUMES == (FETCH_REQUESTS,)
    assert all("fetcher" in topic.writers for topic in PRODUCES)


@pytest.mark.req("S3.7.3", "S3.7.4")
async def test_the_page_is_spoken_and_then_its_end() -> None:
    scene = Scene()

    effects = await scene.on()

    assert [say.topic for say in effects.say] == [PAGES_FETCHED]
    assert [say.topic for say in effects.close] == [FETCHES_COMPLETED]
    assert (_said(effects), effects.outcome) == (
        [(PAGES_FETCHED.name, "3-a1-7"), (FETCHES_COMPLETED.name, "3-a1-7")],
        "fetched",
    )
    assert scene.web.budget.held_bytes == 0


async def test_what_has_no_page_has_an_end() -> None:
    scene = Scene()
    scene.web.answers["3-a1-7"] = Failed(ErrorClass.CONNECT_REFUSED, "no")

    effects = await scene.on()

    assert (_said(effects), effects.outcome) == ([(FETCHES_COMPLETED.name, "3-a1-7")], "network_failed")


async def test_a_lease_that_is_gone_is_dropped_and_counted() -> None:
    """Its own end repairs it; an outcome would end somebody else's."""
    scene = Scene()
    scene.web.answers["3-a1-7"] = None

    assert await scene.on() == Effects(outcome="lease_gone")


async def test_a_large_body_goes_to_the_store_first() -> None:
    objects = Objects()
    scene = Scene(objects)
    scene.web.answers["3-a1-7"] = LARGE

    effects = await scene.on()

    page = effects.say[0].event  # type: ignore[union-attr]
    assert (page.body, page.body_object, page.body_bytes) == (b"", "day/1", 600_000)
    assert (objects.kept, scene.web.budget.held_bytes) == ([LARGE.body], 0)


async def test_what_cannot_be_stored_now_is_kept_and_not_fetched_again() -> None:
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


async def test_what_was_kept_for_nobody_is_let_go() -> None:
    """Its partition has gone to somebody else, and its bytes are in the way of others."""
    scene = Scene(Objects(is_down=True))
    scene.web.answers["3-a1-7"] = LARGE
    with pytest.raises(Unavailable):
        await scene.on()
    scene.clock.seconds += 601

    await scene.on(lease_id="other")

    assert scene.web.budget.held_bytes == 0


async def test_without_a_store_what_fits_no_event_is_too_large() -> None:
    scene = Scene()
    scene.web.answers["3-a1-7"] = LARGE

    effects = await scene.on()

    assert (_said(effects), effects.outcome) == ([(FETCHES_COMPLETED.name, "3-a1-7")], "too_large")
    assert effects.close[0].event.has_page is False  # type: ignore[union-attr]


async def test_the_bytes_of_a_page_are_in_hand_until_it_is_spoken() -> None:
    scene = Scene()
    scene.web.answers["3-a1-7"] = answer(b"x" * 200_000)

    effects = await scene.on()

    assert scene.web.budget.held_bytes == 200_000
    assert effects.remember is not None
    await effects.remember()
    assert scene.web.budget.held_bytes == 0


async def test_a_request_that_was_given_up_ends_all_the_same() -> None:
    """Its lease would else hold its host until it runs out."""
    value = CODEC.encode(FETCH_REQUESTS, request()).value

    effects = await Scene().fetcher.on_given_up(Message(value), "handler_crashed")  # type: ignore[arg-type]

    completed = effects.close[0].event  # type: ignore[union-attr]
    told = (completed.lease_id, completed.outcome, completed.before_connect, completed.error_message)
    assert told == ("3-a1-7", "crashed", True, "gave up: handler_crashed")


async def test_what_is_no_request_leaves_nothing_to_say() -> None:
    assert await Scene().fetcher.on_given_up(Message(b"bad"), "bad_magic") == NOTHING  # type: ignore[arg-type]
