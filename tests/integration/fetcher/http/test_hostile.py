"""What servers do that they should not: each has its outcome and costs one deadline at most."""

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
from tests.integration.fetcher.http.runner import Asking, asking, request


@pytest.fixture
async def server() -> AsyncIterator[HostileServer]:
    plays = {path: row.script for path, row in (FAILING_CASES | ACCEPTED_CASES).items()}
    async with serve_hostile(plays) as hostile:
        yield hostile


@pytest.fixture
async def asker() -> AsyncIterator[Asking]:
    async with asking() as asker:
        yield asker


def _brief(completed: FetchCompleted) -> tuple[str, str, bool, bool]:
    return completed.outcome, completed.error_class, completed.has_page, completed.before_connect


@pytest.mark.parametrize("path", FAILING_CASES)
@pytest.mark.req("S3.7.4", "S3.7.6", "S3.7.7", "S3.15.4", "S3.17.4", "S3.17.5")
async def test_each_misdeed_has_its_outcome(server: HostileServer, asker: Asking, path: str) -> None:
    """Rules about trying again go by these words, so they are to be the same each time."""
    row = FAILING_CASES[path]
    began = time.monotonic()

    meaning = await asker.ask(request(server.url(path), max_body_bytes=LIMIT_BYTES, deadline_ms=DEADLINE_MS))

    assert _brief(meaning.completed) == (row.outcome, row.error, False, False)
    assert meaning.completed.started_at_us > 0
    assert meaning.page is None
    assert time.monotonic() - began < DEADLINE_MS / 1000 + 0.7
    assert server.requested_paths == [path], "one request for one fetch request, whatever the server does"


@pytest.mark.parametrize("path", FAILING_CASES)
async def test_a_misdeed_spoils_no_connection_for_the_next(
    server: HostileServer, asker: Asking, path: str
) -> None:
    """What is left of a broken answer must not be taken for the next one's."""
    await asker.ask(request(server.url(path), max_body_bytes=LIMIT_BYTES, deadline_ms=DEADLINE_MS))

    meaning = await asker.ask(request(server.url("/ok")))

    assert meaning.page is not None
    assert meaning.page.body == PAGE


@pytest.mark.parametrize("path", ACCEPTED_CASES)
async def test_what_is_odd_and_allowed_is_a_page(server: HostileServer, asker: Asking, path: str) -> None:
    meaning = await asker.ask(request(server.url(path)))

    assert _brief(meaning.completed) == ("fetched", "", True, False)
    assert meaning.page is not None
    assert meaning.page.body == ACCEPTED_CASES[path].body


@pytest.mark.parametrize("path", [path for path, row in ACCEPTED_CASES.items() if row.decodes_to])
async def test_a_bomb_is_kept_packed_and_undone_no_further_than_its_limit(
    server: HostileServer, asker: Asking, path: str
) -> None:
    """Bodies stay as they came until the parser, which stops where nobody will read on."""
    page = (await asker.ask(request(server.url(path)))).page
    assert page is not None

    found = unpack(page.body, page.content_encoding, 10 * 1024 * 1024)

    assert isinstance(found, ParseFailure)
    assert found.outcome == ACCEPTED_CASES[path].decodes_to


async def test_what_comes_after_an_answer_is_thrown_away_with_its_connection(
    server: HostileServer, asker: Asking
) -> None:
    """Bytes nobody has asked for are how answers are smuggled into the next request."""
    await asker.ask(request(server.url("/more-than-told")))

    meaning = await asker.ask(request(server.url("/ok")))

    assert meaning.page is not None
    assert (meaning.page.body, server.connections) == (PAGE, 2)


async def test_a_hundred_misdeeds_at_once_end_within_one_deadline(
    server: HostileServer, asker: Asking
) -> None:
    """One bad server costs one deadline of one place, however many there are."""
    urls = [server.url(path) for path in FAILING_CASES for _ in range(3)]
    began = time.monotonic()

    meanings = await asyncio.gather(
        *(asker.ask(request(url, max_body_bytes=LIMIT_BYTES, deadline_ms=DEADLINE_MS)) for url in urls)
    )

    assert {meaning.completed.has_page for meaning in meanings} == {False}
    # One after the other they would take a hundred deadlines; a busy machine takes a few.
    assert time.monotonic() - began < 10 * DEADLINE_MS / 1000
    assert asker.budget.held_bytes == 0
