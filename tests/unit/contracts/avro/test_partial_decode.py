"""A partially decoded event equals the completely decoded one."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.partial_decode import is_partial
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.events import PageParsed, PageValidated, Product, Verdict
from strider.contracts.generated.topics import PAGES_PARSED, PAGES_REJECTED, PAGES_VALIDATED, TOPICS
from tests.unit.contracts.codegen.test_examples import DECLARATIONS, _event, _schema

CODEC = Codec(SchemaStore.bundled())
PAGE = PageParsed(
    "https://site.test/", "ab" * 32, "https://site.test", "site.test", "adhoc", "run", "spec", 7,
    "parsed", "strider", "1", 1_763_467_200_000, title="Streams", link_urls=("https://site.test/a",) * 70,
    link_rels=(0, 90, 3), products=(Product("A mill"),), meta={"a": "b"}, refresh_seconds=2.5,
)  # fmt: skip
VERDICT = Verdict("valid", "rules", 1, warnings=("short",))
LOOKED_AT = ("title", "link_urls", "link_rels", "products", "meta", "refresh_seconds", "fetch_sequence")


def in_part(*only: str, page: PageParsed = PAGE) -> PageParsed:
    return CODEC.decode(PAGES_PARSED, *CODEC.encode(PAGES_PARSED, page), only=only)


def test_what_was_read_is_what_reading_all_gives() -> None:
    page = in_part(*LOOKED_AT)

    assert [getattr(page, name) for name in LOOKED_AT] == [getattr(PAGE, name) for name in LOOKED_AT]
    assert is_partial(page)


@pytest.mark.parametrize("name", [each.name for each in fields(PageParsed)])
def test_each_field_can_be_the_one_that_is_read_or_the_one_that_comes_later(name: str) -> None:
    others = tuple(each.name for each in fields(PageParsed) if each.name != name)

    assert getattr(in_part(name), name) == getattr(PAGE, name) == getattr(in_part(*others), name)
    assert (is_partial(in_part(name)), is_partial(in_part(*others))) == (True, True)


def test_a_field_that_was_not_read_brings_all_the_others() -> None:
    page = in_part("title")

    assert page.url == PAGE.url
    assert not is_partial(page)
    assert page == PAGE


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize(
    ("topic", "example"),
    [
        pytest.param(topic, example, id=f"{example.event}-{example.name}")
        for example in DECLARATIONS.examples
        for topic in [each for each in TOPICS.values() if each.schema_name == _schema(example).name][:1]
    ],
)
def test_every_example_is_the_same_in_part_and_whole(topic: Any, example: Any, number: int) -> None:
    """With either half of its fields selected."""
    event = _event(example)
    some = tuple(each.name for each in fields(event))[number::2]

    found = CODEC.decode(topic, *CODEC.encode(topic, event), only=some)

    assert [getattr(found, name) for name in some] == [getattr(event, name) for name in some]
    assert is_partial(found)
    assert found == event


def test_events_within_events_are_read_in_part_as_well() -> None:
    encoded = CODEC.encode(PAGES_VALIDATED, PageValidated(PAGE, VERDICT))
    event = CODEC.decode(PAGES_VALIDATED, *encoded, only=("page.title", "page.products", "verdict"))

    assert (event.page.title, event.page.products, event.verdict) == (PAGE.title, PAGE.products, VERDICT)
    assert (is_partial(event), is_partial(event.page)) == (True, True)
    assert (event.page.url, is_partial(event.page)) == (PAGE.url, False)


def test_it_is_an_event_as_others_are() -> None:
    page = in_part("title")
    with pytest.raises(FrozenInstanceError):
        page.title = "x"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="no field 'nothing'"):
        page.nothing  # type: ignore[attr-defined]  # noqa: B018

    assert isinstance(page, PageParsed)
    assert is_partial(page), "neither has asked for a field"
    assert PAGE == in_part("title") == PAGE != in_part("title", page=replace(PAGE, text="other"))
    assert repr(in_part("title")) == repr(PAGE)
    assert in_part("title").to_record() == PAGE.to_record()
    assert (
        type(replace(in_part("title"), text="x"))
        is type(replace_fields(in_part("url"), text="x"))
        is PageParsed
    )
    assert pickle.loads(pickle.dumps(in_part("title"))) == PAGE  # the schema with which we write


def test_bytes_that_are_no_event_are_refused_however_little_is_read() -> None:
    value, headers = CODEC.encode(PAGES_PARSED, PAGE)

    for bad, reason in ((value[:-1], "truncated"), (value + b"\0", "trailing_bytes")):
        with pytest.raises(DecodeError) as caught:
            CODEC.decode(PAGES_PARSED, bad, headers, only=("title",))
        assert caught.value.reason == reason


@pytest.mark.parametrize(("only", "asked"), [("title", "title"), ("url", "title")])
def test_a_bad_text_is_refused_when_it_is_read(only: str, asked: str) -> None:
    value, headers = CODEC.encode(PAGES_PARSED, PAGE)
    spoilt = value.replace(b"Streams", b"Str\0ams")

    with pytest.raises(DecodeError, match="NUL"):
        getattr(CODEC.decode(PAGES_PARSED, spoilt, headers, only=(only,)), asked)


def test_what_another_schema_wrote_is_read_whole() -> None:
    """Its fields are projected together."""
    book = SchemaStore.bundled()
    example = next(each for each in DECLARATIONS.examples if each.event == "page-rejected")
    rejected, schema = _event(example), _schema(example).resolved
    value = CODEC.encode(PAGES_REJECTED, rejected).value
    foreign = {**schema, "fields": [*schema["fields"], {"name": "new", "type": "long", "default": 0}]}
    fingerprint = book.register(json.dumps(foreign))

    found = Codec(book).decode(PAGES_REJECTED, b"\xc3\x01" + fingerprint + value[10:] + b"\0", only=("url",))

    assert (found == rejected, is_partial(found)) == (True, False)
