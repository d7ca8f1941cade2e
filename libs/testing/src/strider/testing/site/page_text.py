"""Random prose and HTML pages around it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from random import Random
from typing import Final

_WORDS: Final = tuple(
    word
    for line in (
        "river stone market letter winter garden bridge copper window harbour engine valley song paper road",
        "island candle mirror forest signal kitchen ladder orchard needle thunder pocket meadow lantern",
        "carries holds follows measures answers repairs crosses remembers counts opens paints leaves finds",
        "keeps slowly often twice rarely gladly early quietly together",
    )
    for word in line.split()
)


def sentences(chance: Random, characters: int) -> str:
    """Return about so many characters of prose."""
    written: list[str] = []
    length = 0
    while length < characters:
        words = chance.choices(_WORDS, k=chance.randint(6, 14))
        sentence = " ".join(words).capitalize() + "."
        written.append(sentence)
        length += len(sentence) + 1
    return " ".join(written)


def page_html(title: str, text: str, links: Sequence[str]) -> bytes:
    """Return a page with text and links."""
    items = "".join(f'<li><a href="{escape(link)}">Go to {escape(link)}</a></li>' for link in links)
    third = max(1, len(text) // 3)
    paragraphs = "".join(f"<p>{text[at : at + third]}</p>" for at in range(0, len(text), third))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="description" content="About {escape(title)}"></head>'
        f"<body><h1>{escape(title)}</h1><main>{paragraphs}</main><ul>{items}</ul></body></html>"
    ).encode()
