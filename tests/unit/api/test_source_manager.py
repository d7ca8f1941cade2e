"""What a source-manager and its events say, in our fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strider.api.core import (
    IMPORTED_FROM,
    SOURCE_MANAGER,
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


@pytest.mark.parametrize("item", [3, {}, {"id": ""}, {"id": True}, {"id": ["a"]}])
def test_an_item_without_an_id_is_refused(item: Any) -> None:
    with pytest.raises(InvalidListingError):
        remote_source(item)


def test_one_source_may_stand_in_an_object() -> None:
    assert read_source(b'{"source": {"id": 7}}').source_id == "7"


@pytest.mark.req("S1.2.22", part="forms of events")
@pytest.mark.parametrize(
    ("fields", "event"),
    [
        (
            {"event_type": "SOURCE_ENABLED", "source_id": "a", "timestamp": "2026-11-20T12:00:00Z"},
            SourceEvent(SourceEventKind.ENABLED, "a", 1_795_176_000_000),
        ),
        (
            {
                "event": json.dumps(
                    {"event_type": "source.disabled", "source_id": "a", "timestamp": 1_795_176_000}
                )
            },
            SourceEvent(SourceEventKind.DISABLED, "a", 1_795_176_000_000),
        ),
        (
            {"type": "created", "source_id": "a", "timestamp": "1795176000000"},
            SourceEvent(SourceEventKind.CREATED, "a", 1_795_176_000_000),
        ),
        (
            {"type": "deleted", "source_id": "a", "timestamp": "then"},
            SourceEvent(SourceEventKind.DELETED, "a", 0),
        ),
    ],
)
def test_events_of_several_forms_are_read(fields: dict[str, str], event: SourceEvent) -> None:
    assert read_event(fields) == event


@pytest.mark.parametrize(
    "fields",
    [{}, {"event_type": "SOURCE_EATEN", "source_id": "a"}, {"event_type": "SOURCE_ENABLED"}, {"event": "{"}],
)
def test_what_is_no_event_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(InvalidListingError):
        read_event(fields)
