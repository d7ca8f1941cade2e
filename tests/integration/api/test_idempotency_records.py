"""Records of requests with a key on a real Redis: one attempt at a time, which ends its own record alone."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace

import pytest

from strider.api.adapters import RedisIdempotencyRecords
from strider.api.adapters.idempotency_records import IN_PROGRESS_SECONDS
from strider.api.core import RequestRecord, kept_response
from strider.api.routes.idempotency import HANDLING_SECONDS
from strider.storage.keys import IDEMPOTENCY_RECORD
from strider.storage.redis import Redis

ONE, OTHER = RequestRecord("hash", "one"), RequestRecord("hash", "other")
RESPONSE = kept_response(202, [("content-type", "application/json")], bytes(range(256)))


@pytest.fixture
def records(redis: Redis) -> RedisIdempotencyRecords:
    return RedisIdempotencyRecords(redis)


@pytest.fixture
def scope() -> str:
    return uuid.uuid4().hex


async def lifetime(redis: Redis, scope: str) -> int:
    return int(await redis.command("TTL", IDEMPOTENCY_RECORD(scope)))


async def test_the_first_attempt_has_the_key_until_it_ends(
    redis: Redis, records: RedisIdempotencyRecords, scope: str
) -> None:
    done = replace(ONE, response=RESPONSE)

    assert await records.begin(scope, ONE) is None
    assert await records.begin(scope, ONE) is None, "a repeated command is the same attempt"
    assert await records.begin(scope, OTHER) == ONE
    assert HANDLING_SECONDS < await lifetime(redis, scope) <= IN_PROGRESS_SECONDS
    await records.finish(scope, ONE, done)
    assert await records.begin(scope, OTHER) == done
    assert await lifetime(redis, scope) == pytest.approx(24 * 3600, abs=5)


async def test_an_attempt_that_was_forgotten_leaves_the_key_free(
    records: RedisIdempotencyRecords, scope: str
) -> None:
    await records.begin(scope, ONE)
    await records.forget(scope, ONE)

    assert await records.begin(scope, OTHER) is None


@pytest.mark.parametrize("ends", ["finish", "forget"])
async def test_an_attempt_whose_record_is_another_ones_ends_nothing(
    redis: Redis, records: RedisIdempotencyRecords, scope: str, ends: str
) -> None:
    """A process that stood still for longer than its record lasted."""
    await records.begin(scope, ONE)
    await redis.command("DEL", IDEMPOTENCY_RECORD(scope))
    await records.begin(scope, OTHER)
    if ends == "finish":
        await records.finish(scope, ONE, replace(ONE, response=RESPONSE))
    else:
        await records.forget(scope, ONE)

    assert await records.begin(scope, RequestRecord("hash", "third")) == OTHER


async def test_of_many_attempts_at_once_one_is_carried_out(
    records: RedisIdempotencyRecords, scope: str
) -> None:
    attempts = [RequestRecord("hash", str(number)) for number in range(50)]

    found = await asyncio.gather(*(records.begin(scope, each) for each in attempts))

    (first,) = (each for each, earlier in zip(attempts, found, strict=True) if earlier is None)
    assert {each.token for each in found if each is not None} == {first.token}
