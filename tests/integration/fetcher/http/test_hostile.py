"""Hostile servers: each has its outcome and costs one deadline at most."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from strider.contracts.generated.events import FetchCompleted
from strider.parser.adapters.content_encoding import unpack
from strider.parser.core.unreadable_pages import ParseFailure
from strider.testing.hostile import (
    ACCEPTED_CASES,
    DEADLINE_MS,
    FAILING_CASES,
    LIMIT_BYTES,
    PAGE,
    HostileServer,
    serve_hostile,
)
from tests.integration.fetcher.http.runner import RunnerHarness, request, running_client


@pytest.fixture
async def server() -> AsyncIterator[HostileServer]:
    plays = {path: row.script for path, row in (FAILING_CASES | ACCEPTED_CASES).items()}
    async with serve_hostile(plays) as hostile:
        yield hostile


@pytest.fixture
async def client() -> AsyncIterator[RunnerHarness]:
    async with running_client() as client:
        yield client


def _brief(completed: FetchCompleted) -> tuple[str, str, bool, bool]:
    return completed.outcome, completed.error_class, completed.has_page, completed.before_connect


@pytest.mark.fault("S8", "S9", "S10", "S18", "S19")
@pytest.mark.parametrize("path", FAILING_CASES)
@pytest.mark.req("S3.7.1", "S3.7.4", "S3.7.6", "S3.7.7", "S3.15.4", "S3.17.4", "S3.17.5")
async def test_each_hostile_server_has_its_outcome(
    server: HostileServer, client: RunnerHarness, path: str
) -> None:
    """Retry rules depend on these words, so they must be the same each time."""
    row = FAILING_CASES[path]
    began = time.monotonic()

    meaning = await client.fetch(
        request(server.url(path), max_body_bytes=LIMIT_BYTES, deadline_ms=DEADLINE_MS)
    )

    assert _brief(meaning.completed) == (row.outcome, row.error, False, False)
    assert meaning.completed.started_at_us > 0
    assert meaning.page is None
    assert time.monotonic() - began < DEADLINE_MS / 1000 + 0.7
    assert server.requested_paths == [path], "one request for one fetch request, whatever the server does"


@pytest.mark.parametrize("path", FAILING_CASES)
async def test_a_hostile_response_spoils_no_later_request(
    server: HostileServer, client: RunnerHarness, path: str
) -> None:
    """The rest of a broken response must not be taken for the next one."""
    await client.fetch(request(server.url(path), max_body_bytes=LIMIT_BYTES, deadline_ms=DEADLINE_MS))

    meaning = await client.fetch(request(server.url("/ok")))

    assert meaning.page is not None
    assert meaning.page.body == PAGE


@pytest.mark.parametrize("path", ACCEPTED_CASES)
async def test_unusual_valid_responses_are_pages(
    server: HostileServer, client: RunnerHarness, path: str
) -> None:
    meaning = await client.fetch(request(server.url(path)))

    assert _brief(meaning.completed) == ("fetched", "", True, False)
    assert meaning.page is not None
    assert meaning.page.body == ACCEPTED_CASES[path].body


@pytest.mark.fault("S7")
@pytest.mark.parametrize("path", [path for path, row in ACCEPTED_CASES.items() if row.decodes_to])
async def test_a_decompression_bomb_stays_compressed_and_is_decoded_up_to_its_limit(
    server: HostileServer, client: RunnerHarness, path: str
) -> None:
    """Bodies stay compressed until the parser, which decodes them up to a limit."""
    page = (await client.fetch(request(server.url(path)))).page
    assert page is not None

    found = unpack(page.body, page.content_encoding, 10 * 1024 * 1024)

    assert isinstance(found, ParseFailure)
    assert found.outcome == ACCEPTED_CASES[path].decodes_to


async def test_bytes_after_a_response_are_discarded_with_the_connection(
    server: HostileServer, client: RunnerHarness
) -> None:
    """Unrequested bytes are how responses are smuggled into the next request."""
    await client.fetch(request(server.url("/more-than-told")))

    meaning = await client.fetch(request(server.url("/ok")))

    assert meaning.page is not None
    assert (meaning.page.body, server.connections) == (PAGE, 2)


async def test_a_hundred_hostile_servers_at_once_end_within_one_deadline(
    server: HostileServer, client: RunnerHarness
) -> None:
    """A bad server costs one deadline of one place, however many there are."""
    urls = [server.url(path) for path in FAILING_CASES for _ in range(3)]
    began = time.monotonic()

    meanings = await asyncio.gather(
        *(client.fetch(request(url, max_body_bytes=LIMIT_BYTES, deadline_ms=DEADLINE_MS)) for url in urls)
    )

    assert {meaning.completed.has_page for meaning in meanings} == {False}
    # One after the other they would take a hundred deadlines; a busy machine takes a few.
    assert time.monotonic() - began < 10 * DEADLINE_MS / 1000
    assert client.body_budget.held_bytes == 0
