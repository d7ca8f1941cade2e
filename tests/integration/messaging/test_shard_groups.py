"""Members of two versions as real processes: killed, frozen beyond their session, coming back."""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import AsyncIterator, Collection

import pytest

from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import GroupSpec

from .conftest import create_topic, start_group
from .processes import Program, until

SHARDS = 12
SESSION_SECONDS = 3.0


class Group:
    """The processes of one group."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.name = name
        self.members: dict[str, Program] = {}
        self._bootstrap = bootstrap

    async def join(self, name: str, topics: Collection[str]) -> Program:
        arguments = (self._bootstrap, self.name, str(SESSION_SECONDS), *topics)
        member = self.members[name] = await Program.start(name, "group_member.py", *arguments)
        return member

    async def settled(self, *names: str) -> None:
        """Wait until these members, and only these, share all shards evenly."""
        members = [self.members[name] for name in names]

        def is_settled() -> bool:
            shares = [member.shards for member in members]
            sizes = [len(share) for share in shares]
            covered = frozenset[int]().union(*shares)
            return sum(sizes) == SHARDS == len(covered) and max(sizes) - min(sizes) <= 1

        await until(is_settled, what=f"{', '.join(names)} share {SHARDS} shards")

    def clashes(self, *, until_at: dict[str, float]) -> list[str]:
        """Replay all lines by time: who was given a shard that another living member still had.

        A member counts as living until it was killed or frozen (`until_at`): from then on it is the
        fencing's business that it does no harm.
        """
        events = [(e["at"], name, e) for name, m in self.members.items() for e in m.events]
        events += [(at, name, {"event": "gone", "owned": []}) for name, at in until_at.items()]
        owners: dict[int, str] = {}
        found = []
        for _, name, event in sorted(events, key=lambda each: each[0]):
            if event["event"] == "assigned":
                shards = {number for _, number in event["owned"]}
                found += [f"{s}: {owners[s]}, {name}" for s in shards if owners.get(s, name) != name]
                owners.update(dict.fromkeys(shards, name))
            elif event["event"] in {"revoked", "gone", "leaving"}:
                owners = {shard: owner for shard, owner in owners.items() if owner != name}
        return found


@pytest.fixture
async def group(kafka_bootstrap: str) -> AsyncIterator[Group]:
    made = Group(kafka_bootstrap, f"group-{uuid.uuid4().hex[:10]}")
    yield made
    for member in made.members.values():
        await member.end()


@pytest.mark.fault("F24", part="two names of one group's version")
async def test_two_versions_killed_and_frozen_never_share_a_shard(
    group: Group, kafka_bootstrap: str, bus: KafkaBus
) -> None:
    """The whole story of a bad roll-out: what counts is that no shard ever has two living owners."""
    old = [await create_topic(kafka_bootstrap, SHARDS) for _ in range(2)]
    new = [*old, await create_topic(kafka_bootstrap, SHARDS)]
    await start_group(kafka_bootstrap, group.name, new, SHARDS)
    gone: dict[str, float] = {}

    await group.join("old-1", old)
    await group.settled("old-1")
    await group.join("old-2", old)
    await group.settled("old-1", "old-2")
    await group.join("new-1", new)
    await group.settled("old-1", "old-2", "new-1")
    assert {topic for topic, _ in group.members["new-1"].owned} == set(new)

    before = {name: group.members[name].shards for name in ("old-2", "new-1")}
    gone["old-1"] = time.monotonic()
    group.members["old-1"].send(signal.SIGKILL)
    await group.settled("old-2", "new-1")
    assert all(before[name] <= group.members[name].shards for name in before)

    zombie = group.members["old-2"]
    gone["old-2"] = time.monotonic()
    zombie.send(signal.SIGSTOP)
    await group.settled("new-1")
    enough = gone["old-2"] + SESSION_SECONDS + 0.5
    await until(lambda: time.monotonic() > enough, what="the zombie has slept longer than a session")
    held = group.members["new-1"].shards
    zombie.send(signal.SIGCONT)
    await group.settled("new-1", "old-2")
    assert group.members["new-1"].shards <= held

    events = [event["event"] for event in zombie.events]
    assert "commit-refused" in events
    assert "commit-accepted" not in events
    assert group.clashes(until_at=gone) == []
    await _no_offset_was_moved(bus, group.name, new)


async def _no_offset_was_moved(bus: KafkaBus, group: str, topics: list[str]) -> None:
    class Silent:
        async def on_revoked(self, partitions) -> None: ...
        async def on_assigned(self, partitions) -> None: ...

    consumer = await bus.consumer(GroupSpec(group, tuple(topics), sharded=True), Silent())
    await until(lambda: bool(consumer.assignment()), what="somebody of ours is a member")
    committed = {await consumer.committed(partition) for partition in consumer.assignment()}
    assert committed == {0}
