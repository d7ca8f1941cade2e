"""A validated page is the parsed page's bytes followed by a verdict, for every Avro reader."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from math import nan
from typing import Any

import avro.io
import avro.schema
import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer

from strider.contracts import ContractError, EncodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.avro.splice import Splicer
from strider.contracts.generated.events import PageParsed, PageValidated, Verdict
from strider.contracts.generated.topics import PAGES_PARSED, PAGES_REJECTED, PAGES_VALIDATED

URLS = tuple(f"https://example.org/{number}" for number in range(80))
PAGE = PageParsed(
    url="https://example.org/",
    url_key="key",
    origin="https://example.org",
    group="example.org",
    job_id="job",
    execution_id="execution",
    crawl_spec_id="spec",
    fetch_sequence=1,
    outcome="parsed",
    parser="html",
    parser_version="1",
    fetched_at_ms=1_760_000_000_000,
    text="täxt " * 4_000,
    link_urls=URLS,
    link_anchors=URLS,
    metadata={"a": "b"},
)
VERDICT = Verdict(
    validation_status="valid",
    rules_version="1",
    validated_at_ms=1_760_000_000_001,
    warnings=("a",),
    quality=0.5,
)


@pytest.fixture
def codec() -> Codec:
    return Codec(SchemaStore.bundled())


@pytest.fixture
def splicer(codec: Codec) -> Splicer[PageParsed, PageValidated]:
    return Splicer(codec, part=PAGES_PARSED, whole=PAGES_VALIDATED)


def test_splicing_gives_the_very_bytes_of_encoding(codec: Codec, splicer: Splicer[Any, Any]) -> None:
    parsed = codec.encode(PAGES_PARSED, PAGE)

    spliced = splicer.splice(parsed.value, parsed.headers, verdict=VERDICT)

    assert spliced == codec.encode(PAGES_VALIDATED, PageValidated(page=PAGE, verdict=VERDICT))
    assert parsed.value[10:] in spliced.value


def test_any_avro_reader_reads_what_was_spliced(codec: Codec, splicer: Splicer[Any, Any]) -> None:
    """The Apache library and fastavro, with only the schema."""
    parsed = codec.encode(PAGES_PARSED, PAGE)
    body = splicer.splice(parsed.value, parsed.headers, verdict=VERDICT).value[10:]
    definition = codec.schema_store.definition(PAGES_VALIDATED.schema_name)
    ours = PageValidated(page=PAGE, verdict=VERDICT)

    apache = avro.io.DatumReader(avro.schema.parse(definition)).read(avro.io.BinaryDecoder(BytesIO(body)))
    fast: Any = schemaless_reader(BytesIO(body), parse_schema(json.loads(definition)), None)

    assert PageValidated.from_record(apache) == ours  # type: ignore[arg-type]  # the library says `object`
    assert PageValidated.from_record(fast) == ours


def test_the_registry_of_one_topic_is_not_the_others(codec: Codec, splicer: Splicer[Any, Any]) -> None:
    """Each topic has its own ids, so only the event is copied and never the frame."""
    codec.schema_store.use_registry_id("pages-parsed", PAGES_PARSED.schema_name, 7)
    codec.schema_store.use_registry_id("pages-validated", PAGES_VALIDATED.schema_name, 8)
    parsed = codec.encode(PAGES_PARSED, PAGE)

    spliced = splicer.splice(parsed.value, parsed.headers, verdict=VERDICT)

    assert (parsed.value[:5], spliced.value[:5]) == (b"\x00\x00\x00\x00\x07", b"\x00\x00\x00\x00\x08")
    assert codec.decode(PAGES_VALIDATED, *spliced) == PageValidated(page=PAGE, verdict=VERDICT)


@pytest.mark.parametrize(
    "known", [pytest.param(True, id="page at hand"), pytest.param(False, id="page decoded again")]
)
def test_a_page_of_another_version_is_encoded_again(
    codec: Codec, splicer: Splicer[Any, Any], known: bool
) -> None:
    """During an upgrade parser and validator have different schemas, whose bytes cannot be mixed."""
    definition = json.loads(codec.schema_store.definition(PAGES_PARSED.schema_name))
    foreign = definition | {
        "fields": [*definition["fields"][::-1], {"name": "new", "type": "string", "default": ""}]
    }
    stream = BytesIO()
    schemaless_writer(stream, parse_schema(foreign), {**PAGE.to_record(), "new": "thing"})
    value = b"\xc3\x01" + codec.schema_store.register(json.dumps(foreign)) + stream.getvalue()

    spliced = splicer.splice(value, verdict=VERDICT, part=PAGE if known else None)

    assert spliced == codec.encode(PAGES_VALIDATED, PageValidated(page=PAGE, verdict=VERDICT))


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param(replace(VERDICT, validation_status="fine"), id="foreign word"),
        pytest.param(replace(VERDICT, quality=nan), id="NaN"),
        pytest.param(replace(VERDICT, rules_version=None), id="nothing where text is wanted"),
    ],
)
def test_a_verdict_is_checked_as_in_encoding(
    codec: Codec, splicer: Splicer[Any, Any], verdict: Verdict
) -> None:
    parsed = codec.encode(PAGES_PARSED, PAGE)

    with pytest.raises(EncodeError):
        splicer.splice(parsed.value, parsed.headers, verdict=verdict)


@pytest.mark.parametrize("text", ["a\ud800", "a\0"])
def test_a_verdicts_text_is_scrubbed(codec: Codec, splicer: Splicer[Any, Any], text: str) -> None:
    parsed = codec.encode(PAGES_PARSED, PAGE)

    spliced = splicer.splice(parsed.value, parsed.headers, verdict=replace(VERDICT, near_duplicate_of=text))

    assert codec.decode(PAGES_VALIDATED, *spliced).verdict.near_duplicate_of == "a\ufffd"


def test_the_whole_has_a_limit_of_its_own(codec: Codec) -> None:
    parsed = codec.encode(PAGES_PARSED, PAGE)
    small = replace(PAGES_VALIDATED, max_bytes=len(parsed.value))

    with pytest.raises(EncodeError, match="the limit is"):
        Splicer(codec, part=PAGES_PARSED, whole=small).splice(*parsed, verdict=VERDICT)


def test_the_largest_page_leaves_space_for_any_verdict() -> None:
    """A page that could be parsed and not be validated would be stuck."""
    assert PAGES_VALIDATED.max_bytes - PAGES_PARSED.max_bytes >= 16 * 1024


def test_only_a_part_and_its_verdict_can_be_spliced(codec: Codec) -> None:
    with pytest.raises(ContractError, match="not a part followed by a verdict"):
        Splicer(codec, part=PAGES_PARSED, whole=PAGES_REJECTED)
