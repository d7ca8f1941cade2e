"""Record batches that no memory holds: stepped over with a dead letter, and nothing around them is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from strider.contracts.generated.topics import ECHO_REQUESTS
from tests.integration.messaging.batch_bombs import MIB, bomb, send_batch
from tests.processes.services import peak_mib

from .load import Asker
from .scene import Scene

LIMIT_MB = 1
"""Small, because snappy makes at most 20 times of the 64 KB that a batch of this topic may have."""
BOMBS_MIB = {"zstd": 256, "gzip": 50, "lz4": 12, "snappy": 1.2, "xerial": 1.2}
ALLOWED_MIB = 64
KILLS = 4


async def throw_bombs(scene: Scene, asker: Asker, host: str, codecs: Sequence[str]) -> list[int]:
    """Write a bomb of each codec among the requests of a host; return their offsets."""
    client: Any = AIOKafkaProducer(bootstrap_servers=scene.part.address, enable_idempotence=False)
    await client.start()
    offsets = []
    try:
        for codec in codecs:
            records = await asyncio.to_thread(bomb, codec, BOMBS_MIB[codec])
            partition = asker.shard(host)
            offsets.append(await send_batch(client, ECHO_REQUESTS.name, codec, records, partition=partition))
            await asker.ask(host=host, text=f"behind {codec}")
            await asker.settle()
    finally:
        await client.stop()
    return offsets


@pytest.mark.fault("A2")
@pytest.mark.fault("S21", part="record batches")
async def test_a_batch_bomb_of_each_codec_costs_its_sender_a_dead_letter(scene: Scene) -> None:
    echo = scene.echo(STRIDER_MAX_DECOMPRESSED_BATCH_MB=str(LIMIT_MB))
    await echo.until_ready()
    before = peak_mib(echo)
    async with scene.asker() as asker:
        host = asker.hosts[0]
        await asker.ask(host=host, text="before")
        await asker.settle()
        offsets = await throw_bombs(scene, asker, host, [*BOMBS_MIB])
    await scene.until_drained("echo", ECHO_REQUESTS)
    answers, letters = await scene.answers(asker), await scene.letters()
    peak = peak_mib(echo)
    scene.figures(
        "batch bombs",
        bombs=len(offsets),
        mib=sum(BOMBS_MIB.values()),
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        letters=len(letters),
        memory_mib=f"{before}..{peak}",
    )

    assert (answers.lost, answers.repeated) == (0, 0)
    assert [(each.offset, each.lost_from, each.lost_to) for each in letters] == [(o, o, o) for o in offsets]
    assert {(each.reason, each.category, each.partition) for each in letters} == {
        ("batch_too_large", "decode", asker.shard(host))
    }
    for letter, codec in zip(letters, BOMBS_MIB, strict=True):
        assert (
            f"({codec.replace('xerial', 'snappy')}) takes more than {LIMIT_MB * MIB} bytes"
            in letter.error_message
        )
    assert len(echo.events("Record batch skipped")) == len(offsets)
    assert await echo.metric("strider_skipped_batches_total", topic=ECHO_REQUESTS.name) == len(offsets)
    assert peak - before < ALLOWED_MIB
    await echo.until_ready()


@pytest.mark.fault("A2")
async def test_kills_while_bombs_are_stepped_over_lose_nothing(scene: Scene) -> None:
    """Each time at the moment at which one is found: before its dead letter, or between it and the commit."""
    echo = scene.echo()
    await echo.until_ready()
    offsets: list[int] = []
    async with scene.asker() as asker:
        host = asker.hosts[0]
        for _ in range(KILLS):
            offsets += await throw_bombs(scene, asker, host, ["zstd"])
            await echo.until_logged("Record batch skipped")
            echo.kill()
            echo = scene.echo()
            await echo.until_ready()
    await scene.until_drained("echo", ECHO_REQUESTS)
    answers, letters = await scene.answers(asker), await scene.letters()
    scene.figures(
        "kill -9 while a batch is stepped over",
        kills=KILLS,
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        bombs=len(offsets),
        letters=len(letters),
    )

    assert answers.lost == 0
    assert {(each.lost_from, each.lost_to) for each in letters} == {(offset, offset) for offset in offsets}
