"""A sender closes the runs that it has named, and no other sender's."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import (
    JOB_COMMANDS,
    LINK_INGESTION_DLQ,
    LINKS_DISCOVERED,
    SEEDS_SUBMITTED,
    URLS_DECIDED,
)
from strider.contracts.owner_signature import SenderRole
from strider.link_ingestion.core import ClosedRun, RefusedSeed, close_run
from strider.messaging.inprocess import simulate
from tests.unit.link_ingestion.world import World

URL = "https://www.a.test/"


def closed(sender: SenderRole = SenderRole.OWNER, **fields: Any) -> ClosedRun | RefusedSeed:
    return close_run(
        SeedSubmitted(**{"url": "", "close": True, "execution_id": "spring", **fields}),
        sender=sender,
        known_specs={},
    )


@pytest.mark.parametrize(
    ("sender", "run"), [(SenderRole.OWNER, "spring"), (SenderRole.RAW, "raw.spring")], ids=["owner", "raw"]
)
def test_a_run_is_closed_in_the_namespace_of_its_sender(sender: SenderRole, run: str) -> None:
    result = closed(sender, submitted_by="ann")

    assert isinstance(result, ClosedRun)
    assert (result.execution_id, result.by) == (run, "ann")


def test_a_raw_run_with_limits_is_closed_by_a_message_with_the_same_limits() -> None:
    limited, other = (closed(SenderRole.RAW, max_pages=pages) for pages in (10, 11))

    assert isinstance(limited, ClosedRun)
    assert isinstance(other, ClosedRun)
    assert limited.execution_id.startswith("raw-")
    assert limited.execution_id.endswith(".spring")
    assert limited.execution_id != other.execution_id


@pytest.mark.parametrize(
    ("sender", "fields", "reason", "detail"),
    [
        (SenderRole.OWNER, {"execution_id": None}, "bad_seed", "names no run"),
        (SenderRole.OWNER, {"url": URL}, "bad_seed", "has no URL"),
        (SenderRole.OWNER, {"execution_id": "raw.spring"}, "bad_seed", "reserved"),
        (SenderRole.RAW, {"execution_id": "adhoc-20261120-x"}, "bad_seed", "reserved"),
        (SenderRole.RAW, {"crawl_spec_id": "gone"}, "unknown_spec", "no crawl spec gone"),
        (SenderRole.RAW, {"max_pages": -1}, "bad_seed", "max_pages"),
    ],
)
def test_a_message_that_closes_nothing_is_refused_with_its_reason(
    sender: SenderRole, fields: dict[str, Any], reason: str, detail: str
) -> None:
    result = closed(sender, **fields)

    assert isinstance(result, RefusedSeed)
    assert result.reason == reason
    assert detail in result.detail


def test_a_document_closes_its_run_and_a_repeat_is_the_same_command() -> None:
    """The command replaces its repeat on the compacted topic: one record for each run."""

    async def scenario() -> World:
        world = World()
        world.start()
        seed, close = ({"url": URL, "run": "spring"}, {"run": "spring", "close": True})
        for document in (seed, close, close):
            world.put(SEEDS_SUBMITTED, json.dumps(document).encode())
        await world.drained()
        await asyncio.sleep(1)
        await world.stop()
        return world

    world = simulate(scenario())

    (links,) = world.events(LINKS_DISCOVERED)
    assert links.from_execution_ids == ("raw.spring",)
    commands = world.events(JOB_COMMANDS)
    assert {(each.what, each.is_wish, each.execution_id, each.job_id) for each in commands} == {
        ("close", True, "raw.spring", "")
    }
    assert len({record.key for record in world.records(JOB_COMMANDS)}) == 1
    assert world.events(URLS_DECIDED) == world.events(LINK_INGESTION_DLQ) == []
