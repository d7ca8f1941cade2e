"""Read microdata as the HTML standard defines it.

Returns items as plain values: type, id and properties, one value as itself and several as a list. Bounded in
depth, in items and in the length of values; decides nothing about what an item means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from selectolax.lexbor import LexborNode

from .traversal import Attributes

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


_UNRENDERED_TAGS: Final = frozenset({"script", "style"})

_BLOCK_TAGS: Final = frozenset(
    ["p", "br", "li", "ul", "ol", "div", "td", "tr", "dt", "dd", "h1", "h2", "h3", "h4", "section", "table"]
)

_SEPARATING_TAGS: Final = _BLOCK_TAGS | _UNRENDERED_TAGS

_BLOCK_SELECTOR: Final = ",".join(sorted(_BLOCK_TAGS))


def read_microdata(root: LexborNode) -> tuple[dict[str, Any], ...]:
    """Read the top-level items, with the items nested in them."""
    reader = _MicrodataReader(root)
    items = root.css("[itemscope]:not([itemprop])")
    return tuple(reader.read_item(node, depth=0) for node in items[:MAX_ITEMS])


class _MicrodataReader:
    """Reads the items of one tree within one budget of nodes."""

    def __init__(self, root: LexborNode) -> None:
        self._root = root
        self._nodes_left = MAX_NODES

    def read_item(self, node: LexborNode, *, depth: int) -> dict[str, Any]:
        """Read one item."""
        attrs = node.attributes
        properties: dict[str, list[Any]] = {}
        for element in self._elements(node, attrs.get("itemref") or ""):
            own = element.attributes
            names = (own.get("itemprop") or "").split()
            if not names:
                continue
            is_item = "itemscope" in own
            if is_item and depth >= MAX_DEPTH:
                continue
            value = self.read_item(element, depth=depth + 1) if is_item else self._value(element, own)
            for name in names:
                properties.setdefault(name, []).append(value)
        identity = {
            "type": " ".join((attrs.get("itemtype") or "").split()),
            "id": (attrs.get("itemid") or "").strip(),
        }
        values = {name: found[0] if len(found) == 1 else found for name, found in properties.items()}
        return {**{name: text for name, text in identity.items() if text}, "properties": values}

    def _elements(self, node: LexborNode, references: str) -> Iterator[LexborNode]:
        """Yield the elements of an item, without those of nested items."""
        yield from self._descendants(node)
        for name in references.split()[:20]:
            there = self._root.css_first(f'[id="{name}"]') if '"' not in name and "\\" not in name else None
            if there is not None and there.mem_id != node.mem_id:
                yield there
                if "itemscope" not in there.attributes:
                    yield from self._descendants(there)

    def _descendants(self, node: LexborNode) -> Iterator[LexborNode]:
        waiting = list(node.iter())[::-1]
        while waiting and self._nodes_left > 0:
            self._nodes_left -= 1
            element = waiting.pop()
            yield element
            if "itemscope" not in element.attributes:
                waiting.extend(list(element.iter())[::-1])

    def _value(self, node: LexborNode, attrs: Attributes) -> str:
        tag = node.tag or ""
        if tag in _URL_ATTRIBUTES:
            return (attrs.get(_URL_ATTRIBUTES[tag]) or attrs.get("content") or "").strip()[:MAX_VALUE_CHARS]
        stated = attrs.get(_VALUE_ATTRIBUTES.get(tag, "content"))
        text = stated if stated is not None else _visible_text(node)
        # Nested values repeat the same text: long ones use up the budget of nodes.
        self._nodes_left -= len(text) // CHARS_PER_NODE
        return " ".join(text[: 4 * MAX_VALUE_CHARS].split())[:MAX_VALUE_CHARS]


def _visible_text(node: LexborNode) -> str:
    """Return the visible text of an element, with spaces between blocks."""
    if node.css_first(_BLOCK_SELECTOR) is None:
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
        elif element.parent is None or element.parent.tag not in _UNRENDERED_TAGS:
            before = element.prev
            pieces += [" "] * (before is not None and before.tag in _SEPARATING_TAGS)
            pieces.append(element.text_content or "")
            left -= len(pieces[-1])
        if left <= 0:
            break
    return "".join(pieces)
