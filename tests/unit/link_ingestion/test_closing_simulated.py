"""Whatever becomes of the end of a long list, its page is settled behind all that came before it.

Validator and link-ingestion on one bus, in virtual time, with acknowledgements that take their time and
processes that are killed: what settles a page must not overtake its parts, which stand in another topic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    LINKS_DISCOVERED,
    PAGES_PARSED,
    PAGES_SETTLED,
    VALIDATOR_DLQ,
)
from strider.contracts.multipart_pages import LAST_PART_HEADERS, MORE_PARTS_HEADERS, closing_headers
from strider.contracts.partitioning import shard_of_host
from strider.link_ingestion.topology import PAGES_GROUP, PageIngestion
from strider.messaging.effects import Subscription
from strider.messaging.inprocess import simulate
from strider.messaging.ports import GroupSpec, OutgoingMessage
from strider.runtime.clocks import SeededRandomness
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import ConsumerPorts
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher
from strider.validator.adapters import PageSplicer
from strider.validator.core import ValidationRules
from strider.validator.topology import GROUP as VALIDATORS
from strider.validator.topology import Validator
from tests.unit.runtime.consumer.loop_harness import WatchedBus

from .builders import a_page, a_spec
from .world import SHARDS, World


class Ring(World):
    """The end of the pipeline, of which processes may die at any time."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.chance = Random(seed)
        for topic in (PAGES_PARSED, VALIDATOR_DLQ):
            self.broker.declare_topic(topic, shards=SHARDS)
        self.broker.start_group(VALIDATORS, [PAGES_PARSED.name])
        self.order: list[tuple[str, Any]] = []
        append = self.broker.append

        def append_and_note(message: OutgoingMessage) -> Any:
            if message.topic in {LINKS_DISCOVERED.name, PAGES_SETTLED.name}:
                topic = LINKS_DISCOVERED if message.topic == LINKS_DISCOVERED.name else PAGES_SETTLED
                self.order.append((message.topic, self.codec.decode(topic, message.value, message.headers)))
            return append(message)

        self.broker.append = append_and_note  # type: ignore[method-assign]
        self.alive: dict[str, tuple[asyncio.Task[None], ConsumerLoop, WatchedBus]] = {}

    def begin(self, group: str) -> None:
        """Start a process."""
        bus = WatchedBus(self.broker, chance=self.chance, ack_seconds=(0, 2))
        given: tuple[Sequence[Subscription], Any]
        if group == VALIDATORS:
            validator = Validator(
                ValidationRules(), PageSplicer(self.codec), specs=self.specs, now_ms=lambda: 99
            )
            given = validator.subscriptions(), validator.on_given_up
        else:
            pages = PageIngestion(self.specs, self.seen, policy=self.policy, clock=self.clock)
            given = pages.subscriptions(), pages.on_given_up
        reads, on_given_up = given
        ports = ConsumerPorts(
            clock=self.clock,
            chance=SeededRandomness(self.chance.random()),
            publisher=EventPublisher(bus, self.codec, service=group, shards=SHARDS, clock=self.clock),
            dead_letters=DeadLetterWriter(VALIDATOR_DLQ, DeadLetterOrigin(group, group), clock=self.clock),
            on_given_up=on_given_up,
        )
        spec = GroupSpec(group, tuple(each.topic.name for each in reads), sharded=True)
        loop = ConsumerLoop(bus, self.codec, tuple(reads), spec, ports=ports)
        self.alive[group] = asyncio.create_task(loop.run()), loop, bus

    async def kill(self, group: str) -> None:
        """End a process at once: nothing is finished, committed or said."""
        task, _, bus = self.alive.pop(group)
        bus.member.kill()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def stop(self) -> None:
        for task, loop, _ in self.alive.values():
            loop.request_stop()
            await task

    def put_part(self, page: PageParsed, *, headers: Any, value: bytes | None = None) -> None:
        encoded = self.codec.encode(PAGES_PARSED, page)
        every = (*(encoded.headers if value is None else ()), *PAGES_PARSED.headers_of(page), *headers)
        shard = shard_of_host(page.group, SHARDS)
        key = PAGES_PARSED.key_of(page)
        self.broker.append(OutgoingMessage(PAGES_PARSED.name, key, value or encoded.value, shard, every))

    def left(self) -> int:
        return sum(lag for group in (VALIDATORS, PAGES_GROUP) for lag in self.broker.lag(group).values())


def put_a_list(ring: Ring, number: int) -> list[str]:
    """Put the parts of a document that ends in any way; gives the links of those that can be read."""
    chance, host = ring.chance, f"h{ring.chance.randint(0, 2)}.a.test"
    count, links = chance.randint(1, 5), []
    known = {"url": f"https://{host}/s{number}", "document_kind": "sitemap", "kind": "sitemap", "group": host}
    known["fetch_sequence"] = number
    for part in range(1, count + 1):
        link = f"https://{host}/{number}/{part}"
        page = a_page(**known, entry_urls=(link,), part=part, is_last_part=part == count)
        is_last = part == count
        end = chance.choice(["good", "junk", "junk", "by chance", "closed"]) if is_last else "good"
        if end in {"by chance", "closed"}:
            page = a_page(**known, outcome="timed_out")
        headers = MORE_PARTS_HEADERS if not is_last else LAST_PART_HEADERS if count > 1 else ()
        if end == "by chance":  # who read it first has died, who read it next took too long
            headers = ()
        elif end == "closed":
            headers = closing_headers("handler_timeout")
        ring.put_part(page, headers=headers, value=b"\xc3\x01junk" if end == "junk" else None)
        if end == "good":
            links.append(link)
    return links


@pytest.mark.parametrize("seed", range(12))
def test_nothing_settles_a_list_before_all_of_its_parts_are_admitted(seed: int) -> None:
    async def scenario() -> None:
        ring = Ring(seed)
        await ring.say(CRAWL_SPECS, a_spec())
        wanted = {number: put_a_list(ring, number) for number in range(30)}
        for group in (VALIDATORS, PAGES_GROUP):
            ring.begin(group)
        for _ in range(ring.chance.randint(0, 6)):
            await ring.clock.sleep(ring.chance.uniform(0.05, 8))
            group = ring.chance.choice([VALIDATORS, PAGES_GROUP])
            await ring.kill(group)
            ring.begin(group)
        await ring.until(lambda: not ring.left())
        await ring.stop()
        check(ring, wanted)

    simulate(scenario())


def check(ring: Ring, wanted: dict[int, list[str]]) -> None:
    found: set[str] = set()
    settled: set[int] = set()
    for topic, event in ring.order:
        if topic == LINKS_DISCOVERED.name:
            found |= set(event.urls)
            continue
        missing = set(wanted[event.fetch_sequence]) - found
        assert not missing, (event.fetch_sequence, event.verdict, event.reason, missing)
        settled.add(event.fetch_sequence)
    assert settled == set(wanted)
