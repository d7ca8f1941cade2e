"""A batch of echoes becomes one record for each host in it, and nothing is known before it is kept."""

from __future__ import annotations

from collections.abc import Mapping

from strider.contracts.generated.events import Echoed, TallyKept
from strider.contracts.generated.topics import ECHOES
from strider.messaging.effects import Effects
from strider.tally.topology import CONSUMES, PRODUCES, Place, Tally

from .records import ARecord


class Memory:
    """A ledger in memory that notes each keeping."""

    def __init__(self, **tallies: TallyKept) -> None:
        self.tallies: dict[Place, TallyKept] = {(3, host): tally for host, tally in tallies.items()}
        self.kept: list[Mapping[Place, TallyKept]] = []

    def tally(self, place: Place) -> TallyKept | None:
        return self.tallies.get(place)

    async def keep(self, tallies: Mapping[Place, TallyKept]) -> None:
        self.kept.append(dict(tallies))
        self.tallies.update(tallies)


def an_echo(host: str, offset: int) -> tuple[Echoed, ARecord]:
    return Echoed(f"r{offset}", host, "echoed", "hi"), ARecord("echoes", 3, offset, timestamp=offset * 10)


async def test_a_batch_is_kept_as_one_record_a_host() -> None:
    ledger = Memory()

    effects = await Tally(ledger).on_echoes([an_echo("a", 0), an_echo("b", 1), an_echo("a", 2)])
    before = list(ledger.kept)
    assert effects.after_ack is not None
    await effects.after_ack()

    assert before == []
    assert (effects.publish, effects.publish_last, effects.outcome) == ((), (), "counted")
    assert ledger.kept == [
        {
            (3, "a"): TallyKept("a", 2, 2, last_request_id="r2", updated_at_ms=20),
            (3, "b"): TallyKept("b", 1, 1, last_request_id="r1", updated_at_ms=10),
        }
    ]


async def test_what_was_not_kept_is_decided_the_same_way_again() -> None:
    """The loop repeats a batch whose keeping failed, or hands it to the next owner."""
    ledger = Memory()
    tally = Tally(ledger)

    await tally.on_echoes([an_echo("a", 0)])
    effects = await tally.on_echoes([an_echo("a", 0)])
    assert effects.after_ack is not None
    await effects.after_ack()

    assert ledger.tallies[3, "a"].count == 1


async def test_a_batch_of_repeats_writes_nothing() -> None:
    ledger = Memory(a=TallyKept("a", 5, 8))

    effects = await Tally(ledger).on_echoes([an_echo("a", 7), an_echo("a", 8)])

    assert effects == Effects(outcome="repeated")


def test_the_topics_are_the_declared_ones() -> None:
    assert tuple(reads.topic for reads in Tally(Memory()).subscriptions()) == CONSUMES == (ECHOES,)
    assert all("tally" in topic.writers for topic in PRODUCES)
