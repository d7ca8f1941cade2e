"""A parsed page becomes a validated one, byte for byte, or a rejected one with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.partial_decode import is_partial
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, PageRejected, PageValidated, Verdict
from strider.contracts.generated.topics import PAGES_PARSED, PAGES_REJECTED, PAGES_VALIDATED
from strider.contracts.multipart_pages import LAST_PART_HEADERS, MORE_PARTS_HEADERS, closing_headers
from strider.messaging.effects import NO_EFFECTS, Effects, GivenUp, Publish
from strider.validator import log_events
from strider.validator.adapters import PageSplicer
from strider.validator.core import ValidationRules
from strider.validator.topology import CONSUMES, PRODUCES, Validator
from tests.unit.crawl.declared_specs import DeclaredSpecs
from tests.unit.crawl.noted_events import NotedEvents

from .builders import ARecord, a_page

CODEC = Codec(SchemaStore.bundled())
RULES = ValidationRules()
VERDICT = Verdict("valid", RULES.version, 99)


def a_validator(*specs: CrawlSpecDeclared) -> Validator:
    return Validator(RULES, PageSplicer(CODEC), specs=DeclaredSpecs(*specs), now_ms=lambda: 99)


def as_read(page: Any) -> ARecord:
    encoded = CODEC.encode(PAGES_PARSED, page)
    return ARecord(encoded.value, encoded.headers)


def test_topics_declare_this_service() -> None:
    assert [reads.topic for reads in a_validator().subscriptions()] == list(CONSUMES) == [PAGES_PARSED]
    assert all("validator" in topic.writers for topic in PRODUCES)


@pytest.mark.parametrize(
    ("page", "verdict"),
    [
        pytest.param(a_page(), Verdict("valid", RULES.version, 99), id="valid"),
        pytest.param(
            a_page(decoded_bytes=9),
            Verdict("doubtful", RULES.version, 99, warnings=("too_short",)),
            id="doubtful",
        ),
        pytest.param(
            a_page("", outcome="not_modified"), Verdict("valid", RULES.version, 99), id="not-modified"
        ),
    ],
)
async def test_an_accepted_page_is_spliced(page: Any, verdict: Verdict) -> None:
    record = as_read(page)

    effects = await a_validator().on_page_parsed(page, record)

    (say,) = effects.publish
    assert isinstance(say, Publish)
    assert say.encoded is not None
    assert record.value is not None
    assert record.value[10:] in say.encoded.value
    assert (
        CODEC.decode(PAGES_VALIDATED, *say.encoded) == PageValidated(page=page, verdict=verdict) == say.event
    )
    assert (say.topic, effects.outcome) == (PAGES_VALIDATED, verdict.validation_status)


async def test_on_a_bus_without_bytes_the_event_is_published() -> None:
    effects = await a_validator().on_page_parsed(a_page(), ARecord(None))

    assert effects.publish[0].encoded is None  # type: ignore[union-attr]


async def test_an_accepted_page_is_not_decoded_whole() -> None:
    """A tenth of it is decoded, and its bytes are passed on as they are."""
    validator, record = a_validator(), as_read(a_page(decoded_bytes=9))
    (reads,) = validator.subscriptions()
    page = CODEC.decode(PAGES_PARSED, record.value, record.headers, only=reads.fields)

    effects = await validator.on_page_parsed(page, record)

    (say,) = effects.publish
    assert isinstance(say, Publish)
    assert PAGES_VALIDATED.headers_of(say.event) == PAGES_VALIDATED.headers_of(PageValidated(page, VERDICT))
    assert PAGES_VALIDATED.key_of(say.event) is not None
    assert is_partial(page)


@pytest.mark.req("S2.4.8", "S2.4.9")
@pytest.mark.req("S2.4.13", part="in the event of a rejected page")
async def test_a_rejected_page_publishes_only_its_rejection() -> None:
    page = a_page(
        "Access Denied. Ask the administrator.", raw_hash="r", text_hash="t", depth=2, body_object="o"
    )

    effects = await a_validator().on_page_parsed(page, as_read(page))

    rejected = PageRejected(
        url_key=page.url_key,
        group="site.test",
        job_id="adhoc",
        execution_id="adhoc-20261118-spec",
        fetch_sequence=7,
        validation_status="rejected",
        rejection_reason="access_denied",
        rejection_kind="hard",
        rejected_by="validator",
        rejected_at_ms=99,
        url="https://site.test/page",
        origin="https://site.test",
        crawl_spec_id="spec",
        depth=2,
        detail="text: access denied",
        rules_version=RULES.version,
        status=200,
        fetched_at_ms=1_763_467_200_000,
        parse_outcome="parsed",
        parser="strider",
        parser_version="1",
        document_kind="html",
        title="Streams",
        excerpt="Access Denied. Ask the administrator.",
        text_chars=37,
        body_object="o",
        raw_hash="r",
        text_hash="t",
    )
    assert effects == Effects((Publish(PAGES_REJECTED, rejected),), outcome="access_denied")
    assert len(CODEC.encode(PAGES_REJECTED, rejected).value) < 1_000


@pytest.mark.req("S2.4.10")
async def test_the_reason_of_a_rejection_is_logged() -> None:
    page = a_page("Access Denied. Ask the administrator.")

    with capture_logs() as lines:
        await a_validator().on_page_parsed(page, as_read(page))

    [line] = lines
    assert line["event"] == log_events.PAGE_REJECTED.text
    assert (line["url"], line["reason"], line["detail"]) == (page.url, "access_denied", "text: access denied")


async def test_a_rejection_carries_every_identifying_field() -> None:
    page = a_page("", kind="feed", hop=1, priority=3, is_start=True, referrer="https://site.test/",
                  redirect_chain=("https://a.test/",), metadata={"a": "b"}, content_type="text/html",
                  rendered=True, body_bytes=3, simhash=5, link_urls=())  # fmt: skip
    effects = await a_validator().on_page_parsed(page, as_read(page))
    rejected = effects.publish[0].event.to_record()  # type: ignore[union-attr]
    parsed = page.to_record()

    assert {name for name in rejected.keys() & parsed.keys() if rejected[name] != parsed[name]} == set()


async def test_a_page_in_the_dead_letters_is_rejected_from_its_headers() -> None:
    record = ARecord(b"junk", PAGES_PARSED.headers_of(a_page()))

    effects = await a_validator().on_given_up(record, GivenUp("bad_magic"))

    event = effects.publish_last[0].event  # type: ignore[union-attr]
    assert (event.rejected_by, event.rejection_reason, event.fetch_sequence, event.url) == (
        "validator", "unreadable_message", 7, "",
    )  # fmt: skip
    assert effects.publish == ()


async def test_a_part_with_successors_settles_nothing() -> None:
    """A part of a long list that was given up is a dead letter; the last part settles the page."""
    part = a_page(document_kind="sitemap", part=1, is_last_part=False)
    record = ARecord(None, (*PAGES_PARSED.headers_of(part), *MORE_PARTS_HEADERS))

    effects = await a_validator().on_page_parsed(part, record)

    (said,) = effects.publish
    assert said.headers == MORE_PARTS_HEADERS
    assert await a_validator().on_given_up(record, GivenUp("bad_magic")) is NO_EFFECTS


@pytest.mark.parametrize(
    ("record_headers", "outcome"),
    [
        pytest.param(LAST_PART_HEADERS, "parsed", id="the last of several is given up"),
        pytest.param((), "timed_out", id="what was read before may have had parts"),
        pytest.param(closing_headers("handler_crashed"), "crashed", id="the parser gave it up"),
    ],
)
async def test_the_closing_event_follows_the_parts_on_their_topic(record_headers: Any, outcome: str) -> None:
    """A rejection has no order with them, as it is on another topic."""
    page = a_page(document_kind="sitemap", outcome=outcome)
    record = ARecord(None, (*PAGES_PARSED.headers_of(page), *record_headers))
    if outcome == "parsed":
        effects = await a_validator().on_given_up(record, GivenUp("bad_magic"))
    else:
        effects = await a_validator().on_page_parsed(page, record)

    *rejections, closes = (*effects.publish, *effects.publish_last)
    assert [(said.topic, said.headers) for said in rejections] == (
        [(PAGES_REJECTED, MORE_PARTS_HEADERS)] if outcome != "crashed" else []
    )
    assert closes.topic is PAGES_VALIDATED
    verdict = closes.event.verdict
    assert closes.headers == closing_headers(verdict.rejection_reason)
    assert (verdict.validation_status, closes.event.page.fetch_sequence) == ("rejected", 7)
    assert PAGES_VALIDATED.headers_of(closes.event) == PAGES_PARSED.headers_of(page)
    assert CODEC.decode(PAGES_VALIDATED, *CODEC.encode(PAGES_VALIDATED, closes.event)) == closes.event


async def test_the_header_of_the_last_part_is_passed_on() -> None:
    page = a_page(document_kind="sitemap", part=2)

    effects = await a_validator().on_page_parsed(
        page, ARecord(None, (*PAGES_PARSED.headers_of(page), *LAST_PART_HEADERS))
    )

    assert [said.headers for said in effects.publish] == [LAST_PART_HEADERS]


async def test_a_foreign_record_stays_a_dead_letter() -> None:
    assert await a_validator().on_given_up(ARecord(b"junk"), GivenUp("bad_magic")) is NO_EFFECTS


async def test_pages_are_counted_for_their_run_by_verdict() -> None:
    noted = NotedEvents()
    validator = Validator(
        RULES, PageSplicer(CODEC), specs=DeclaredSpecs(), now_ms=lambda: 99, note=noted.note
    )
    valid, invalid = a_page(), a_page("", outcome="empty")
    for page in (valid, valid, invalid):
        await validator.on_page_parsed(page, as_read(page))
    run = valid.job_id, valid.execution_id

    assert noted["Pages found valid", *run, "valid"] == 2
    assert [(name[0], count) for name, count in noted.items() if name[0] != "Pages found valid"] == [
        ("Pages found invalid", 1)
    ]


@pytest.mark.parametrize(
    ("rules", "outcome"),
    [("", "doubtful"), ("strict", "rejected"), ("lenient", "valid"), ("of-a-later-version", "doubtful")],
)
async def test_a_page_is_validated_by_the_rules_of_its_crawl(rules: str, outcome: str) -> None:
    """A short page with links is kept with a warning, rejected, or simply kept."""
    page = a_page("Menu", paragraph_count=0, decoded_bytes=90)
    spec = CrawlSpecDeclared(crawl_spec_id="spec", validation_rules=rules)

    effects = await a_validator(spec).on_page_parsed(page, as_read(page))

    (published,) = effects.publish
    event = published.event  # type: ignore[union-attr]
    verdict = event if outcome == "rejected" else event.verdict
    assert verdict.validation_status == outcome
    assert (verdict.rules_version == RULES.version) is (rules in {"", "of-a-later-version"})


async def test_lenient_rules_still_reject_block_pages() -> None:
    page = a_page("Checking your browser before accessing", title="Just a moment...")
    spec = CrawlSpecDeclared(crawl_spec_id="spec", validation_rules="lenient")

    effects = await a_validator(spec).on_page_parsed(page, as_read(page))

    assert [each.topic for each in effects.publish] == [PAGES_REJECTED]  # type: ignore[union-attr]
