"""One fetched page becomes one parsed page; a failed one is rejected from its headers."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared, PageFetched, PageRejected
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED, PAGES_REJECTED
from strider.contracts.multipart_pages import LAST_PART_HEADERS, MORE_PARTS_HEADERS, closing_headers
from strider.messaging.effects import NO_EFFECTS, GivenUp, Publish
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Record
from strider.parser.adapters.object_bodies import MissingBodyStore
from strider.parser.adapters.workers.inline import MAX_INLINE_BYTES, InlinePageParser
from strider.parser.core import DEFAULT_OPTIONS, PageOptions, ParseLimits
from strider.parser.topology import CONSUMES, PRODUCES, ParsedPage, Parser, loop_settings
from tests.unit.crawl.declared_specs import DeclaredSpecs
from tests.unit.crawl.noted_events import NotedEvents

from .pages import ARecord, a_page, read


class Shelf:
    """Bodies in memory."""

    def __init__(self, **bodies: bytes) -> None:
        self.bodies = bodies

    async def get(self, reference: str) -> bytes:
        return self.bodies[reference]

    async def put(self, content: bytes) -> str:
        self.bodies["kept"] = content
        return "kept"


def a_parser(bodies: Any = None, *specs: CrawlSpecDeclared, extraction: str = "") -> Parser:
    return Parser(
        InlinePageParser(ParseLimits(), has_object_store=True),
        bodies or Shelf(),
        specs=DeclaredSpecs(*specs),
        now_ms=lambda: 99,
        extraction=extraction,
    )


async def test_the_last_part_of_a_long_list_is_published_last() -> None:
    """It settles the page, so that all parts before it must be acknowledged."""
    rows = "".join(f"<url><loc>https://site.test/some/path/{at:08}</loc></url>" for at in range(20_000))
    page = a_page(f"<urlset>{rows}</urlset>".encode(), kind="sitemap", content_type="application/xml")

    effects = await a_parser().on_page_fetched(page, ARecord())

    (last,) = effects.publish_last
    assert len(effects.publish) > 2
    assert [said.event.is_last_part for said in (*effects.publish, last)] == [False] * len(
        effects.publish
    ) + [True]
    assert {said.headers for said in effects.publish} == {MORE_PARTS_HEADERS}
    assert last.headers == LAST_PART_HEADERS
    assert sum(len(said.event.entry_urls) for said in (*effects.publish, last)) == 20_000


@pytest.mark.parametrize(
    ("asked", "fixed", "expected"),
    [
        pytest.param("basic", "", "basic", id="as its crawl sets"),
        pytest.param("records", "", "records", id="as another crawl sets"),
        pytest.param("basic", "records", "records", id="of every page"),
        pytest.param("everything", "", "main", id="what a later version may mean"),
        pytest.param(None, "", "main", id="a spec that is nowhere"),
    ],
)
async def test_a_page_is_extracted_at_the_level_of_its_crawl(
    asked: str | None, fixed: str, expected: str
) -> None:
    """Two crawls that share a parser ask for different extraction levels."""
    specs = () if asked is None else (CrawlSpecDeclared(crawl_spec_id="spec", extraction=asked),)

    effects = await a_parser(None, *specs, extraction=fixed).on_page_fetched(a_page(b"<p>x"), ARecord())

    assert effects.publish[0].event.extraction == expected  # type: ignore[union-attr]


def test_it_reads_and_writes_what_its_topics_declare() -> None:
    assert [reads.topic for reads in a_parser().subscriptions()] == list(CONSUMES) == [PAGES_FETCHED]
    assert all("parser" in topic.writers for topic in PRODUCES)


async def test_a_page_is_published_once() -> None:
    effects = await a_parser().on_page_fetched(a_page(b"<title>T</title>x"), ARecord())

    (say,) = effects.publish
    assert isinstance(say, Publish)
    assert (say.topic, say.event.title, say.encoded) == (PAGES_PARSED, "T", None)
    assert (effects.outcome, effects.publish_last, effects.after_ack) == ("parsed", (), None)


async def test_a_body_elsewhere_is_fetched() -> None:
    parser = a_parser(Shelf(body=b"<title>Elsewhere</title>x"))

    effects = await parser.on_page_fetched(a_page(body_object="body"), ARecord())

    event = effects.publish[0].event  # type: ignore[union-attr]
    assert (event.title, event.body_object) == ("Elsewhere", "body")


async def test_without_a_store_such_a_page_waits() -> None:
    """The message is valid: an operator has to configure the store."""
    with pytest.raises(Unavailable, match="OBJECT_STORE_URL"):
        await a_parser(MissingBodyStore()).on_page_fetched(a_page(body_object="body"), ARecord())


async def test_long_texts_are_stored_before_the_page_is_published() -> None:
    shelf = Shelf()
    text = "word " * 150_000

    effects = await a_parser(shelf).on_page_fetched(a_page(f"<p>{text}".encode()), ARecord())

    event = effects.publish[0].event  # type: ignore[union-attr]
    assert (event.text, event.texts_object, event.text_chars) == ("", "kept", len(text) - 1)
    assert json.loads(shelf.bodies["kept"])["text"] == text.strip()


HEADERS = PAGES_FETCHED.headers_of(a_page())


async def test_a_page_that_is_given_up_is_rejected_from_its_headers() -> None:
    effects = await a_parser().on_given_up(ARecord(b"\xc3\x01junk", HEADERS), GivenUp("handler_timeout"))

    rejected = PageRejected(
        url_key="ab" * 32,
        group="site.test",
        job_id="adhoc",
        execution_id="adhoc-20261118-spec",
        fetch_sequence=7,
        validation_status="rejected",
        rejection_reason="handler_timeout",
        rejection_kind="plain",
        rejected_by="parser",
        rejected_at_ms=99,
        detail="handler_timeout",
    )
    assert effects.publish == (Publish(PAGES_REJECTED, rejected, MORE_PARTS_HEADERS),)
    (closes,) = effects.publish_last
    assert (closes.topic, closes.headers) == (PAGES_PARSED, closing_headers("handler_timeout"))
    assert PAGES_PARSED.headers_of(closes.event) == PAGES_REJECTED.headers_of(rejected)


async def test_an_unread_page_has_no_parts_to_close_behind() -> None:
    (said,) = (await a_parser().on_given_up(ARecord(b"junk", HEADERS), GivenUp("bad_magic"))).publish_last

    assert (said.topic, said.event.rejection_reason) == (PAGES_REJECTED, "unreadable_message")
    assert said.headers == ()


async def test_a_message_without_page_headers_is_only_a_dead_letter() -> None:
    assert await a_parser().on_given_up(ARecord(b"junk"), GivenUp("bad_magic")) is NO_EFFECTS


def test_pages_that_take_all_of_their_time_do_not_time_out_those_behind_them() -> None:
    settings = loop_settings(workers=2, page_seconds=2.0)

    assert (settings.concurrency, settings.handler_timeout_seconds) == (160, 830.0)


async def test_the_same_page_is_the_same_event_wherever_it_is_read() -> None:
    page = a_page(b"<p>x</p><a href=/y>y</a>")
    effects = await a_parser().on_page_fetched(page, ARecord())
    said = effects.publish[0].event.to_record()  # type: ignore[union-attr]
    plain = read(b"<p>x</p><a href=/y>y</a>", limits=ParseLimits(extraction="main")).to_record()

    assert {**said, "parse_us": 0} == {**plain, "parse_us": 0}


class Elsewhere:
    """A page parser that records the size of the bodies it receives."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    async def parse(
        self, page: PageFetched, record: Record, body: bytes, *, options: PageOptions = DEFAULT_OPTIONS
    ) -> ParsedPage:
        self.sizes.append(len(body))
        return await InlinePageParser(ParseLimits(), has_object_store=True).parse(
            page, record, body, options=options
        )


@pytest.mark.parametrize(
    ("body", "encoding", "is_handed_on"),
    [
        pytest.param(b"<title>T</title>" + b"x" * 1_000, "", False, id="small"),
        pytest.param(b"<title>T</title>" + b"x" * MAX_INLINE_BYTES, "", True, id="large"),
        pytest.param(gzip.compress(b"<title>T</title>" + b"x" * MAX_INLINE_BYTES), "gzip", True, id="packed"),
        pytest.param(b"\x1f\x8b broken", "gzip", False, id="broken"),
    ],
)
async def test_a_page_that_may_take_long_is_not_read_here(
    body: bytes, encoding: str, is_handed_on: bool
) -> None:
    """Nothing could stop it: `strider crawl` would hang meanwhile, Ctrl-C included."""
    elsewhere = Elsewhere()
    parsers = InlinePageParser(ParseLimits(), has_object_store=True, large_page_parser=elsewhere)

    parsed = await parsers.parse(a_page(body, content_encoding=encoding), ARecord(), body)

    assert elsewhere.sizes == ([len(body)] if is_handed_on else [])
    assert parsed.event.outcome == ("undecodable" if body.endswith(b"broken") else "parsed")


async def test_pages_are_counted_for_their_run_by_outcome() -> None:
    noted = NotedEvents()
    parser = Parser(
        InlinePageParser(ParseLimits(), has_object_store=True),
        Shelf(),
        specs=DeclaredSpecs(),
        now_ms=lambda: 99,
        note=noted.note,
    )
    page = a_page(b"<p>x")
    effects = [await parser.on_page_fetched(page, ARecord()) for _ in range(2)]

    assert noted == {("Pages parsed", page.job_id, page.execution_id, effects[0].outcome): 2}


async def test_a_page_is_read_with_the_parser_and_the_markdown_of_its_crawl() -> None:
    """A parser that is not installed is reported with the page, which is read all the same."""
    spec = CrawlSpecDeclared(
        crawl_spec_id="spec", extraction="records", with_markdown=True, parser="no-such-site"
    )
    page = a_page(b"<h1>Kettle</h1><p>" + b"A <b>good</b> kettle for tea. " * 20)

    (own,) = (await a_parser(None, spec).on_page_fetched(page, ARecord())).publish
    (usual,) = (await a_parser().on_page_fetched(page, ARecord())).publish

    event = own.event  # type: ignore[union-attr]
    assert "**good**" in event.markdown
    assert [text for text in event.structured_errors if text.startswith("no-such-site 0: failed")]
    assert usual.event.markdown == ""  # type: ignore[union-attr]
