"""How does a page fit into one event?

A parsed page may be larger than its topic allows. Long texts then travel by reference, or are cut
where there is nowhere to put them; of the links the best remain. What is taken away is said:
`texts_object`, `truncated`, `links_dropped`. What a sitemap or a feed lists is spread over several events.
Does not store anything.
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

ROOM_BYTES: Final = PAGES_PARSED.max_bytes - 4_096
"""What an event may weigh: the rest is for numbers, lengths and framing."""

REFERENCE_BYTES: Final = 256
"""More than a reference into the object store takes."""

LINKS_SHARE: Final = 0.75
"""Of what is left once the page's own fields have their room."""

BYTES_PER_LINK: Final = 8
"""Lengths and flags of one link."""

BYTES_PER_ENTRY: Final = 40
"""Lengths, time, frequency, priority and kind of what a list names."""

_UTF8_EXPANSION: Final = 3
"""One byte of a body becomes at most three of UTF-8 (as U+FFFD); entities only shrink."""


@fast_dataclass(frozen=True, slots=True)
class FittedEvent:
    """An event that fits, and the texts that had to leave it."""

    event: PageParsed
    texts: bytes = b""
    """JSON for the object store; its reference belongs into `texts_object`."""
    preceding_parts: tuple[PageParsed, ...] = ()
    """Of a list that is too long for one event: the parts that come before `event`, which is the last."""


def fit_event(event: PageParsed, *, may_store: bool, room_bytes: int = ROOM_BYTES) -> FittedEvent:
    """Make an event fit; `may_store` says whether texts can be put elsewhere."""
    if _certainly_fits(event, room_bytes) or (weight := event_bytes(event)) <= room_bytes:
        return FittedEvent(event)
    if event.entry_urls:
        return _fit_list(event, room_bytes)
    rest = weight - _page_texts_bytes(event) - _links_bytes(event)
    if rest > room_bytes // 2 and event.structured_json:
        event = replace(event, structured_json="", truncated=True, structured_errors=("too long to travel",))
        rest = event_bytes(event) - _page_texts_bytes(event) - _links_bytes(event)
    if rest > room_bytes // 2:
        event = replace(event, open_graph={}, twitter={}, meta={}, alternate_urls=(), alternate_languages=())
        event = replace(event, alternate_types=(), feed_urls=(), keywords=(), truncated=True)
        rest = event_bytes(event) - _page_texts_bytes(event) - _links_bytes(event)
    event = _fit_links(event, int(LINKS_SHARE * max(0, room_bytes - rest)))
    room = room_bytes - rest - _links_bytes(event) - REFERENCE_BYTES
    if _page_texts_bytes(event) <= room:
        return FittedEvent(event)
    if may_store:
        return FittedEvent(replace(event, text="", main_text="", markdown=""), _texts_json(event))
    return FittedEvent(_cut(event, max(0, room)))


def _cut(event: PageParsed, room: int) -> PageParsed:
    """Keep the beginnings of texts: the main text first, then all there is; Markdown says nothing more."""
    main_text = _clipped(event.main_text, room if not event.text else room // 2)
    text = _clipped(event.text, room - _utf8_bytes(main_text))
    outcome = ParseOutcome.PARTLY_PARSED if event.outcome == ParseOutcome.PARSED else event.outcome
    return replace(event, text=text, main_text=main_text, markdown="", truncated=True, outcome=outcome)


def _clipped(text: str, room: int) -> str:
    return text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")


def _page_texts_bytes(event: PageParsed) -> int:
    return _utf8_bytes(event.text) + _utf8_bytes(event.main_text) + _utf8_bytes(event.markdown)


def event_bytes(event: PageParsed) -> int:
    """Count the bytes of all texts of an event."""
    return _value_bytes(event.to_record())


def _certainly_fits(event: PageParsed, room_bytes: int) -> bool:
    """Tell without looking at everything: nearly all of an event comes out of the body."""
    if event.referrer or event.redirect_chain or event.metadata:
        carried = _value_bytes((event.referrer, *event.redirect_chain)) + _value_bytes(event.metadata)
    else:
        carried = 0
    if event.entry_urls or event.structured_json or event.products or event.document_kind == DocumentKind.PDF:
        return False
    again = 4 * (event.main_text_chars + len(event.markdown))
    own = again + _UTF8_EXPANSION * event.decoded_bytes + sum(map(len, event.link_urls)) + carried
    resolved = len(event.alternate_urls) + len(event.feed_urls) + 8
    return own + resolved * 2_048 + BYTES_PER_LINK * len(event.link_urls) + 8_192 <= room_bytes


def _fit_links(event: PageParsed, room_bytes: int) -> PageParsed:
    if _links_bytes(event) <= room_bytes:
        return event
    count = 0
    for url, anchor in zip(event.link_urls, event.link_anchors, strict=True):
        room_bytes -= len(url) + _utf8_bytes(anchor) + BYTES_PER_LINK
        if room_bytes < 0:
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


def _fit_list(event: PageParsed, room_bytes: int) -> FittedEvent:
    """Spread a list over several events; structured data of the whole must leave room in each of them."""
    nothing: dict[str, Any] = dict.fromkeys(ENTRY_COLUMNS, ())
    bare = replace(event, **nothing)
    if event_bytes(bare) > room_bytes // 2:
        without: dict[str, Any] = {
            "structured_json": "",
            "truncated": True,
            "structured_errors": ("too long to travel",),
        }
        event, bare = replace(event, **without), replace(bare, **without)
    *before, last = _parts(event, max(0, room_bytes - event_bytes(bare) - REFERENCE_BYTES))
    return FittedEvent(last, preceding_parts=tuple(before))


def _parts(event: PageParsed, room_bytes: int) -> Iterator[PageParsed]:
    """Spread a list over as many events as it takes; all else that the document says is said by each."""
    ends = list(_ends(event, room_bytes))
    for number, (start, end) in enumerate(pairwise((0, *ends)), 1):
        columns: dict[str, Any] = {name: getattr(event, name)[start:end] for name in ENTRY_COLUMNS}
        yield replace(
            event,
            **columns,
            part=number,
            is_last_part=number == len(ends),
            links_dropped=event.links_dropped if number == len(ends) else 0,
        )


def _ends(event: PageParsed, room_bytes: int) -> Iterator[int]:
    """Say where each part of a list ends; one entry at least goes with each."""
    titles = event.entry_titles or repeat("")
    room, start = room_bytes, 0
    for at, (url, title) in enumerate(zip(event.entry_urls, titles, strict=False)):
        weight = len(url) + _utf8_bytes(title) + BYTES_PER_ENTRY
        if weight > room and at > start:
            yield at
            room, start = room_bytes, at
        room -= weight
    yield len(event.entry_urls)


def join_parts(parts: Sequence[PageParsed]) -> PageParsed:
    """Make one event of all parts of a list, for those who have room for it."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {
        name: tuple(chain.from_iterable(getattr(part, name) for part in parts)) for name in ENTRY_COLUMNS
    }
    return replace(parts[-1], **columns, part=1)


ENTRY_COLUMNS: Final = (
    "entry_urls",
    "entry_titles",
    "entry_lastmods_ms",
    "entry_changefreqs",
    "entry_priorities",
    "entry_kinds",
)


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
