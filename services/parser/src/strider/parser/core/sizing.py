"""How does a page fit into one event?

A parsed page may be larger than its topic allows. Long texts then travel by reference, or are cut
where there is nowhere to put them; of the links the best remain. What is taken away is said:
`texts_object`, `truncated`, `links_dropped`. Does not store anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.topics import PAGES_PARSED
from strider.contracts.generated.words import DocumentKind, ParseOutcome
from strider.contracts.making import swift

from .outlinks import Outlinks

ROOM_BYTES: Final = PAGES_PARSED.max_bytes - 4_096
"""What an event may weigh: the rest is for numbers, lengths and framing."""

REFERENCE_BYTES: Final = 256
"""More than a reference into the object store takes."""

SHARE_OF_LINKS: Final = 0.75
"""Of what is left once the page's own fields have their room."""

BYTES_PER_LINK: Final = 8
"""Lengths and flags of one link."""

BYTES_PER_ENTRY: Final = 40
"""Lengths, time, frequency, priority and kind of what a list names."""

_EXPANSION: Final = 3
"""One byte of a body becomes at most three of UTF-8 (as U+FFFD); entities only shrink."""


@swift(frozen=True, slots=True)
class Fitted:
    """An event that fits, and the texts that had to leave it."""

    event: PageParsed
    texts: bytes = b""
    """JSON for the object store; its reference belongs into `texts_object`."""


def fit(event: PageParsed, *, may_store: bool, room_bytes: int = ROOM_BYTES) -> Fitted:
    """Make an event fit; `may_store` says whether texts can be put elsewhere."""
    if _surely_fits(event, room_bytes) or (weight := weigh(event)) <= room_bytes:
        return Fitted(event)
    rest = weight - _weigh_texts(event) - _weigh_links(event)
    if rest > room_bytes // 2 and event.structured_json:
        event = replace(event, structured_json="", truncated=True, structured_errors=("too long to travel",))
        rest = weigh(event) - _weigh_texts(event) - _weigh_links(event)
    if rest > room_bytes // 2 and not event.entry_urls:
        event = replace(event, open_graph={}, twitter={}, meta={}, alternate_urls=(), alternate_languages=())
        event = replace(event, alternate_types=(), feed_urls=(), keywords=(), truncated=True)
        rest = weigh(event) - _weigh_texts(event) - _weigh_links(event)
    if event.entry_urls:
        event = _fit_entries(event, max(0, room_bytes - rest + _weigh_entries(event) - REFERENCE_BYTES))
        rest = weigh(event) - _weigh_texts(event) - _weigh_links(event)
    event = _fit_links(event, int(SHARE_OF_LINKS * max(0, room_bytes - rest)))
    room = room_bytes - rest - _weigh_links(event) - REFERENCE_BYTES
    if _weigh_texts(event) <= room:
        return Fitted(event)
    if may_store:
        return Fitted(replace(event, text="", main_text="", markdown=""), _texts_of(event))
    return Fitted(_cut(event, max(0, room)))


def _cut(event: PageParsed, room: int) -> PageParsed:
    """Keep the beginnings of texts: the main text first, then all there is; Markdown says nothing more."""
    main_text = _clipped(event.main_text, room if not event.text else room // 2)
    text = _clipped(event.text, room - _weigh_text(main_text))
    outcome = ParseOutcome.PARTLY_PARSED if event.outcome == ParseOutcome.PARSED else event.outcome
    return replace(event, text=text, main_text=main_text, markdown="", truncated=True, outcome=outcome)


def _clipped(text: str, room: int) -> str:
    return text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")


def _weigh_texts(event: PageParsed) -> int:
    return _weigh_text(event.text) + _weigh_text(event.main_text) + _weigh_text(event.markdown)


def weigh(event: PageParsed) -> int:
    """Count the bytes of all texts of an event."""
    return _weigh(event.to_record())


def _surely_fits(event: PageParsed, room_bytes: int) -> bool:
    """Tell without looking at everything: nearly all of an event comes out of the body."""
    if event.referrer or event.redirect_chain or event.metadata:
        carried = _weigh((event.referrer, *event.redirect_chain)) + _weigh(event.metadata)
    else:
        carried = 0
    if event.entry_urls or event.structured_json or event.products or event.document_kind == DocumentKind.PDF:
        return False
    again = 4 * (event.main_text_chars + len(event.markdown))
    own = again + _EXPANSION * event.decoded_bytes + sum(map(len, event.link_urls)) + carried
    resolved = len(event.alternate_urls) + len(event.feed_urls) + 8
    return own + resolved * 2_048 + BYTES_PER_LINK * len(event.link_urls) + 8_192 <= room_bytes


def _fit_links(event: PageParsed, room_bytes: int) -> PageParsed:
    if _weigh_links(event) <= room_bytes:
        return event
    count = 0
    for url, anchor in zip(event.link_urls, event.link_anchors, strict=True):
        room_bytes -= len(url) + _weigh_text(anchor) + BYTES_PER_LINK
        if room_bytes < 0:
            break
        count += 1
    links = Outlinks(
        event.link_urls, event.link_anchors, event.link_rels, event.link_regions, event.links_found
    ).best(count)
    return replace(
        event,
        link_urls=links.urls,
        link_anchors=links.anchors,
        link_rels=links.rels,
        link_regions=links.regions,
        links_dropped=links.dropped,
    )


def _fit_entries(event: PageParsed, room_bytes: int) -> PageParsed:
    """Keep the first entries of a list; how many are missing is said as with links."""
    titles = event.entry_titles or ("",) * len(event.entry_urls)
    count = 0
    for url, title in zip(event.entry_urls, titles, strict=True):
        room_bytes -= len(url) + _weigh_text(title) + BYTES_PER_ENTRY
        if room_bytes < 0:
            break
        count += 1
    if count == len(event.entry_urls):
        return event
    return replace(
        event,
        entry_urls=event.entry_urls[:count],
        entry_titles=event.entry_titles[:count],
        entry_lastmods_ms=event.entry_lastmods_ms[:count],
        entry_changefreqs=event.entry_changefreqs[:count],
        entry_priorities=event.entry_priorities[:count],
        entry_kinds=event.entry_kinds[:count],
        links_dropped=event.links_dropped + len(event.entry_urls) - count,
        truncated=True,
    )


def _weigh_entries(event: PageParsed) -> int:
    return _weigh(event.entry_urls) + _weigh(event.entry_titles) + BYTES_PER_ENTRY * len(event.entry_urls)


def _weigh_links(event: PageParsed) -> int:
    return _weigh(event.link_urls) + _weigh(event.link_anchors) + BYTES_PER_LINK * len(event.link_urls)


def _weigh(value: Any) -> int:
    if isinstance(value, str):
        return _weigh_text(value) + 2
    if isinstance(value, Mapping):
        return _weigh(value.keys()) + _weigh(value.values())
    if isinstance(value, Iterable):
        return sum(map(_weigh, value))
    return 4


def _weigh_text(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _texts_of(event: PageParsed) -> bytes:
    texts = {"text": event.text, "main_text": event.main_text, "markdown": event.markdown}
    return json.dumps(texts, ensure_ascii=False).encode("utf-8", "replace")
