"""Pages too large for an event lose what is dispensable, and record that."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.topics import PAGES_PARSED
from strider.parser.core import FittedEvent, fit_event

from .pages import read

CODEC = Codec(SchemaStore.bundled())
SMALL = read("<title>T</title><p>some text</p><a href=/x>x</a>")


def a_parsed(**fields: Any) -> PageParsed:
    return replace(SMALL, **fields)


def links(count: int, anchor: str = "anchor") -> dict[str, Any]:
    return {
        "link_urls": tuple(f"https://site.test/{'p' * 1_500}/{number}" for number in range(count)),
        "link_anchors": (anchor,) * count,
        "link_rels": (0,) * count,
        "link_regions": (1,) * count,
        "links_found": count,
    }


def test_what_fits_is_left_alone() -> None:
    assert fit_event(SMALL, may_store=True) == FittedEvent(SMALL)


def test_a_long_text_leaves_for_the_object_store() -> None:
    text = "wörd " * 200_000

    fitted = fit_event(a_parsed(text=text, text_chars=len(text), decoded_bytes=10**6), may_store=True)

    assert (fitted.event.text, fitted.event.text_chars, fitted.event.truncated) == ("", len(text), False)
    assert json.loads(fitted.texts) == {"text": text, "main_text": "", "markdown": ""}
    assert len(CODEC.encode(PAGES_PARSED, fitted.event).value) < PAGES_PARSED.max_bytes


def test_without_a_store_a_long_text_is_cut() -> None:
    text = "wörd " * 200_000

    fitted = fit_event(a_parsed(text=text, decoded_bytes=10**6), may_store=False)

    assert fitted.texts == b""
    assert (fitted.event.outcome, fitted.event.truncated) == ("partly_parsed", True)
    assert text.startswith(fitted.event.text)
    size = len(CODEC.encode(PAGES_PARSED, fitted.event).value)
    assert 0.95 * PAGES_PARSED.max_bytes < size <= PAGES_PARSED.max_bytes


def test_of_too_many_links_the_best_remain() -> None:
    fitted = fit_event(a_parsed(**links(1_000)), may_store=True)
    event = fitted.event

    assert 100 < len(event.link_urls) < 400
    assert event.link_urls == links(1_000)["link_urls"][: len(event.link_urls)]
    assert len({len(part) for part in (event.link_urls, event.link_anchors, event.link_rels)}) == 1
    assert event.links_dropped == 1_000 - len(event.link_urls)
    assert event.text == SMALL.text


@pytest.mark.parametrize("may_store", [True, False])
def test_whatever_a_page_is_made_of_it_fits(*, may_store: bool) -> None:
    """A page whose event cannot be written would become a dead letter."""
    big = {f"name-{number}" * 8: "ü" * 1_000 for number in range(64)}
    event = a_parsed(
        **links(1_000, anchor="ß" * 200),
        text="ä" * 3_000_000,
        open_graph=big,
        twitter=big,
        meta=big,
        alternate_urls=("https://site.test/" + "a" * 2_000,) * 100,
        alternate_languages=("de",) * 100,
        alternate_types=("",) * 100,
        title="ö" * 1_000,
        description="ö" * 4_000,
        decoded_bytes=6_000_000,
    )

    fitted = fit_event(event, may_store=may_store)

    assert len(CODEC.encode(PAGES_PARSED, fitted.event).value) <= PAGES_PARSED.max_bytes
    assert bool(fitted.texts) == may_store
    assert len(fitted.event.link_urls) > 50


def test_what_only_resolving_has_made_long_is_noticed() -> None:
    """A small body may have many short links below a long base URL."""
    event = a_parsed(**links(330), decoded_bytes=5_000)

    assert len(fit_event(event, may_store=True).event.link_urls) < 330
