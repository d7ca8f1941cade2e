"""Microdata of a tree, as the HTML standard reads it.

Gives items as plain values: type, id and properties, one value as itself and several as a list. Bounded in
depth, in items and in the length of values; decides nothing about what an item means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from selectolax.lexbor import LexborNode

MAX_DEPTH: Final = 16
MAX_NODES: Final = 20_000
MAX_ITEMS: Final = 100
MAX_VALUE_CHARS: Final = 4_000
CHARS_PER_NODE: Final = 100
"""Text that costs as much as one more element."""

_URL_ATTRIBUTES: Final = {
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    **dict.fromkeys(("a", "area", "link"), "href"),
    "object": "data",
}
_VALUE_ATTRIBUTES: Final = {"data": "value", "meter": "value", "time": "datetime", "meta": "content"}


def read_microdata(root: LexborNode) -> tuple[dict[str, Any], ...]:
    """Read the items that belong to no other, and those within them."""
    reader = _Reader(root)
    items = root.css("[itemscope]:not([itemprop])")
    return tuple(reader.item(node, depth=0) for node in items[:MAX_ITEMS])


class _Reader:
    """Reads items of one tree, with a bound on all of them together."""

    def __init__(self, root: LexborNode) -> None:
        self._root = root
        self._left = MAX_NODES

    def item(self, node: LexborNode, *, depth: int) -> dict[str, Any]:
        """Read one item."""
        said = node.attributes
        properties: dict[str, list[Any]] = {}
        for element in self._elements(node, said.get("itemref") or ""):
            own = element.attributes
            names = (own.get("itemprop") or "").split()
            if not names:
                continue
            is_item = "itemscope" in own
            if is_item and depth >= MAX_DEPTH:
                continue
            value = self.item(element, depth=depth + 1) if is_item else self._value(element, own)
            for name in names:
                properties.setdefault(name, []).append(value)
        told = {
            "type": " ".join((said.get("itemtype") or "").split()),
            "id": (said.get("itemid") or "").strip(),
        }
        values = {name: found[0] if len(found) == 1 else found for name, found in properties.items()}
        return {**{name: text for name, text in told.items() if text}, "properties": values}

    def _elements(self, node: LexborNode, references: str) -> Iterator[LexborNode]:
        """Give the elements of an item, without those of items within it."""
        yield from self._below(node)
        for name in references.split()[:20]:
            there = self._root.css_first(f'[id="{name}"]') if '"' not in name and "\\" not in name else None
            if there is not None and there.mem_id != node.mem_id:
                yield there
                if "itemscope" not in there.attributes:
                    yield from self._below(there)

    def _below(self, node: LexborNode) -> Iterator[LexborNode]:
        waiting = list(node.iter())[::-1]
        while waiting and self._left > 0:
            self._left -= 1
            element = waiting.pop()
            yield element
            if "itemscope" not in element.attributes:
                waiting.extend(list(element.iter())[::-1])

    def _value(self, node: LexborNode, said: dict[str, str | None]) -> str:
        tag = node.tag or ""
        if tag in _URL_ATTRIBUTES:
            return (said.get(_URL_ATTRIBUTES[tag]) or said.get("content") or "").strip()[:MAX_VALUE_CHARS]
        stated = said.get(_VALUE_ATTRIBUTES.get(tag, "content"))
        text = stated if stated is not None else _seen(node)
        # Values within values say the same text again and again: long ones use up what may be looked at.
        self._left -= len(text) // CHARS_PER_NODE
        return " ".join(text[: 4 * MAX_VALUE_CHARS].split())[:MAX_VALUE_CHARS]


def _seen(node: LexborNode) -> str:
    """Give the text of an element, without what is no text to a reader; blocks stand apart."""
    if node.css_first(_BLOCKS) is None:
        text = node.text()
        for silent in node.css("script,style"):
            text = text.replace(silent.text(), "", 1)
        return text
    pieces: list[str] = []
    left = 4 * MAX_VALUE_CHARS
    for element in node.traverse(include_text=True):
        tag = element.tag or ""
        if tag != "-text":
            pieces += [" "] * (tag in _BLOCK_TAGS)
        elif element.parent is None or element.parent.tag not in _SILENT:
            before = element.prev
            pieces += [" "] * (before is not None and before.tag in _PARTING)
            pieces.append(element.text_content or "")
            left -= len(pieces[-1])
        if left <= 0:
            break
    return "".join(pieces)


_SILENT: Final = frozenset({"script", "style"})
_BLOCK_TAGS: Final = frozenset(
    ["p", "br", "li", "ul", "ol", "div", "td", "tr", "dt", "dd", "h1", "h2", "h3", "h4", "section", "table"]
)
_PARTING: Final = _BLOCK_TAGS | _SILENT
_BLOCKS: Final = ",".join(sorted(_BLOCK_TAGS))
