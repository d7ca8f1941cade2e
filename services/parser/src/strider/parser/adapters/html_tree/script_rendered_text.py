"""Find the text that scripts would show on a page that shows nothing without them.

Used only when next to nothing is visible. Reads the fallback of the page (noscript), hidden elements, and
then strings of HTML in the data of its scripts; of these the name with most text wins.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from strider.parser.core.content.text_blocks import PageBlocks

from .blocks import find_hidden, read_blocks
from .limits import find_cut_offset

MIN_TEXT_CHARS: Final = 250
MAX_DATA_CHARS: Final = 2 * 1024 * 1024
LONG_ATTRIBUTE_CHARS: Final = 2_000

_TEXTS: Final = re.compile(
    r'"(cooked|articleBody|html|contentHtml|content|body|text)"\s*:\s*"((?:[^"\\]|\\.){40,})"', re.DOTALL
)


def read_script_rendered_blocks(
    body: LexborNode, visible: PageBlocks, hidden: Sequence[LexborNode], *, with_markdown: bool
) -> PageBlocks:
    """Return the blocks that scripts would show, where they have more text than the visible ones."""
    visible_chars = _text_chars(visible)
    if visible_chars >= MIN_TEXT_CHARS:
        return visible
    for shown, with_noscript in ((hidden, True), ((), False)):
        instead = read_blocks(body, shown, with_markdown=with_markdown, with_noscript=with_noscript)
        if _text_chars(instead) >= max(MIN_TEXT_CHARS, 2 * visible_chars):
            return instead
    markup = _longest_markup(_script_data(body))
    if not markup:
        return visible
    content = markup.encode("utf-8", "replace")
    found = LexborHTMLParser(content[: find_cut_offset(content)]).body
    if found is None:
        return visible
    embedded = read_blocks(found, find_hidden(found), with_markdown=with_markdown)
    return embedded if _text_chars(embedded) >= max(MIN_TEXT_CHARS, 2 * visible_chars) else visible


def _text_chars(blocks: PageBlocks) -> int:
    return sum(len(block.text) - block.link_chars for block in blocks.blocks)


def _script_data(body: LexborNode) -> Iterable[str]:
    for node in body.css("script"):
        yield node.text()
    for node in body.css("[data-preloaded],[data-page],[data-props],[data-state]"):
        for name, value in node.attributes.items():
            if name.startswith("data-") and value and len(value) >= LONG_ATTRIBUTE_CHARS:
                yield value


def _longest_markup(data: Iterable[str]) -> str:
    by_name: dict[str, list[str]] = defaultdict(list)
    left = MAX_DATA_CHARS
    for text in data:
        piece = text[: max(0, left)]
        left -= len(piece)
        if '\\"' in piece:  # JSON within a JSON string
            piece = f"{piece}\n{_unescape(piece)}"
        for name, value in _TEXTS.findall(piece):
            try:
                by_name[name].append(json.loads(f'"{value}"', strict=False))
            except ValueError:
                continue
    if not by_name:
        return ""
    best = max(by_name.values(), key=lambda values: sum(map(len, values)))
    return "".join(f"<article>{value}</article>" for value in dict.fromkeys(best))


def _unescape(text: str) -> str:
    return text.replace('\\"', '"').replace("\\\\", "\\")
