"""Objects over the S3 protocol: a store that works, one that falters, one that is not there.

The server is a few lines that implement the protocol's put and get; what a real store adds (signatures,
consistency) is not what is tested here.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from time import monotonic

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from strider.messaging.errors import Unavailable
from strider.runtime.clocks import SystemClock
from strider.storage.errors import ObjectMissing, ObjectTooLarge
from strider.storage.objects import DeadLetterObjectStore, ObjectOptions, open_object_store

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "here"}


@dataclass
class Bucket:
    """What was put, and how often the server is to fail first."""

    kept: dict[str, bytes] = field(default_factory=dict)
    failures: int = 0
    unanswered: int = 0
    """How many of the next objects are stored without an answer."""
    silence: asyncio.Event | None = None
    """Before which nothing is answered."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.silence is not None:
            await self.silence.wait()
        if self.failures > 0:
            self.failures -= 1
            return web.Response(status=503, text="<Error><Code>SlowDown</Code></Error>")
        if request.method == "PUT":
            self.kept[request.path] = await request.read()
            if self.unanswered > 0 and request.transport is not None:
                self.unanswered -= 1
                request.transport.abort()
            return web.Response(headers={"ETag": '"1"'})
        content = self.kept.get(request.path)
        if content is None:
            return web.Response(status=404, text="<Error><Code>NoSuchKey</Code></Error>")
        return web.Response(
            body=content, headers={"ETag": '"1"', "Last-Modified": "Wed, 18 Nov 2026 12:00:00 GMT"}
        )


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


@pytest.fixture
async def objects(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DeadLetterObjectStore]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", bucket.answer)
    async with TestServer(application) as server:
        for name, value in (
            CREDENTIALS | {"AWS_ENDPOINT_URL": str(server.make_url("/")).rstrip("/")}
        ).items():
            monkeypatch.setenv(name, value)
        yield open_object_store(ObjectOptions("s3://pages/crawl", allow_http=True), clock=SystemClock())


async def test_objects_live_below_the_prefix(objects: DeadLetterObjectStore, bucket: Bucket) -> None:
    """The address names bucket and prefix; references know neither."""
    reference = await objects.put(b"hello")

    assert list(bucket.kept) == [f"/pages/crawl/{reference}"]
    assert await objects.get(reference) == b"hello"
    with pytest.raises(ObjectTooLarge):
        await objects.get(reference, max_bytes=4)
    with pytest.raises(ObjectMissing):
        await objects.get(reference.replace(reference[:4], "1999"))
    await objects.ping()


@pytest.mark.fault("F18", part="failures are retried")
async def test_a_failing_store_is_retried(objects: DeadLetterObjectStore, bucket: Bucket) -> None:
    """F18: one 503 is everyday life."""
    bucket.failures = 1

    assert await objects.get(await objects.put(b"hello")) == b"hello"


@pytest.mark.fault("F18", part="a store that stays away")
async def test_a_store_that_fails_is_unavailable_after_seconds(
    objects: DeadLetterObjectStore, bucket: Bucket
) -> None:
    """The library's own patience is three minutes; the consumer has better things to do."""
    bucket.failures = 1000
    began = monotonic()
    with pytest.raises(Unavailable, match="objects is unavailable"):
        await objects.put(b"hello")

    assert monotonic() - began < 10


@pytest.mark.fault("F18", part="a store that stores without an answer")
async def test_an_object_whose_response_was_lost_is_stored_once(
    objects: DeadLetterObjectStore, bucket: Bucket
) -> None:
    """Its name is its content, so a second try replaces it by itself."""
    bucket.unanswered = 1

    reference = await objects.put(b"hello")

    assert bucket.unanswered == 0
    assert list(bucket.kept.values()) == [b"hello"]
    assert await objects.get(reference) == b"hello"


@pytest.mark.fault("F18", part="a slow store")
async def test_a_store_that_does_not_respond_is_unavailable_after_seconds(
    objects: DeadLetterObjectStore, bucket: Bucket
) -> None:
    bucket.silence, began = asyncio.Event(), monotonic()
    with pytest.raises(Unavailable, match="objects is unavailable"):
        await objects.put(b"hello")
    took_seconds = monotonic() - began
    bucket.silence.set()

    assert took_seconds < 30
    assert await objects.get(await objects.put(b"hello")) == b"hello"


def test_a_process_ends_in_order_after_failed_tries() -> None:
    """The library's asynchronous calls aborted one such process in three; four hide that from one in five."""
    program = (
        "import asyncio\n"
        "from strider.runtime.clocks import SystemClock\n"
        "from strider.messaging.errors import Unavailable\n"
        "from strider.storage.objects import ObjectOptions, open_object_store\n"
        "objects = open_object_store(ObjectOptions('s3://pages', allow_http=True), clock=SystemClock())\n"
        "try:\n"
        "    asyncio.run(objects.put(b'hello'))\n"
        "except Unavailable as failure:\n"
        "    print(failure.dependency)\n"
    )
    environment = CREDENTIALS | {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    for _ in range(4):
        ended = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "objects\n", "")
