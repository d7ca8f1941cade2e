"""The page of log events has each of them, once, with a meaning."""

from __future__ import annotations

from collections import Counter

from strider.runtime.observability.log_events import declared_events
from strider.runtime.observability.log_events_page import render_log_events, sections


def test_every_event_is_in_exactly_one_section() -> None:
    names = Counter(name for events in sections().values() for name in events)

    assert names == Counter(list(declared_events()))


def test_every_event_has_a_row_with_level_and_meaning() -> None:
    page = render_log_events()

    for event in declared_events().values():
        assert f"| {event.text} | {event.level} | {event.meaning} |" in page


def test_texts_are_unique_and_meanings_are_sentences() -> None:
    events = declared_events().values()
    repeated = [text for text, count in Counter(event.text for event in events).items() if count > 1]
    fragments = [event.text for event in events if not event.meaning.endswith(".")]

    assert (repeated, fragments) == ([], [])
