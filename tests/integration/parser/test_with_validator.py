"""Parser and validator as whole services on one bus: each fetched page settles."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    PAGES_FETCHED,
    PAGES_PARSED,
    PAGES_REJECTED,
    PAGES_VALIDATED,
    PARSER_DLQ,
    SCHEMAS,
    VALIDATOR_DLQ,
)
from strider.messaging.inprocess import InProcessBroker
from strider.messaging.ports import OutgoingMessage, TopicPartition
from strider.parser.__main__ import build as build_parser
from strider.parser.settings import ParserSettings
from strider.runtime.clocks import SystemClock
from strider.validator.__main__ import build as build_validator
from strider.validator.settings import ValidatorSettings
from tests.integration.examples.in_process_service import SHARDS, eventually, run_in_process
from tests.unit.parser.pages import a_page

CODEC = Codec(SchemaStore.bundled())
ARTICLE = b"<html><title>T</title>" + b"<p>Walking on streams is a matter of balance.</p>" * 20


REOPENED = b"<p>" + b"".join(b"<b id=%d>" % number for number in range(80)) + b"<p>x" * 10_000
"""41 KB that become 800,000 elements: each paragraph reopens unclosed formatting."""


@pytest.fixture
def broker() -> InProcessBroker:
    broker = InProcessBroker(clock=SystemClock())
    topics: tuple[Topic[Any], ...] = (
        CRAWL_SPECS, PAGES_FETCHED, PAGES_PARSED, PAGES_VALIDATED, PAGES_REJECTED, PARSER_DLQ, VALIDATOR_DLQ,
        SCHEMAS,
    )  # fmt: skip
    for topic in topics:
        broker.create_topic(topic.name, topic.partitions or SHARDS)
    broker.start_group("parser", [PAGES_FETCHED.name])
    broker.start_group("validator", [PAGES_PARSED.name])
    return broker


@asynccontextmanager
async def both(broker: InProcessBroker, **environ: str) -> AsyncIterator[None]:
    async with (
        run_in_process(ParserSettings, build_parser, broker, {"PARSER_PAGE_DEADLINE": "500ms", **environ}),
        run_in_process(ValidatorSettings, build_validator, broker, environ),
    ):
        yield


def put(broker: InProcessBroker, number: int, body: bytes, value: bytes | None = None, **fields: Any) -> None:
    page = a_page(body, url=f"https://site.test/{number}", url_key=f"{number:064x}", **fields)
    encoded = CODEC.encode(PAGES_FETCHED, page)
    key, headers = PAGES_FETCHED.key_of(page), (*encoded.headers, *PAGES_FETCHED.headers_of(page))
    broker.append(OutgoingMessage(PAGES_FETCHED.name, key, value or encoded.value, number % SHARDS, headers))


def said(broker: InProcessBroker, topic: Topic[Any]) -> list[Any]:
    return [
        CODEC.decode(topic, record.value, record.headers)
        for shard in range(topic.partitions or SHARDS)
        for record in broker.log(TopicPartition(topic.name, shard)).read(0, 10_000, read_committed=True)[0]
    ]


def settled(broker: InProcessBroker) -> list[Any]:
    return [*validated(broker), *said(broker, PAGES_REJECTED)]


def validated(broker: InProcessBroker) -> list[Any]:
    """Return the content events, without those that only close an entry."""
    events = said(broker, PAGES_VALIDATED)
    return [event for event in events if event.verdict.validation_status != "rejected"]


@pytest.mark.req("S2.0.3", "S2.4.1", "S2.5.1")
async def test_every_page_is_validated_or_rejected_exactly_once(broker: InProcessBroker) -> None:
    bodies: dict[int, tuple[bytes, dict[str, Any]]] = {
        1: (ARTICLE, {}),
        2: (gzip.compress(ARTICLE), {"content_encoding": "gzip"}),
        3: (b"<p>Access Denied", {}),
        4: (b"GIF89a", {}),
        5: (b"", {"not_modified": True}),
        6: (b'{"a": 1}', {"content_type": "application/json"}),
        7: (REOPENED, {}),
        8: (b"<a href=/on>on</a>", {"crawl_spec_id": "brief"}),
    }
    brief = CODEC.encode(CRAWL_SPECS, CrawlSpecDeclared(crawl_spec_id="brief", extraction="basic"))
    broker.append(OutgoingMessage(CRAWL_SPECS.name, b"brief", brief.value, 0, brief.headers))
    async with both(broker):
        for number, (body, fields) in bodies.items():
            put(broker, number, body, **fields)
        put(broker, 9, b"x", value=b"no page at all")
        await eventually(lambda: len(settled(broker)) == 9, seconds=90)

    kept = {event.page.url[-1]: event.verdict.validation_status for event in validated(broker)}
    rejected = {int(event.url_key, 16): event.rejection_reason for event in said(broker, PAGES_REJECTED)}
    assert kept == {"1": "valid", "2": "valid", "5": "valid", "6": "valid", "8": "doubtful"}
    assert rejected == {
        3: "access_denied",
        4: "unsupported",
        7: "parse_timeout",
        9: "unreadable_message",
    }
    assert Counter(event.url for event in said(broker, PAGES_PARSED)).most_common(1)[0][1] == 1
    assert {event.url[-1]: event.extraction for event in said(broker, PAGES_PARSED)}["1"] == "main"
    assert {event.url[-1]: event.extraction for event in said(broker, PAGES_PARSED)}["8"] == "basic"
    assert [letter.reason for letter in said(broker, PARSER_DLQ)] == ["bad_magic"]


async def test_long_texts_and_bodies_go_by_the_object_store(broker: InProcessBroker, tmp_path: Any) -> None:
    from strider.storage.objects import ObjectOptions, open_object_store  # noqa: PLC0415  # only here

    url = f"file://{tmp_path}/objects"
    objects = open_object_store(ObjectOptions(url), clock=SystemClock())
    reference = await objects.put(b"<title>Long</title><p>" + b"word " * 150_000)
    async with both(broker, OBJECT_STORE_URL=url):
        put(broker, 1, b"", body_object=reference)
        await eventually(lambda: settled(broker), seconds=90)
    (event,) = said(broker, PAGES_VALIDATED)
    texts = await objects.get(event.page.texts_object)
    await objects.close()

    assert (event.page.title, event.page.text, event.page.text_chars) == ("Long", "", 749_999)
    assert texts.startswith(b'{"text": "word word')
