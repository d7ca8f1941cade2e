"""What a source-manager and its events say, in our fields."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.api.core import (
    IMPORTED_FROM,
    SOURCE_MANAGER,
    EventFault,
    InvalidEventError,
    InvalidListingError,
    SourceEvent,
    SourceEventKind,
    read_event,
    read_list,
    read_source,
    remote_source,
)

MARK = {IMPORTED_FROM: SOURCE_MANAGER}


@pytest.mark.parametrize(
    ("body", "count", "following"),
    [
        (b'[{"id": "a"}]', 1, ""),
        (b'{"sources": [{"id": "a"}, {"id": "b"}], "count": 2}', 2, ""),
        (b'{"items": [], "next": "abc"}', 0, "abc"),
        (b'{"items": [], "next": null}', 0, ""),
    ],
)
def test_lists_of_several_forms_are_read(body: bytes, count: int, following: str) -> None:
    items, cursor = read_list(body)

    assert (len(items), cursor) == (count, following)


@pytest.mark.parametrize("body", [b"", b"{", b"3", b'{"a": []}', b"[" * 100_000])
def test_what_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidListingError):
        read_list(body)


@pytest.mark.req("S1.2.15", part="fields of a source-manager")
@pytest.mark.parametrize(
    ("item", "document"),
    [
        ({"rate_limit": "2s"}, {"delay_seconds": 2.0}),
        ({"rate_limit": "500ms"}, {"delay_seconds": 0.5}),
        ({"rate_limit": 3}, {"delay_seconds": 3}),
        ({"rate_limit": "often"}, {"delay_seconds": "often"}),
        (
            {"allowed_domains": ["a.test"], "feed_url": "https://a.test/feed"},
            {"domains": ["a.test"], "feed_urls": "https://a.test/feed"},
        ),
        ({"max_depth": -1}, {"max_depth": 10}),
        ({"max_depth": 99}, {"max_depth": 10}),
        ({"max_depth": 0, "enabled": False}, {"max_depth": 0, "enabled": False}),
        ({"selectors": {"title": "h1"}, "parser": None, "feed_url": ""}, {}),
    ],
)
def test_fields_of_another_name_are_translated_and_foreign_ones_ignored(
    item: dict[str, Any], document: dict[str, Any]
) -> None:
    remote = remote_source({"id": "x", "name": "X", "url": "https://a.test/", **item})

    assert remote.source_id == "x"
    assert remote.document == {"name": "X", "url": "https://a.test/", **document, "metadata": MARK}


@pytest.mark.parametrize(
    "item",
    [3, {}, {"id": ""}, {"id": True}, {"id": ["a"]}, {"id": "a\0"}, {"id": "\ud800"}, {"id": "x" * 201}],
)
def test_an_item_without_an_id_is_refused(item: Any) -> None:
    with pytest.raises(InvalidListingError):
        remote_source(item)


def test_one_source_may_stand_in_an_object() -> None:
    assert read_source(b'{"source": {"id": 7}}').source_id == "7"


NOW_MS = 1_795_176_000_000
ADDED_MS = NOW_MS - 7_000


@pytest.mark.req("S1.2.22", part="forms of events")
@pytest.mark.parametrize(
    ("fields", "event"),
    [
        (
            {"event_type": "SOURCE_ENABLED", "source_id": "a", "timestamp": "2026-11-20T11:59:59Z"},
            SourceEvent(SourceEventKind.ENABLED, "a", NOW_MS - 1_000),
        ),
        (
            {
                "event": json.dumps(
                    {"event_type": "source.disabled", "source_id": "a", "timestamp": NOW_MS // 1_000}
                )
            },
            SourceEvent(SourceEventKind.DISABLED, "a", NOW_MS),
        ),
        (
            {"type": "created", "source_id": "a", "timestamp": str(NOW_MS - 3)},
            SourceEvent(SourceEventKind.CREATED, "a", NOW_MS - 3),
        ),
        ({"type": "deleted", "source_id": "a"}, SourceEvent(SourceEventKind.DELETED, "a", ADDED_MS)),
        (
            {"payload": '{"type": "updated", "source_id": 7, "timestamp": ""}'},
            SourceEvent(SourceEventKind.UPDATED, "7", ADDED_MS),
        ),
        (
            {"type": "enabled", "source_id": "a", "timestamp": str(NOW_MS + 3_600_000)},
            SourceEvent(SourceEventKind.ENABLED, "a", NOW_MS),
        ),
    ],
)
def test_events_of_several_forms_are_read(fields: dict[str, str], event: SourceEvent) -> None:
    """The clock of a sender may be ahead; what happened then is no reason to ignore what follows."""
    assert read_event(fields, added_ms=ADDED_MS, now_ms=NOW_MS) == event


GOOD = {"event_type": "SOURCE_ENABLED", "source_id": "a"}


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({}, EventFault.MALFORMED),
        ({**GOOD, "event_type": "SOURCE_EATEN"}, EventFault.MALFORMED),
        ({"event": "{"}, EventFault.MALFORMED),
        ({"event": '{"a": ' + "[" * 30_000}, EventFault.MALFORMED),
        ({"event": "{" + "x" * 70_000}, EventFault.TOO_LARGE),
        ({"event_type": "SOURCE_ENABLED"}, EventFault.BAD_ID),
        ({**GOOD, "source_id": "  "}, EventFault.BAD_ID),
        ({**GOOD, "source_id": "a\0b"}, EventFault.BAD_ID),
        ({**GOOD, "source_id": ".."}, EventFault.BAD_ID),
        ({**GOOD, "source_id": "a" * 201}, EventFault.BAD_ID),
        ({"event": '{"type": "enabled", "source_id": "\\ud800"}'}, EventFault.BAD_ID),
        ({"event": '{"type": "enabled", "source_id": ["a"]}'}, EventFault.BAD_ID),
        ({"event": '{"type": "enabled", "source_id": 1' + "0" * 4_000 + "}"}, EventFault.BAD_ID),
        ({**GOOD, "timestamp": "then"}, EventFault.BAD_TIME),
        ({**GOOD, "timestamp": "-5"}, EventFault.BAD_TIME),
        ({**GOOD, "timestamp": "0001-01-01T00:00:00+23:59"}, EventFault.BAD_TIME),
        ({**GOOD, "timestamp": "9999-12-31T23:59:59Z"}, EventFault.BAD_TIME),
        ({"event": '{"type": "enabled", "source_id": "a", "timestamp": NaN}'}, EventFault.BAD_TIME),
        ({"event": '{"type": "enabled", "source_id": "a", "timestamp": 1e999}'}, EventFault.BAD_TIME),
        ({"event": '{"type": "enabled", "source_id": "a", "timestamp": true}'}, EventFault.BAD_TIME),
        ({"event": '{"type": "enabled", "source_id": "a", "timestamp": {}}'}, EventFault.BAD_TIME),
    ],
)
def test_what_is_no_event_is_refused_with_its_reason(fields: dict[str, str], fault: EventFault) -> None:
    with pytest.raises(InvalidEventError) as caught:
        read_event(fields, added_ms=ADDED_MS, now_ms=NOW_MS)

    assert (caught.value.fault, len(str(caught.value)) < 400) == (fault, True)


def test_an_event_that_was_added_in_the_future_is_refused() -> None:
    """A sender names the positions in a stream, where it wants to."""
    with pytest.raises(InvalidEventError, match="a day ahead"):
        read_event(GOOD, added_ms=2**64 - 1, now_ms=NOW_MS)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=4
)
FIELDS = st.sampled_from(["event", "event_type", "type", "source_id", "timestamp", "data"])


@given(
    st.dictionaries(FIELDS, st.text() | st.sampled_from(["SOURCE_ENABLED", "a", "1"])),
    st.dictionaries(FIELDS, JSON_VALUES | st.sampled_from(["disabled", "a", 1e300])),
    st.integers(0, 2**64),
)
def test_any_event_is_read_or_refused(fields: dict[str, str], inner: dict[str, Any], added_ms: int) -> None:
    with suppress(InvalidEventError):
        event = read_event({**fields, "payload": json.dumps(inner)}, added_ms=added_ms, now_ms=NOW_MS)

        assert 0 <= event.at_ms <= NOW_MS
        assert event.source_id.isprintable()
