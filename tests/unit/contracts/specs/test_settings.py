"""Settings of crawl specs: what senders may write, the error for what they may not, how layers combine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.contracts.specs.crawl_specs import (
    SpecLayer,
    canonical_spec,
    changed_settings,
    combine_layers,
    spec_from_seed,
    spec_id,
)
from strider.contracts.specs.fields import conflict_fault
from strider.contracts.specs.settings import (
    MAX_SPEC_BYTES,
    parse_settings,
    parse_settings_document,
    read_settings,
    settings_fault,
    settings_text,
)

CODEC = Codec(SchemaStore.bundled())
URL = "https://a.test/"


def decode(**fields: Any) -> SeedSubmitted:
    return CODEC.decode(SEEDS_SUBMITTED, json.dumps({"url": URL, **fields}).encode())


def settings_of(seed: SeedSubmitted) -> dict[str, Any]:
    return changed_settings(spec_from_seed(seed))


def test_a_seed_sets_fields_of_its_crawl_spec() -> None:
    seed = decode(spec={"use_cookies": True, "hosts": "b.test", "max_depth": 0, "recrawl_seconds": None})

    assert settings_of(seed) == {"use_cookies": True, "hosts": ["b.test"], "max_depth": 0}
    assert CODEC.decode(SEEDS_SUBMITTED, CODEC.encode(SEEDS_SUBMITTED, seed).value) == seed


def test_equal_settings_are_one_spec_however_they_are_written() -> None:
    """In the field of the seed, in its `spec`, or with a default that is written out."""
    plain = spec_from_seed(decode(max_pages=5, delay=2))

    assert spec_from_seed(decode(spec={"max_pages": 5, "delay_seconds": 2.0, "use_feeds": False})) == plain
    assert spec_from_seed(SeedSubmitted(URL, spec=' {"delay_seconds": 2, "max_pages": 5} ')) == plain


def test_fields_of_the_seed_come_before_its_spec() -> None:
    spec = {
        "max_depth": 1,
        "max_pages": 5,
        "scope": "any",
        "priority": 3,
        "include": ["/a"],
        "extraction": "basic",
    }

    assert settings_of(decode(spec=spec)) == {**spec, "priority": 3}
    own = decode(
        spec=spec, max_depth=2, max_pages=6, scope="domain", priority=0, include=["/b"], extraction="main"
    )
    assert settings_of(own) == {
        "max_depth": 2,
        "max_pages": 6,
        "scope": "domain",
        "priority": 0,
        "include": ["/b"],
    }


def test_headers_are_those_of_the_seed_where_personal_ones_are_encrypted() -> None:
    seed = decode(spec={"headers": {"A": 1, "B": "2"}, "use_feeds": True}, headers={"B": "3"})

    assert seed.headers == {"A": "1", "B": "3"}
    assert seed.spec == '{"use_feeds":true}'
    assert (
        settings_fault('{"headers":{"Cookie":"a"}}')
        == "spec.headers: set them in the field headers of the seed"
    )


FAULTS = [
    ({"max_dept": 1}, "spec.max_dept: unknown; did you mean 'max_depth'?"),
    ({"crawl_spec_id": "a"}, "spec.crawl_spec_id: unknown"),
    ({"max_depth": 11}, "spec.max_depth is 11, expected 0 to 10"),
    ({"max_depth": "deep"}, "spec.max_depth is a text, expected a whole number"),
    ({"max_pages": 10**13}, "spec.max_pages is 10000000000000, expected 0 to 1000000000000"),
    ({"feed_poll_seconds": -1}, "spec.feed_poll_seconds is -1, expected 0 to 1000000000"),
    ({"feed_poll_seconds": "often"}, "spec.feed_poll_seconds is a text, expected"),
    ({"max_links_per_page": -1}, "spec.max_links_per_page is -1, expected 0 to 1000000"),
    ({"scope": "hots"}, "spec.scope is 'hots'; did you mean 'host'?"),
    ({"use_cookies": "yes"}, "spec.use_cookies is a text, expected true or false"),
    ({"include": [1]}, "spec.include[0] is the number 1, expected a text"),
    ({"allowed_ports": [80, 65_536]}, "spec.allowed_ports is 65536, expected 1 to 65535"),
    ({"schemes": ["ftp"]}, "spec.schemes is 'ftp', expected http or https"),
    ({"path_prefixes": ["docs"]}, "spec.path_prefixes is 'docs', expected a path, which begins with /"),
    ({"accept_language": "de\r\nX: 1"}, "spec.accept_language is 'de\\r\\nX: 1', expected languages"),
    ({"user_agent": "a\nb"}, "spec.user_agent is 'a\\nb', expected up to 500 printable ASCII characters"),
    ({"parser": "A b"}, "spec.parser is 'A b', expected the name of a site parser, or off"),
    ({"validation_rules": "mild"}, "spec.validation_rules is 'mild', expected empty or strict or lenient"),
    (
        {"labels": {"a": "x" * MAX_SPEC_BYTES}},
        f"spec has {MAX_SPEC_BYTES + 19} bytes, the limit is {MAX_SPEC_BYTES}",
    ),
    ({"rendering": "always"}, "spec.rendering is 'always': there is no renderer yet"),
    ({"archive_bodies": True}, "spec.archive_bodies is True: bodies are not archived yet"),
    ({"use_archives": True}, "spec.use_archives is True: archive paths are not tried yet"),
]


@pytest.mark.parametrize(("document", "detail"), FAULTS)
def test_an_error_names_the_field(document: dict[str, Any], detail: str) -> None:
    with pytest.raises(DecodeError) as by_json:
        decode(spec=document)
    assert by_json.value.detail.startswith(detail)
    assert settings_fault(json.dumps(document)) == by_json.value.detail
    with pytest.raises(DecodeError) as by_file:
        parse_settings_document(json.dumps(document).encode())
    assert by_file.value.detail.replace("the document", "spec") in {
        by_json.value.detail.replace("spec.", "", 1),
        by_json.value.detail,
    }


@pytest.mark.parametrize("spec", ["{}", '{"use_feeds": true}', [], 3, True])
def test_in_json_the_spec_is_an_object(spec: Any) -> None:
    with pytest.raises(
        DecodeError, match=r"spec is (a text|a list|a boolean|the number 3), expected an object"
    ):
        decode(spec=spec)


@pytest.mark.parametrize("text", ["{", "[]", "7", '{"a":1,"a":2}', "\ud800", '{"max_depth":1e999}'])
def test_a_text_that_is_no_object_is_a_fault(text: str) -> None:
    assert settings_fault(text).startswith("spec")


def test_values_of_planned_fields_without_effect_are_accepted() -> None:
    spec = {"rendering": "never", "archive_bodies": False, "use_archives": False, "predict_pagination": False}

    assert settings_of(decode(spec=spec)) == {"predict_pagination": False}


@given(
    st.dictionaries(st.text(max_size=20), st.recursive(st.none() | st.booleans() | st.integers(), st.lists))
)
def test_any_object_is_settings_or_a_sentence(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    if fault := settings_fault(text):
        assert fault.startswith("spec")
        return
    settings = read_settings(text)
    assert parse_settings(json.loads(settings_text(settings) or "{}")) == settings


def test_the_last_layer_that_sets_a_field_decides_and_is_named() -> None:
    source = SpecLayer("source", {"max_depth": 1, "delay_seconds": 2.0, "headers": {"A": "1", "B": "1"}})
    job = SpecLayer("job", {"max_depth": 2, "include": ["/a"], "headers": {"B": "2"}})
    seed = SpecLayer("seed", {"max_depth": 0})

    combined = combine_layers([source, job, seed])

    assert changed_settings(combined.spec) == {
        "max_depth": 0,
        "delay_seconds": 2,
        "include": ["/a"],
        "headers": {"A": "1", "B": "2"},
    }
    assert combined.spec.crawl_spec_id == spec_id(combined.spec)
    assert combined.origins == {
        "max_depth": "seed",
        "delay_seconds": "source",
        "include": "job",
        "headers": "job",
    }


def test_no_layer_is_the_default_spec() -> None:
    assert canonical_spec(combine_layers([]).spec) == "{}"
    assert combine_layers([]).spec == spec_from_seed(SeedSubmitted(URL))
    assert read_settings("") == {}


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        (
            {"recrawl_seconds": 60},
            "recrawl_seconds has no effect unless continuous is true; set it, or omit recr",
        ),
        ({"recrawl_seconds": 60, "continuous": True}, ""),
        (
            {"adaptive": False},
            "adaptive has no effect unless continuous is true or feed_poll_seconds is set; set it, or omit",
        ),
        ({"recrawl_cap_seconds": 60, "feed_poll_seconds": 0}, "recrawl_cap_seconds has no effect unless"),
        ({"recrawl_cap_seconds": 60, "feed_poll_seconds": 60}, ""),
        ({"change_basis": "raw", "feed_poll_seconds": 60}, "change_basis has no effect unless continuous is"),
        ({"parser": "amazon"}, 'parser has no effect unless extraction is "records"; set it, or omit parser'),
        ({"parser": "amazon", "extraction": "records"}, ""),
        ({"with_markdown": True}, ""),
        (
            {"with_markdown": True, "extraction": "basic"},
            'with_markdown has no effect unless extraction is "main" or "records"',
        ),
    ],
)
def test_a_field_that_another_one_makes_useless_is_a_fault(settings: dict[str, Any], fault: str) -> None:
    spec = combine_layers([SpecLayer("file", settings)]).spec

    assert conflict_fault(spec).startswith(fault)
    assert bool(conflict_fault(spec)) == bool(fault)
    assert isinstance(spec, CrawlSpecDeclared)
