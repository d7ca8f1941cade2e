"""A page that kills its worker costs only itself; results are encoded for their topic."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED
from strider.messaging.errors import Unavailable
from strider.parser.adapters.workers.pool import ParserFault
from tests.processes.open_files import without_new_files
from tests.unit.parser.pages import ARecord, a_page

from .worker_pools import BODY, CODEC, is_running, parse, parse_elsewhere, some_workers, until


async def test_a_page_comes_back_encoded_as_its_topic_wants_it() -> None:
    async with some_workers() as parsers:
        parsed = await parse(parsers)

    assert parsed.encoded is not None
    event = CODEC.decode(PAGES_PARSED, *parsed.encoded)
    assert (event.title, event.link_urls) == ("T", ("https://site.test/next",))
    assert PAGES_PARSED.headers_of(parsed.event) == PAGES_PARSED.headers_of(event)
    assert (parsed.event.outcome, parsed.texts) == ("parsed", b"")


async def test_a_bus_of_events_gets_events() -> None:
    async with some_workers(returns_events=True) as parsers:
        page = a_page(BODY)
        parsed = await parsers.parse(page, ARecord(None), BODY)

    assert (parsed.encoded, parsed.event.title, parsed.event.text) == (None, "T", "Walking on streams.\nnext")


@pytest.mark.parametrize("gives_events", [False, True], ids=["as bytes", "as events"])
async def test_a_long_sitemap_comes_back_in_parts(gives_events: bool) -> None:
    """Each part fits its topic, nothing is lost between them, and the next page is parsed as usual."""
    rows = "".join(f"<url><loc>https://site.test/some/path/{at:08}</loc></url>" for at in range(50_000))
    page = a_page(b"", body_object="2026-11-18/ab/abcd", kind="sitemap", content_type="application/xml")
    record = ARecord(None if gives_events else CODEC.encode(PAGES_FETCHED, page).value)
    async with some_workers(returns_events=gives_events, page_seconds=10.0) as parsers:
        parsed = await parsers.parse(page, record, f"<urlset>{rows}</urlset>".encode())
        following = await parse(parsers)

    parts = [*parsed.earlier_parts, parsed]
    events = [CODEC.decode(PAGES_PARSED, *each.encoded) if each.encoded else each.event for each in parts]
    assert sum(len(event.entry_urls) for event in events) == 50_000
    assert [event.part for event in events] == [*range(1, len(events) + 1)]
    assert (len(events) > 5, following.earlier_parts) == (True, ())


async def test_a_body_from_elsewhere_goes_along() -> None:
    async with some_workers() as parsers:
        parsed = await parse_elsewhere(parsers, BODY)

    assert parsed.encoded is not None
    assert CODEC.decode(PAGES_PARSED, *parsed.encoded).title == "T"


async def test_registry_framing_is_decoded_and_returned_in_our_framing() -> None:
    """Workers have no schema registry: the parent converts the framing."""
    codec = Codec(SchemaStore.bundled())
    for number, topic in enumerate((PAGES_FETCHED, PAGES_PARSED)):
        codec.schema_store.use_registry_id(topic.name, topic.schema_name, 7 + number)
    async with some_workers() as parsers:
        parsers._codec = codec
        page = a_page(BODY)
        encoded = codec.encode(PAGES_FETCHED, page)
        parsed = await parsers.parse(page, ARecord(encoded.value, encoded.headers), BODY)

    assert encoded.value.startswith(b"\0\0\0\0\x07")
    assert parsed.encoded is not None
    assert parsed.encoded.value.startswith(b"\0\0\0\0\x08")
    assert codec.decode(PAGES_PARSED, *parsed.encoded).title == "T"


async def test_texts_too_long_to_travel_come_beside_the_event() -> None:
    async with some_workers() as parsers:
        parsed = await parse_elsewhere(parsers, b"<p>" + b"word " * 120_000)

    assert parsed.encoded is None
    assert (parsed.event.text, parsed.event.text_chars) == ("", 599_999)
    assert parsed.texts.startswith(b'{"text": "word word')


@pytest.mark.fault("F30")
@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        pytest.param("/abort", "crashed", id="abort"),
        pytest.param("/segfault", "crashed", id="segfault"),
        pytest.param("/exit", "crashed", id="exit"),
        pytest.param("/loop", "timed_out", id="endless-loop"),
        pytest.param("/sleep", "timed_out", id="endless-wait"),
        pytest.param("/stop-me", "timed_out", id="stopped"),
        pytest.param("/kill-me", "out_of_memory", id="killed-from-outside-twice"),
    ],
)
async def test_a_deadly_page_costs_itself_and_no_other(path: str, outcome: str) -> None:
    """The pages queued before and behind it are parsed all the same."""
    async with some_workers(page_seconds=0.3) as parsers:
        before = [asyncio.create_task(parse(parsers)) for _ in range(3)]
        deadly = asyncio.create_task(parse(parsers, path))
        behind = [asyncio.create_task(parse(parsers)) for _ in range(20)]

        parsed = await deadly
        others = await asyncio.gather(*before, *behind)

    assert (parsed.event.outcome, parsed.encoded) == (outcome, None)
    assert parsed.event.error_message
    assert parsed.event.url == f"https://site.test{path}"
    assert {other.event.outcome for other in others} == {"parsed"}


async def test_pages_before_one_that_hangs_do_not_wait_for_its_end() -> None:
    """Their worker has responded, but is too busy to notify."""
    async with some_workers(page_seconds=1.0) as parsers:
        before = [asyncio.create_task(parse(parsers)) for _ in range(2)]
        hanging = asyncio.create_task(parse(parsers, "/sleep"))
        await asyncio.wait([*before, hanging], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.gather(*before)

        assert not hanging.done()
        assert (await hanging).event.outcome == "timed_out"


@pytest.mark.fault("F30")
async def test_a_page_that_needs_too_much_memory_does_not_cost_its_worker() -> None:
    async with some_workers() as parsers:
        pids = parsers.pids
        parsed = await parse(parsers, "/memory")

        assert parsed.event.outcome == "out_of_memory"
        assert (await parse(parsers)).event.outcome == "parsed"
        assert parsers.pids == pids


async def test_an_innocent_page_survives_the_death_of_its_worker() -> None:
    """An operator, or a machine without memory, may kill a worker at any time."""
    async with some_workers(page_seconds=5.0) as parsers:
        (pid,) = parsers.pids
        pages = [asyncio.create_task(parse(parsers, body=BODY * 2_000)) for _ in range(30)]
        await asyncio.wait(pages, return_when=asyncio.FIRST_COMPLETED)
        os.kill(pid, signal.SIGKILL)
        parsed = await asyncio.gather(*pages)

        assert {each.event.outcome for each in parsed} == {"parsed"}
        assert pid not in parsers.pids


async def test_a_bug_of_the_parser_is_reported_with_its_traceback() -> None:
    """The message becomes a dead letter; the worker continues."""
    async with some_workers() as parsers:
        pids = parsers.pids
        with pytest.raises(ParserFault, match="a fault of the parser"):
            await parse(parsers, "/fail")

        assert (await parse(parsers)).event.outcome == "parsed"
        assert parsers.pids == pids


@pytest.mark.parametrize("memory_mb", [192, 2_048], ids=["for its limit", "for any worker"])
async def test_a_worker_that_has_grown_is_replaced_between_pages(memory_mb: int) -> None:
    """One page may need much memory; at most 200 MB stay in use afterwards."""
    async with some_workers(memory_mb=memory_mb) as parsers:
        (first,) = parsers.pids
        parsed = await asyncio.gather(*(parse(parsers, "/hoard") for _ in range(140)))

        assert {each.event.outcome for each in parsed} == {"parsed"}
        await until(lambda: len(parsers.pids) == 1 and first not in parsers.pids)
        assert not is_running(first)


async def test_abandoned_pages_block_nothing() -> None:
    async with some_workers() as parsers:
        pages = asyncio.gather(*(parse(parsers) for _ in range(40)), return_exceptions=True)
        await asyncio.sleep(0)
        pages.cancel()

        assert (await parse(parsers)).event.outcome == "parsed"


async def test_several_workers_share_the_line() -> None:
    async with some_workers(2) as parsers:
        slow = asyncio.create_task(parse(parsers, "/sleep"))
        quick = await asyncio.gather(*(parse(parsers) for _ in range(12)))

        assert {each.event.outcome for each in quick} == {"parsed"}
        assert (await slow).event.outcome == "timed_out"


async def test_workers_that_cannot_start_make_pages_wait_elsewhere() -> None:
    """A broken installation must not reject pages."""
    with pytest.raises(Unavailable, match="parser-workers"):
        async with some_workers(reader_factory="tests.integration.parser.hostile_reader:no_such_thing"):
            pass


@pytest.mark.fault("F31", part="files of a worker of the parser")
async def test_a_worker_that_could_not_be_replaced_is_started_when_there_are_files_again() -> None:
    """F31: the others parse meanwhile, and a pool does not stay smaller than it should be."""
    async with some_workers(2) as parsers:
        await until(lambda: len(parsers.pids) == 2)
        lost, kept = parsers.pids
        with without_new_files([os.getpid()]):
            os.kill(lost, signal.SIGKILL)
            await until(lambda: parsers.pids == (kept,))
            assert (await parse(parsers)).event.outcome == "parsed"
        await until(lambda: len(parsers.pids) == 2)
