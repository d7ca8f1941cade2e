"""One broker, the example pair on it, and the accounts of one test."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strider.contracts import Topic
from strider.contracts.generated.events import DeadLetter
from strider.contracts.generated.topics import ECHO_DLQ, ECHO_REQUESTS, ECHOES, TALLIES, TALLY_DLQ
from strider.testing.stack import RunningServer
from tests.figures import record_figure
from tests.processes.broker import Broker
from tests.processes.services import ECHO, TALLY, Service, Yard
from tests.processes.waiting import until

from .accounts import Answers, Audit, Blow, account, audit
from .load import Asker, Load


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of everything: the short form is for every test run, the long one for `make faults`."""

    rounds: int
    per_second: float
    between: tuple[int, int]
    """Fewest and most requests between two blows."""


SHORT = Scale(rounds=2, per_second=400, between=(150, 500))
LONG = Scale(rounds=15, per_second=600, between=(300, 3000))


class Scene:
    """What a test acts on."""

    def __init__(
        self, part: RunningServer, broker: Broker, yard: Yard, *, begins: Mapping[str, Mapping[int, int]]
    ) -> None:
        self.part = part
        self.broker = broker
        self.yard = yard
        self.begins = begins
        """Where the topics ended when the test began: what is before is other tests'."""
        self._began = time.monotonic()

    @classmethod
    async def open(cls, part: RunningServer, broker: Broker, yard: Yard) -> Scene:
        """Note where the topics end, so that nothing is read that a failed test may have left there."""
        await broker.skip("echo", ECHO_REQUESTS)
        await broker.skip("tally", ECHOES)
        topics = (ECHO_REQUESTS, ECHOES, TALLIES, ECHO_DLQ, TALLY_DLQ)
        return cls(part, broker, yard, begins={topic.name: await broker.ends(topic) for topic in topics})

    @property
    def data(self) -> Path:
        """Folder in which the broker keeps its logs."""
        return self.part.log.parent

    def echo(self, **settings: str) -> Service:
        return self.yard.start(ECHO, settings)

    def tally(self, **settings: str) -> Service:
        return self.yard.start(TALLY, settings)

    def asker(self) -> Asker:
        return Asker(self.broker)

    def load(self, scale: Scale) -> Load:
        return Load(self.broker, per_second=scale.per_second)

    def tell(self) -> str:
        """What every running service said last."""
        return "\n".join(service.last_words() for service in self.yard.started)

    async def blow(self) -> Blow:
        """Record the state after a kill, before another process takes over."""
        at = time.time()
        committed = await self.broker.committed("echo", ECHO_REQUESTS)
        return Blow(committed, await self.broker.ends(ECHO_REQUESTS), at)

    async def until_drained(self, group: str, topic: Topic[Any]) -> float:
        """Wait until the group has committed all that is in the topic: for as long as it makes progress."""
        seconds = 0.0
        while (before := await self.broker.committed(group, topic)) != await self.broker.ends(topic):

            async def has_moved(before: Mapping[int, int] = before) -> bool:
                return await self.broker.committed(group, topic) != before

            seconds += await until(has_moved, what=f"{group} goes on to drain {topic.name}", tell=self.tell)
        return seconds

    async def until_all_drained(self) -> None:
        """Wait for echo, then for tally: nothing is under way any more."""
        await self.until_drained("echo", ECHO_REQUESTS)
        await self.until_drained("tally", ECHOES)

    async def until_counted(self, ends: Mapping[int, int]) -> None:
        """Wait until tally has committed all echoes up to these ends."""

        async def is_counted() -> bool:
            committed = await self.broker.committed("tally", ECHOES)
            return all(committed[number] >= end for number, end in ends.items())

        await until(is_counted, what="all shards are counted on", tell=self.tell)

    async def until_more(self, topic: Topic[Any]) -> float:
        """Wait until something new stands in the topic: its writer is at work."""
        before = await self.broker.ends(topic)

        async def has_more() -> bool:
            return await self.broker.ends(topic) != before

        return await until(has_more, what=f"more {topic.name}", tell=self.tell)

    async def echoes(self) -> list[tuple[Any, Any]]:
        """Echoes since the test began, with their records."""
        return await self._read(ECHOES, since=self.begins[ECHOES.name])

    async def tallies(self) -> list[tuple[Any, Any]]:
        """Tallies since the test began, with their records."""
        return await self._read(TALLIES, since=self.begins[TALLIES.name])

    async def answers(self, asker: Asker, *blows: Blow) -> Answers:
        """Account for what was asked."""
        return account(asker.sent, await self.echoes(), blows=blows)

    async def audit(self, *, may_say_again: bool = False) -> Audit:
        """Audit the whole ledger of this test's hosts."""
        return audit(await self.echoes(), await self.tallies(), may_say_again=may_say_again)

    async def letters(self, topic: Topic[Any] = ECHO_DLQ) -> list[DeadLetter]:
        """Dead letters since the test began."""
        return [event for _, event in await self._read(topic, since=self.begins[topic.name])]

    def figures(self, name: str, **numbers: Any) -> None:
        """Record one line of what was measured."""
        told = " ".join(f"{key.replace('_', '-')}={value}" for key, value in numbers.items())
        record_figure(f"{name}: {told} took={time.monotonic() - self._began:.1f}s")

    async def _read(self, topic: Topic[Any], since: Mapping[int, int]) -> list[tuple[Any, Any]]:
        records = await self.broker.read(topic, since)
        return list(zip(records, self.broker.decode(topic, records), strict=True))
