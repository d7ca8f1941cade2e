"""Rejections of dead-lettered pages in one process."""

from __future__ import annotations

from strider.cli.crawl.services import RejectionWithUrl
from strider.contracts.avro.codec import EncodedMessage
from strider.contracts.avro.deferred_encoding import DeferredCodec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import PageFetched, PageParsed
from strider.contracts.generated.topics import PAGES_FETCHED
from strider.messaging.effects import GivenUp
from strider.messaging.inprocess.log import StoredRecord
from strider.parser.adapters.workers.inline import InlinePageParser
from strider.parser.core import ParseLimits
from strider.parser.topology import Parser

CODEC = DeferredCodec(SchemaStore.bundled())


def parsed(**fields: object) -> PageParsed:
    known: dict[str, object] = {
        "url": "http://a.test/",
        "url_key": "k" * 64,
        "origin": "http://a.test",
        "group": "a.test",
        "job_id": "crawl",
        "execution_id": "e",
        "crawl_spec_id": "s",
        "fetch_sequence": 1,
        "outcome": "parsed",
        "parser": "html",
        "parser_version": "1",
        "fetched_at_ms": 5,
    }
    return PageParsed(**{**known, **fields})  # type: ignore[arg-type]  # names are the event's


def record_of(
    topic: object, encoded: EncodedMessage, headers: tuple[tuple[str, bytes], ...] = ()
) -> StoredRecord:
    return StoredRecord(topic.name, 0, 0, 0, b"k", encoded.value, (*encoded.headers, *headers))  # type: ignore[attr-defined]  # a topic


def a_fetched_page() -> PageFetched:
    fields = {field: getattr(parsed(), field) for field in PageParsed.__slots__}
    wanted = {name: value for name, value in fields.items() if name in PageFetched.__slots__}
    return PageFetched(
        **{**wanted, "lease_id": "0-0-1", "try_number": 1, "depth": 2, "referrer": "http://a.test/from"}
    )


async def test_a_page_that_was_given_up_has_its_url() -> None:
    """With the URL of the page; without it where the message cannot be decoded."""
    page = a_fetched_page()
    parser = Parser(
        InlinePageParser(ParseLimits(), has_object_store=False),
        None,  # type: ignore[arg-type]  # no body is elsewhere
        specs=None,  # type: ignore[arg-type]  # no page is read
        now_ms=lambda: 9,
    )
    rejection = RejectionWithUrl(parser.on_given_up, PAGES_FETCHED, CODEC)
    headers = PAGES_FETCHED.headers_of(page)
    record = record_of(PAGES_FETCHED, CODEC.encode(PAGES_FETCHED, page), headers)

    (errors,) = (await rejection(record, GivenUp("handler_crashed"))).publish
    (unread,) = (await rejection(record._replace(value=b"nothing"), GivenUp("unreadable"))).publish_last

    event = errors.event  # type: ignore[union-attr]  # an event, not bytes
    assert (event.url, event.depth, event.referrer) == (page.url, 2, "http://a.test/from")
    assert event.rejection_reason == "handler_crashed"
    assert unread.event.url == ""  # type: ignore[union-attr]  # same
