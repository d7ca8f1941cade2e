"""A member is frozen beyond its session and wakes with full buffers: it is too late for all it holds."""

from __future__ import annotations

import asyncio

import pytest

from strider.contracts.generated.topics import ECHOES, TALLIES, TALLY_DLQ
from tests.processes.services import Service

from .scene import Scale, Scene

SHARES = [6, 6]
"""Partitions of two members."""
REFUSALS = {"Commit refused", "Messages abandoned", "Shards not closed"}
"""What a member logs whose work or commit came too late, besides that a shard is fenced."""


@pytest.mark.fault("F3", part="the example pair")
async def test_a_frozen_member_loses_its_shards_and_commits_nothing_after(scene: Scene, scale: Scale) -> None:
    """Had a zombie's write succeeded, its host's tallies would go back or miss what the owner counted."""
    echo = scene.echo()
    tallies = [scene.tally(), scene.tally()]
    await asyncio.gather(*(service.until_ready() for service in (echo, *tallies)))
    await _shared(tallies)
    moved_seconds = []
    async with scene.load(scale) as load:
        for number in range(max(1, scale.rounds // 2)):
            zombie, heir = tallies[number % 2], tallies[1 - number % 2]
            await scene.until_more(TALLIES)
            await load.until_asked(scale.between[0], tell=scene.tell)
            zombie.freeze()
            moved_seconds.append(
                await heir.until(lambda heir=heir: heir.partitions == 12, what="has all shards")
            )
            await heir.until_ready()
            frozen_ends = await scene.broker.ends(ECHOES)
            await scene.until_counted(frozen_ends)
            zombie.thaw()
            await _shared(tallies)
            await scene.until_more(TALLIES)
    await scene.until_all_drained()
    answers, audit = await scene.answers(load), await scene.audit()
    refused = [e.get("reason", e["event"]) for tally in tallies for e in tally.events() if _is_refusal(e)]
    scene.figures(
        "SIGSTOP of a tally beyond its session",
        freezes=len(moved_seconds),
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        moved=f"{max(moved_seconds):.1f}s after the freeze",
        refused=",".join(refused),
        tallies_kept=audit.kept,
        wrong=len(audit.wrong),
    )
    assert answers.lost == 0
    assert refused
    assert (audit.wrong, audit.counted) == ((), audit.expected)
    assert [tally.exit_code for tally in tallies] == [None, None]
    assert await scene.letters(TALLY_DLQ) == []


async def _shared(tallies: list[Service]) -> None:
    await tallies[0].until(
        lambda: [tally.partitions for tally in tallies] == SHARES, what="shares the shards with its twin"
    )


def _is_refusal(event: dict[str, str]) -> bool:
    return event["event"] in REFUSALS or (
        event["event"] == "Consumption paused" and event["reason"] == "fenced"
    )
