"""JSON seeds are accepted as people write them, and errors name the field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.errors import DECODE_REASONS
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import PAGES_PARSED, SEEDS_SUBMITTED
from strider.contracts.seed_limits import SEED_RANGES, SEED_WORDS, seed_word_error
from strider.contracts.seeds import FIELD_OF_OPTION, MAX_JSON_BYTES, is_json_object

URL = "https://example.org/"
CODEC = Codec(SchemaStore.bundled())


def decode(document: bytes | str) -> SeedSubmitted:
    return CODEC.decode(SEEDS_SUBMITTED, document.encode() if isinstance(document, str) else document)


def a_seed(**fields: Any) -> SeedSubmitted:
    return SeedSubmitted(url=URL, **fields)


def a_document(**fields: Any) -> str:
    return json.dumps({"url": URL, **fields})


def test_a_url_is_enough() -> None:
    assert decode('{"url":"https://example.org/"}') == a_seed()


def test_every_field_can_be_set() -> None:
    said = {
        "max_depth": 2,
        "scope": "domain",
        "priority": 1,
        "job_id": "j-1",
        "delay": 2.5,
        "fresh": True,
        "metadata": {"who": "ann"},
        "include": ["/blog/"],
        "exclude": ["/tag/"],
        "headers": {"Accept-Language": "de"},
        "submitted_at_ms": 1_760_000_000_000,
    }

    assert decode(a_document(**said)) == a_seed(**said | {"include": ("/blog/",), "exclude": ("/tag/",)})


def test_a_run_is_closed_without_a_url() -> None:
    closing = SeedSubmitted(url="", execution_id="spring", close=True)

    assert decode('{"run": "spring", "close": true}') == closing
    assert decode('{"execution_id": "spring", "close": true, "url": null}') == closing
    assert decode(a_document(run="spring")) == a_seed(execution_id="spring")


FRIENDLY = [
    pytest.param(
        {"max_depth": None, "scope": None, "metadata": None, "priority": None}, {}, id="null is the default"
    ),
    pytest.param({"priority": 2.0}, {"priority": 2}, id="a whole number with a point"),
    pytest.param({"max_depth": 1e0}, {"max_depth": 1}, id="a whole number with an exponent"),
    pytest.param({"delay": 2}, {"delay": 2.0}, id="a whole number for a fraction"),
    pytest.param({"priority": "high"}, {"priority": 3}, id="priority in words"),
    pytest.param({"priority": " Low "}, {"priority": 1}, id="priority in words, sloppily"),
    pytest.param({"include": "/blog/"}, {"include": ("/blog/",)}, id="one text for a list"),
    pytest.param(
        {"metadata": {"n": 1, "f": 0.5, "b": True}},
        {"metadata": {"n": "1", "f": "0.5", "b": "true"}},
        id="numbers in a map of texts",
    ),
    pytest.param({"metadata": {"a": "x", "b": None}}, {"metadata": {"a": "x"}}, id="null in a map"),
    pytest.param({"priority": 0}, {"priority": 0}, id="the least priority"),
    pytest.param({"max_depth": 0, "delay": 0}, {"max_depth": 0, "delay": 0.0}, id="nothing, as zeros"),
    pytest.param({"delay": 86_400}, {"delay": 86_400.0}, id="the longest delay"),
]


@pytest.mark.parametrize(("said", "meant"), FRIENDLY)
def test_what_is_meant_is_understood(said: dict[str, Any], meant: dict[str, Any]) -> None:
    assert decode(a_document(**said)) == a_seed(**meant)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(b' \t\r\n{"url":"https://example.org/"}\n', id="blanks around it"),
        pytest.param(b'\xef\xbb\xbf{"url":"https://example.org/"}\r\n', id="byte order mark"),
        pytest.param(b'{"url":"https:\\/\\/example.org\\u002f"}', id="escapes"),
    ],
)
def test_what_shells_and_tools_add_does_no_harm(document: bytes) -> None:
    assert decode(document) == a_seed()


def test_text_in_any_script_is_taken() -> None:
    assert decode(a_document(metadata={"ключ": "日本 😀"})) == a_seed(metadata={"ключ": "日本 😀"})
    assert decode('{"url":"https://example.org/","job_id":"\\ud83d\\ude00"}') == a_seed(job_id="😀")


REFUSED = [
    pytest.param("{}", "missing_field", "'url' is required", id="no url"),
    pytest.param('{"url":null}', "missing_field", "'url' is required", id="url null"),
    pytest.param('{"url":5}', "wrong_type", "url is the number 5, expected a text", id="url a number"),
    pytest.param(a_document(max_dept=3), "unknown_field", "did you mean 'max_depth'", id="misspelt name"),
    pytest.param(
        a_document(extract="main"), "unknown_field", "'extract'; did you mean 'extraction'?", id="option"
    ),
    pytest.param(a_document(**{"max-depth": 3}), "unknown_field", "did you mean 'max_depth'?", id="dashes"),
    pytest.param(a_document(max_depth=11), "bad_value", "max_depth is 11, expected 0 to 10", id="too deep"),
    pytest.param(a_document(maxDepth=3), "unknown_field", "did you mean 'max_depth'", id="other spelling"),
    pytest.param(a_document(**{"": 1}), "unknown_field", "allowed: ", id="empty name"),
    pytest.param(
        a_document(scope="hots"), "bad_value", "scope is 'hots'; did you mean 'host'", id="misspelt word"
    ),
    pytest.param(a_document(max_depth="3"), "wrong_type", "max_depth is a text", id="text for a number"),
    pytest.param(a_document(max_depth=2.5), "wrong_type", "max_depth is the number 2.5", id="half a level"),
    pytest.param(
        a_document(max_depth=True), "wrong_type", "max_depth is a boolean", id="boolean for a number"
    ),
    pytest.param(a_document(fresh="yes"), "wrong_type", "fresh is a text, expected true or false", id="yes"),
    pytest.param(a_document(fresh=1), "wrong_type", "fresh is the number 1", id="1 for true"),
    pytest.param(a_document(delay=False), "wrong_type", "delay is a boolean", id="boolean for seconds"),
    pytest.param(
        a_document(priority="urgent"),
        "bad_value",
        "priority is 'urgent', expected one of high, medium, low, discovery, 0 to 3, or 1/10 to 10/10",
        id="unknown priority",
    ),
    pytest.param('{"URL":"a"}', "unknown_field", "'URL'; did you mean 'url'", id="a name in capitals"),
    pytest.param(a_document(scope="HOST"), "bad_value", "did you mean 'host'", id="a word in capitals"),
    pytest.param('{"url":""}', "bad_value", "url is empty", id="no text in the url"),
    pytest.param('{"url":" \\u2003 "}', "bad_value", "url is empty", id="a url of blanks"),
    pytest.param(
        '{"url":"http://a/\\r\\nX: y"}', "bad_value", "url contains a control", id="a line break in the url"
    ),
    pytest.param(
        '{"url":"http://a/\\u001b[2J"}', "bad_value", "url contains a control", id="an escape in the url"
    ),
    pytest.param(a_document(priority=99), "bad_value", "priority is 99, expected 0 to 3", id="priority 99"),
    pytest.param(a_document(priority=-1), "bad_value", "priority is -1, expected 0 to 3", id="priority -1"),
    pytest.param(a_document(max_depth=-3), "bad_value", "max_depth is -3", id="less than no depth"),
    pytest.param(a_document(max_depth=10**7), "bad_value", "max_depth is 10000000", id="no depth of links"),
    pytest.param(a_document(delay=-1), "bad_value", "delay is -1, expected 0 to 86400", id="delay -1"),
    pytest.param(a_document(delay=1e300), "bad_value", r"delay is 1e\+300", id="an endless delay"),
    pytest.param(a_document(max_pages=-1), "bad_value", "max_pages is -1", id="fewer than no pages"),
    pytest.param(a_document(max_bytes=-1), "bad_value", "max_bytes is -1", id="fewer than no bytes"),
    pytest.param(a_document(max_seconds=-1), "bad_value", "max_seconds is -1", id="less than no time"),
    pytest.param(
        a_document(submitted_at_ms=-1), "bad_value", "submitted_at_ms is -1", id="sent before all time"
    ),
    pytest.param(
        a_document(include=[1]), "wrong_type", r"include\[0\] is the number 1", id="number in a list"
    ),
    pytest.param(a_document(include={"a": 1}), "wrong_type", "include is an object", id="object for a list"),
    pytest.param(a_document(metadata=["a"]), "wrong_type", "metadata is a list", id="list for an object"),
    pytest.param(
        a_document(metadata={"a": {}}), "wrong_type", "metadata.a is an object", id="object in a map"
    ),
    pytest.param(a_document(max_depth=1 << 31), "bad_value", "out of range", id="more than an int"),
    pytest.param(a_document(max_pages=1 << 63), "bad_value", "out of range", id="more than a long"),
    pytest.param(a_document(max_depth=1e30), "bad_value", "out of range", id="a huge fraction"),
    pytest.param('{"url":"a","url":"b"}', "bad_json", "'url' is given twice", id="a name twice"),
    pytest.param(
        '{"url":"a","metadata":{"k":1,"k":2}}', "bad_json", "'k' is given twice", id="a name twice inside"
    ),
    pytest.param('{"url":"a","delay":NaN}', "bad_json", "NaN is not a JSON number", id="NaN"),
    pytest.param('{"url":"a","delay":-Infinity}', "bad_json", "-Infinity", id="infinity"),
    pytest.param('{"url":"a","delay":1e999}', "bad_json", "too large a number", id="too large a fraction"),
    pytest.param(
        '{"url":"a","max_pages":' + "9" * 5000 + "}", "bad_json", "5000 digits", id="a very long number"
    ),
    pytest.param('{"url":"a\\u0000b"}', "bad_value", "url contains a NUL", id="NUL"),
    pytest.param('{"url":"a\\ud800"}', "bad_value", "url contains a lone surrogate", id="lone surrogate"),
    pytest.param(
        '{"url":"a","metadata":{"\\u0000":"x"}}', "bad_value", "metadata contains a NUL", id="NUL in a name"
    ),
    pytest.param(
        '{"url":"a","metadata":{"x":"\\udc00"}}',
        "bad_value",
        "metadata.x contains a lone",
        id="surrogate inside",
    ),
    pytest.param('{"url":"a"', "bad_json", "at character 10", id="cut"),
    pytest.param('{"url":"a"}}', "bad_json", "Extra data at character 11", id="one brace too many"),
    pytest.param('{"url":"a"}{"url":"b"}', "bad_json", "Extra data", id="two documents"),
    pytest.param("{'url':'a'}", "bad_json", "at character 1", id="single quotes"),
    pytest.param('{"url":"a",}', "bad_json", "at character", id="trailing comma"),
    pytest.param(b'{"url":"\xff"}', "bad_json", "invalid UTF-8 at byte 8", id="no UTF-8"),
    pytest.param(b'{"url":"\xed\xa0\x80"}', "bad_json", "invalid UTF-8", id="surrogate in bytes"),
    pytest.param('{"url":"a\nb"}', "bad_json", "control character", id="line break in a text"),
    pytest.param('{"metadata":' + "[" * 30_000, "bad_json", "nested too deeply", id="depth bomb of lists"),
    pytest.param(
        '{"metadata":' + '{"a":' * 10_000, "bad_json", "nested too deeply", id="depth bomb of objects"
    ),
    pytest.param(
        '{"metadata":' + "[" * 20_000 + "]" * 20_000 + "}",
        "bad_json",
        "nested too deeply",
        id="well-formed depth bomb",
    ),
    pytest.param('["https://example.org/"]', "bad_magic", "an object in braces", id="a list"),
    pytest.param('"https://example.org/"', "bad_magic", "an object in braces", id="a text"),
    pytest.param("https://example.org/", "bad_magic", "an object in braces", id="a bare URL"),
    pytest.param(a_document().encode("utf-16"), "bad_magic", "UTF-16", id="UTF-16"),
    pytest.param(b" " * 100, "bad_magic", "20 20 20 20", id="only blanks"),
    pytest.param(
        a_document(metadata={"a": "x" * MAX_JSON_BYTES}), "too_large", "the limit is", id="too long"
    ),
]


@pytest.mark.parametrize(("document", "reason", "detail"), REFUSED)
def test_an_error_names_its_field(document: str | bytes, reason: str, detail: str) -> None:
    """Ignoring a misspelt limit would crawl without one."""
    with pytest.raises(DecodeError, match=detail) as caught:
        decode(document)

    assert caught.value.reason == reason
    assert len(str(caught.value)) < 600


def test_only_the_front_door_takes_json() -> None:
    """In all other topics a JSON value is a mistake of a foreign producer."""
    with pytest.raises(DecodeError) as caught:
        CODEC.decode(PAGES_PARSED, a_document().encode())

    assert caught.value.reason == "bad_magic"


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        pytest.param(b"{", True, id="brace"),
        pytest.param(b"\n {", True, id="blanks first"),
        pytest.param(b"\xef\xbb\xbf {", True, id="byte order mark"),
        pytest.param(b"", False, id="empty"),
        pytest.param(b"[", False, id="list"),
        pytest.param(b"\xc3\x01{", False, id="avro"),
        pytest.param(b"\x00\x00\x00\x00\x7b{", False, id="confluent"),
    ],
)
def test_json_is_recognised_by_its_first_byte(value: bytes, answer: bool) -> None:
    assert is_json_object(value) is answer


def test_only_known_fields_have_a_range() -> None:
    """A range for a renamed field would check nothing."""
    assert SEED_RANGES.keys() | set(FIELD_OF_OPTION.values()) <= SeedSubmitted.__dataclass_fields__.keys()


def test_an_avro_seed_keeps_fields_that_a_json_seed_may_not_have() -> None:
    """Programs write Avro; the consumer of the seed judges their numbers."""
    encoded = CODEC.encode(SEEDS_SUBMITTED, a_seed(max_depth=-3, priority=99))

    assert CODEC.decode(SEEDS_SUBMITTED, encoded.value, encoded.headers) == a_seed(max_depth=-3, priority=99)


def test_an_avro_seed_comes_through_the_same_door() -> None:
    encoded = CODEC.encode(SEEDS_SUBMITTED, a_seed(max_depth=1))

    assert CODEC.decode(SEEDS_SUBMITTED, encoded.value, encoded.headers) == a_seed(max_depth=1)


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*SeedSubmitted.__dataclass_fields__, "other"]), _anything))
def test_any_document_is_taken_or_refused(document: dict[str, Any]) -> None:
    reason, seed = None, None
    try:
        seed = decode(json.dumps(document))
    except DecodeError as failure:
        reason = failure.reason

    assert reason in DECODE_REASONS if reason else isinstance(seed, SeedSubmitted)
    # What is accepted can be encoded.
    assert seed is None or CODEC.encode(SEEDS_SUBMITTED, seed).value


@given(st.binary(max_size=200))
def test_any_bytes_behind_a_brace_are_taken_or_refused(rest: bytes) -> None:
    reason = "none"
    try:
        decode(b"{" + rest)
    except DecodeError as failure:
        reason = failure.reason

    assert reason in (*DECODE_REASONS, "none")


@pytest.mark.req("S4.12.5", part="the scale of priorities, for seeds, without its default")
def test_the_priorities_of_task_lists_are_the_same_scale_in_finer_steps() -> None:
    """1 is the most urgent there, 10 the least, 5 the usual; one number stands for all spellings."""
    words = [f"{number}/10" for number in range(1, 11)]

    found = [decode(a_document(priority=word)).priority for word in words]

    assert found == [3, 3, 3, 2, 2, 2, 1, 1, 1, 0]
    for word in ("0/10", "11/10", "5/5"):
        with pytest.raises(DecodeError, match="1/10 to 10/10"):
            decode(a_document(priority=word))


def test_every_word_of_a_seed_is_compared_with_the_list_that_its_schema_names() -> None:
    """Of Avro seeds, too: their decoding does not compare."""
    store = CODEC.schema_store
    fields = store.current(SEEDS_SUBMITTED.schema_name).node.fields
    declared = {field.name: set(store.value_lists[field.value_list]) for field in fields if field.value_list}

    assert {name: set(words) for name, words in SEED_WORDS.items()} == declared
    assert all(not seed_word_error(name, word) for name, words in declared.items() for word in words)
    assert seed_word_error("kind", "robot") == "kind is 'robot', allowed: " + ", ".join(
        sorted(declared["kind"])
    )
    assert seed_word_error("url", "robot") == ""
