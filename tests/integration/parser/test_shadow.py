"""A shadow parser reads the same topic as the live one, and no service acts on its events."""

from __future__ import annotations

from typing import Any

import pytest

from strider.cli.site_parsers.diff import DiffOptions, gather_comparison
from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    PAGES_FETCHED,
    PAGES_PARSED,
    PAGES_PARSED_SHADOW,
    PAGES_REJECTED,
    PARSER_DLQ,
    SCHEMAS,
)
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.schema_topic import SchemaFinder
from strider.messaging.topics.tail import TopicTail
from strider.parser.__main__ import build
from strider.parser.settings import ParserSettings
from strider.runtime.clocks import SystemClock
from tests.integration.examples.in_process_service import SHARDS, eventually, run_in_process

from .test_with_validator import put, said

CODEC = Codec(SchemaStore.bundled())
PAGES = 6
PAGE = (
    b'<title>T</title><script type="application/ld+json">{"@type": "Product", "name": "Kettle"}</script>'
    b"<h1>Kettle</h1><p>A kettle that walks.</p>"
)


@pytest.fixture
def broker() -> InProcessBroker:
    broker = InProcessBroker(clock=SystemClock())
    topics: tuple[Topic[Any], ...] = (
        CRAWL_SPECS, PAGES_FETCHED, PAGES_PARSED, PAGES_PARSED_SHADOW, PAGES_REJECTED, PARSER_DLQ, SCHEMAS,
    )  # fmt: skip
    for topic in topics:
        broker.create_topic(topic.name, topic.partitions or SHARDS)
    broker.start_group("parser", [PAGES_FETCHED.name])
    broker.start_group("parser-shadow", [PAGES_FETCHED.name])
    return broker


@pytest.mark.req("S4.7.6")
@pytest.mark.req("S5.2.7", part="shadow parsers")
async def test_a_shadow_reads_what_the_live_parser_reads_and_both_are_compared(
    broker: InProcessBroker,
) -> None:
    """The shadow extracts more; shared fields agree, and nothing of it reaches other services."""
    for number in range(PAGES):
        put(broker, number, PAGE)
    put(broker, PAGES, b"", value=b"no event at all")

    async with run_in_process(ParserSettings, build, broker, {"PARSER_EXTRACTION": "main"}):
        await eventually(lambda: len(said(broker, PAGES_PARSED)) == PAGES and said(broker, PAGES_REJECTED))
    async with run_in_process(
        ParserSettings, build, broker, {"PARSER_EXTRACTION": "records", "PARSER_SHADOW": "true"}
    ):
        await eventually(lambda: len(said(broker, PAGES_PARSED_SHADOW)) == PAGES)
        await eventually(lambda: len(said(broker, PARSER_DLQ)) == 2)

    assert (len(said(broker, PAGES_PARSED)), len(said(broker, PAGES_REJECTED))) == (PAGES, 1)

    bus = InProcessBus(broker)
    schemas = SchemaFinder(bus, codec=CODEC, registry=None)
    agreement = await gather_comparison(TopicTail(bus, CODEC, schemas), DiffOptions())
    await schemas.close()
    await bus.close()

    assert (agreement.pages, agreement.unmatched) == (PAGES, 0)
    assert (agreement.fields["title"].same, agreement.fields["products"].only_shadow) == (PAGES, PAGES)
    assert set(agreement.fields_below(1.0)) == {"products", "structured_types", "product.name"}
