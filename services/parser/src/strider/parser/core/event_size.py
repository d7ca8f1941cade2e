"""Make a parsed page fit the size limit of its topic.

Long texts move to the object store, or are truncated where there is none; of the links the best ranked
remain. `texts_object`, `truncated` and `links_dropped` record what was removed. The entries of a sitemap or
feed are split over several events. Stores nothing itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise, repeat
from typing import Any, Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import DocumentKind, ParseOutcome
from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.topics import PAGES_PARSED

from .html.outlinks import Outlinks

EVENT_BUDGET_BYTES: Final = PAGES_PARSED.max_bytes - 4_096
"""Maximum size of the texts of an event; the remaining 4 KiB are for numbers, lengths and framing."""

REFERENCE_BYTES: Final = 256
"""Upper bound for the size of an object store reference."""

LINKS_SHARE: Final = 0.75
"""Share of the remaining budget that links may take, once the page's other fields are counted."""

BYTES_PER_LINK: Final = 8
"""Lengths and flags of one link."""

BYTES_PER_ENTRY: Final = 40
"""Lengths, time, frequency, priority and kind of one list entry."""

_UTF8_EXPANSION: Final = 3
"""One byte of a body becomes at most three bytes of UTF-8 (as U+FFFD); entities only shrink."""


@fast_dataclass(frozen=True, slots=True)
class FittedEvent:
    """An event within the size limit, with the texts that were moved out of it."""

    event: PageParsed
    texts: bytes = b""
    """JSON for the object store; its reference belongs into `texts_object`."""
    preceding_parts: tuple[PageParsed, ...] = ()
    """For a list too long for one event: the parts that precede `event`, which is the last part."""


def fit_event(event: PageParsed, *, may_store: bool, budget_bytes: int = EVENT_BUDGET_BYTES) -> FittedEvent:
    """Return the event within its size limit; `may_store` allows moving texts to the object store."""
    if _certainly_fits(event, budget_bytes) or (size := event_bytes(event)) <= budget_bytes:
        return FittedEvent(event)
    if event.entry_urls:
        return _fit_list(event, budget_bytes)
    rest = size - _page_texts_bytes(event) - _links_bytes(event)
    if rest > budget_bytes // 2 and event.structured_json:
        event = replace(event, structured_json="", truncated=True, structured_errors=("too long to travel",))
        rest = event_bytes(event) - _page_texts_bytes(event) - _links_bytes(event)
    if rest > budget_bytes // 2:
        event = replace(event, open_graph={}, twitter={}, meta={}, alternate_urls=(), alternate_languages=())
        event = replace(event, alternate_types=(), feed_urls=(), keywords=(), truncated=True)
        rest = event_bytes(event) - _page_texts_bytes(event) - _links_bytes(event)
    event = _fit_links(event, int(LINKS_SHARE * max(0, budget_bytes - rest)))
    remaining = budget_bytes - rest - _links_bytes(event) - REFERENCE_BYTES
    if _page_texts_bytes(event) <= remaining:
        return FittedEvent(event)
    if may_store:
        return FittedEvent(replace(event, text="", main_text="", markdown=""), _texts_json(event))
    return FittedEvent(_truncate_texts(event, max(0, remaining)))


def _truncate_texts(event: PageParsed, budget_bytes: int) -> PageParsed:
    """Truncate the texts: main text first, then the full text; Markdown is dropped as it repeats them."""
    main_text = _truncate_utf8(event.main_text, budget_bytes if not event.text else budget_bytes // 2)
    text = _truncate_utf8(event.text, budget_bytes - _utf8_bytes(main_text))
    outcome = ParseOutcome.PARTLY_PARSED if event.outcome == ParseOutcome.PARSED else event.outcome
    return replace(event, text=text, main_text=main_text, markdown="", truncated=True, outcome=outcome)


def _truncate_utf8(text: str, max_bytes: int) -> str:
    return text.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore")


def _page_texts_bytes(event: PageParsed) -> int:
    return _utf8_bytes(event.text) + _utf8_bytes(event.main_text) + _utf8_bytes(event.markdown)


def event_bytes(event: PageParsed) -> int:
    """Return the size of all texts of an event in bytes of UTF-8."""
    return _value_bytes(event.to_record())


def _certainly_fits(event: PageParsed, budget_bytes: int) -> bool:
    """Whether an event fits by a cheap upper bound: nearly all of it derives from the body."""
    if event.referrer or event.redirect_chain or event.metadata:
        carried = _value_bytes((event.referrer, *event.redirect_chain)) + _value_bytes(event.metadata)
    else:
        carried = 0
    if event.entry_urls or event.structured_json or event.products or event.document_kind == DocumentKind.PDF:
        return False
    again = 4 * (event.main_text_chars + len(event.markdown))
    own = again + _UTF8_EXPANSION * event.decoded_bytes + sum(map(len, event.link_urls)) + carried
    resolved = len(event.alternate_urls) + len(event.feed_urls) + 8
    return own + resolved * 2_048 + BYTES_PER_LINK * len(event.link_urls) + 8_192 <= budget_bytes


def _fit_links(event: PageParsed, budget_bytes: int) -> PageParsed:
    if _links_bytes(event) <= budget_bytes:
        return event
    count = 0
    for url, anchor in zip(event.link_urls, event.link_anchors, strict=True):
        budget_bytes -= len(url) + _utf8_bytes(anchor) + BYTES_PER_LINK
        if budget_bytes < 0:
            break
        count += 1
    links = Outlinks(
        event.link_urls, event.link_anchors, event.link_rels, event.link_regions, event.links_found
    ).limited(count)
    return replace(
        event,
        link_urls=links.urls,
        link_anchors=links.anchors,
        link_rels=links.rels,
        link_regions=links.regions,
        links_dropped=links.dropped,
    )


ENTRY_COLUMNS: Final = (
    "entry_urls",
    "entry_titles",
    "entry_lastmods_ms",
    "entry_changefreqs",
    "entry_priorities",
    "entry_kinds",
)


def _fit_list(event: PageParsed, budget_bytes: int) -> FittedEvent:
    """Split a list over several events, each of which repeats the document's other fields.

    Structured data that takes more than half of the budget is dropped, as it would be repeated in each part.
    """
    no_entries: dict[str, Any] = dict.fromkeys(ENTRY_COLUMNS, ())
    bare = replace(event, **no_entries)
    if event_bytes(bare) > budget_bytes // 2:
        without_records: dict[str, Any] = {
            "structured_json": "",
            "truncated": True,
            "structured_errors": ("too long to travel",),
        }
        event, bare = replace(event, **without_records), replace(bare, **without_records)
    *preceding, last = _split_entries(event, max(0, budget_bytes - event_bytes(bare) - REFERENCE_BYTES))
    return FittedEvent(last, preceding_parts=tuple(preceding))


def _split_entries(event: PageParsed, budget_bytes: int) -> Iterator[PageParsed]:
    """Yield the parts of a list; every part carries the other fields of the document."""
    ends = list(_part_ends(event, budget_bytes))
    for number, (start, end) in enumerate(pairwise((0, *ends)), 1):
        columns: dict[str, Any] = {name: getattr(event, name)[start:end] for name in ENTRY_COLUMNS}
        yield replace(
            event,
            **columns,
            part=number,
            is_last_part=number == len(ends),
            links_dropped=event.links_dropped if number == len(ends) else 0,
        )


def _part_ends(event: PageParsed, budget_bytes: int) -> Iterator[int]:
    """Yield the end index of each part; a part holds at least one entry."""
    titles = event.entry_titles or repeat("")
    remaining, start = budget_bytes, 0
    for at, (url, title) in enumerate(zip(event.entry_urls, titles, strict=False)):
        size = len(url) + _utf8_bytes(title) + BYTES_PER_ENTRY
        if size > remaining and at > start:
            yield at
            remaining, start = budget_bytes, at
        remaining -= size
    yield len(event.entry_urls)


def join_parts(parts: Sequence[PageParsed]) -> PageParsed:
    """Join all parts of a list into one event, for callers without a size limit."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {
        name: tuple(chain.from_iterable(getattr(part, name) for part in parts)) for name in ENTRY_COLUMNS
    }
    return replace(parts[-1], **columns, part=1)


def _links_bytes(event: PageParsed) -> int:
    return (
        _value_bytes(event.link_urls)
        + _value_bytes(event.link_anchors)
        + BYTES_PER_LINK * len(event.link_urls)
    )


def _value_bytes(value: Any) -> int:
    if isinstance(value, str):
        return _utf8_bytes(value) + 2
    if isinstance(value, Mapping):
        return _value_bytes(value.keys()) + _value_bytes(value.values())
    if isinstance(value, Iterable):
        return sum(map(_value_bytes, value))
    return 4


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _texts_json(event: PageParsed) -> bytes:
    texts = {"text": event.text, "main_text": event.main_text, "markdown": event.markdown}
    return json.dumps(texts, ensure_ascii=False).encode("utf-8", "replace")
