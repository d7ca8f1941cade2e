"""What members of one process know of each other's messages."""

from __future__ import annotations

from strider.cli.embedded.kept import KeptPages, Named
from strider.contracts.book import SchemaBook
from strider.contracts.codec import Encoded, KeepingCodec, Kept
from strider.contracts.generated.events import PageFetched, PageParsed, PageValidated, Verdict
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED, PAGES_VALIDATED
from strider.parser.adapters.inline import InlineParsers
from strider.parser.core import Limits
from strider.parser.topology import Parser
from strider.runtime.inprocess.log import Stored
from strider.validator.adapters import SplicedPages

CODEC = KeepingCodec(SchemaBook.embedded())
VERDICT = Verdict("valid", "1", 0)


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


def record_of(topic: object, encoded: Encoded, headers: tuple[tuple[str, bytes], ...] = ()) -> Stored:
    return Stored(topic.name, 0, 0, 0, b"k", encoded.value, (*encoded.headers, *headers))  # type: ignore[attr-defined]  # a topic


def test_what_was_written_here_is_not_read_again() -> None:
    """The reader gets the writer's object; the bytes are there for whoever wants them."""
    page = parsed(text="words")

    encoded = CODEC.encode(PAGES_PARSED, page)

    assert CODEC.decode(PAGES_PARSED, encoded.value, encoded.headers) is page
    assert CODEC.decode(PAGES_PARSED, bytes(encoded.value), encoded.headers) == page


def test_what_is_read_otherwise_than_it_was_said_is_read() -> None:
    """Characters that no topic carries are gone for everybody, here as on a broker."""
    page = parsed(text="a\x00b\ud800c")

    encoded = CODEC.encode(PAGES_PARSED, page)
    read = CODEC.decode(PAGES_PARSED, encoded.value, encoded.headers)

    assert read.text != page.text
    assert read == CODEC.decode(PAGES_PARSED, bytes(encoded.value), encoded.headers)


def test_a_joined_page_is_what_its_bytes_say() -> None:
    """Kept only where the page was kept."""
    page = parsed(text="words")
    pages = KeptPages(SplicedPages(CODEC))
    kept = CODEC.encode(PAGES_PARSED, page)

    joined = pages.join(page, record_of(PAGES_PARSED, kept), VERDICT)
    plain = pages.join(page, record_of(PAGES_PARSED, kept._replace(value=bytes(kept.value))), VERDICT)

    assert joined is not None
    assert plain is not None
    assert (type(joined.value), type(plain.value)) == (Kept, bytes)
    whole = CODEC.decode(PAGES_VALIDATED, joined.value, joined.headers)
    assert whole == CODEC.decode(PAGES_VALIDATED, plain.value, plain.headers) == PageValidated(page, VERDICT)


def a_fetched_page() -> PageFetched:
    fields = {field: getattr(parsed(), field) for field in PageParsed.__slots__}
    wanted = {name: value for name, value in fields.items() if name in PageFetched.__slots__}
    return PageFetched(
        **{**wanted, "lease_id": "0-0-1", "try_number": 1, "depth": 2, "referrer": "http://a.test/from"}
    )


async def test_a_page_that_was_given_up_has_its_url() -> None:
    """Its line says which one it was; a message that cannot be read says all it can."""
    page = a_fetched_page()
    parser = Parser(InlineParsers(Limits(), may_store=False), None, now_ms=lambda: 9)  # type: ignore[arg-type]  # no body is elsewhere
    speak = Named(parser.on_given_up, PAGES_FETCHED, CODEC)
    headers = PAGES_FETCHED.headers_of(page)
    record = record_of(PAGES_FETCHED, CODEC.encode(PAGES_FETCHED, page), headers)

    (said,) = (await speak(record, "handler_crashed")).close
    (unread,) = (await speak(record._replace(value=b"nothing"), "unreadable")).close

    event = said.event  # type: ignore[union-attr]  # an event, not bytes
    assert (event.url, event.depth, event.referrer) == (page.url, 2, "http://a.test/from")
    assert event.rejection_reason == "handler_crashed"
    assert unread.event.url == ""  # type: ignore[union-attr]  # same
