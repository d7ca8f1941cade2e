"""Collect what Markdown needs besides text: emphasis, links, images, lists and tables.

Follows the pass over the tree; how Markdown is written is the core's decision. Addresses are enclosed in
NULs, which no text of HTML contains, until the base URL is known.
"""

from __future__ import annotations

import re
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.content.markdown import LINE_BREAK, code_span, escape_label, escape_text
from strider.parser.core.content.text_blocks import BlockLevel

INLINE_MARKS: Final = {
    "strong": "**",
    "b": "**",
    "em": "*",
    "i": "*",
    "del": "~~",
    "s": "~~",
    "strike": "~~",
    "code": "`",
    "a": "a",
}
_STRUCTURE_TAGS: Final = frozenset({"ul", "ol", "li", "blockquote", "table", "tr", "td", "th", "pre"})
MAX_LEVELS: Final = 24
MAX_COLUMNS: Final = 60
MAX_HREF_CHARS: Final = 2_048
MIN_IMAGE_PIXELS: Final = 3
"""In pixels: smaller images count visitors."""

_UNUSABLE_PREFIXES: Final = ("#", "javascript:", "data:", "about:", "blob:", "vbscript:")
_LANGUAGE_CLASS: Final = re.compile(
    r"(?:^|\s)(?:lang(?:uage)?-|highlight-source-|brush:\s*|sourceCode\s+|prettyprint\s+lang-)([A-Za-z0-9+#._-]{1,30})"
)
_PIXELS: Final = re.compile(r"\d{1,5}")


class MarkdownWriter:
    """Writes inline Markdown and tracks the enclosing lists and tables."""

    __slots__ = (
        "_counters",
        "_last_serial",
        "_levels_over_limit",
        "_open_marks",
        "_row_spans",
        "_was_opened",
        "has_image",
        "levels",
    )

    def __init__(self) -> None:
        """Start a page."""
        self.levels: tuple[BlockLevel, ...] = ()
        self.has_image = False
        """Whether an image was written since the last `take_text`: all else that is written is text of a
        block.
        """
        self._open_marks: list[tuple[str, str, list[str]]] = [("", "", [])]
        self._was_opened: list[bool] = []
        self._counters: dict[int, int] = {}
        self._row_spans: dict[int, dict[int, int]] = {}
        self._last_serial = self._levels_over_limit = 0

    def write_text(self, text: str) -> None:
        """Append text."""
        frames = self._open_marks
        if not text.isspace():
            names = [frame[0] for frame in frames] if len(frames) > 1 else ()
            if "`" not in names:
                text = escape_label(text) if "a" in names else escape_text(text)
        frames[-1][2].append(text)

    def write_line_break(self) -> None:
        """Append a line break within a block."""
        self._open_marks[-1][2].append(LINE_BREAK)

    def write_image(self, node: LexborNode) -> None:
        """Append an image that has an address and is not a counter."""
        attrs = node.attributes
        sources = (
            attrs.get("src"),
            attrs.get("data-src"),
            attrs.get("data-lazy-src"),
            attrs.get("data-original"),
        )
        source = next((each for each in map(_usable_address, sources) if each), "")
        sizes = [
            int(found[0]) for name in ("width", "height") if (found := _PIXELS.match(attrs.get(name) or ""))
        ]
        if source and min(sizes, default=MIN_IMAGE_PIXELS) >= MIN_IMAGE_PIXELS:
            label = escape_label(" ".join((attrs.get("alt") or "").split()))
            self._open_marks[-1][2].append(f"![{label}](\0{source}\0)")
            self.has_image = True

    def open_mark(self, name: str, node: LexborNode) -> None:
        """Begin emphasis, code or a link, unless nested in itself or in code."""
        mark = INLINE_MARKS[name]
        target = _usable_address(node.attributes.get("href")) if mark == "a" else ""
        is_opened = not any(frame[0] in {mark, "`"} for frame in self._open_marks) and (
            mark != "a" or bool(target)
        )
        self._was_opened.append(is_opened)
        if is_opened:
            self._open_marks.append((mark, target, []))

    def close_mark(self) -> None:
        """End the mark that was begun last."""
        if self._was_opened.pop():
            mark, target, parts = self._open_marks.pop()
            self._open_marks[-1][2].append(_apply_mark(mark, target, "".join(parts)))

    def take_text(self) -> str:
        """Return what was written since the last call; open marks continue in the next block."""
        self.has_image = False
        frames = self._open_marks
        if len(frames) == 1:  # nearly always: nothing is open where a block ends
            parts = frames[0][2]
            if not parts:
                return ""
            text = "".join(parts)
            parts.clear()
        else:
            text = ""
            for mark, target, parts in reversed(frames):
                text = _apply_mark(mark, target, "".join(parts) + text)
                parts.clear()
        return " ".join(text.split()).strip(f" {LINE_BREAK}")

    def enter_block(self, name: str, node: LexborNode) -> None:
        """Enter an element of a list, table or quotation."""
        if name not in _STRUCTURE_TAGS:
            return
        if len(self.levels) >= MAX_LEVELS:
            self._levels_over_limit += 1
            return
        self._last_serial += 1
        level = BlockLevel(name, self._last_serial, *self._number_and_language(name, node))
        self.levels = (*self.levels, level)

    def leave_block(self, name: str) -> None:
        """Leave it."""
        if name not in _STRUCTURE_TAGS:
            return
        if self._levels_over_limit:
            self._levels_over_limit -= 1
        else:
            self.levels = self.levels[:-1]

    def _number_and_language(self, name: str, node: LexborNode) -> tuple[int, str]:
        """Return the number of an item or column, and the language of code."""
        if name == "ol":
            self._counters[self._last_serial] = _parse_number(node.attributes.get("start"), 1) - 1
        elif name == "li" and (of := self._enclosing_level("ol")) is not None:
            self._counters[of.serial] = number = _parse_number(
                node.attributes.get("value"), self._counters.get(of.serial, 0) + 1
            )
            return number, ""
        elif name in {"td", "th"}:
            return self._column_number(node), ""
        elif name == "pre":
            return 0, _code_language(node)
        return 0, ""

    def _enclosing_level(self, name: str) -> BlockLevel | None:
        """Return the innermost list, row or table where it has this name."""
        names = {"ol", "ul"} if name == "ol" else {name}
        found = next((level for level in reversed(self.levels) if level.name in names), None)
        return found if found is not None and found.name == name else None

    def _column_number(self, node: LexborNode) -> int:
        row, table = self._enclosing_level("tr"), self._enclosing_level("table")
        if row is None or table is None:
            return 0
        spans = self._row_spans.setdefault(table.serial, {})
        column = self._counters.get(row.serial, 0)
        while spans.get(column, 0) > 0:
            spans[column] -= 1
            column += 1
        attrs = node.attributes
        width = min(max(1, _parse_number(attrs.get("colspan"), 1)), MAX_COLUMNS)
        height = _parse_number(attrs.get("rowspan"), 1)
        if height > 1:  # tables with more columns are not written as tables
            spans.update(dict.fromkeys(range(column, min(column + width, MAX_COLUMNS)), height - 1))
        self._counters[row.serial] = column + width
        return column


def _parse_number(attribute: str | None, default: int) -> int:
    bare = (attribute or "").strip()
    return int(bare) if bare.isascii() and bare.isdigit() and len(bare) < 10 else default  # noqa: PLR2004


def _usable_address(attribute: str | None) -> str:
    """Return an address that can be a link; else an empty string."""
    bare = (attribute or "").strip()
    return (
        "" if not bare or len(bare) > MAX_HREF_CHARS or bare.lower().startswith(_UNUSABLE_PREFIXES) else bare
    )


def _code_language(node: LexborNode) -> str:
    """Return the language of code: from the code element, its container, or the element around that."""
    for each in (node.css_first("code"), node, node.parent):
        if each is None:
            continue
        attrs = each.attributes
        if named := attrs.get("data-lang") or attrs.get("data-language"):
            return named.strip()[:30] if " " not in named.strip() else ""
        if match := _LANGUAGE_CLASS.search(attrs.get("class") or ""):
            return match[1]
    return ""


def _apply_mark(mark: str, target: str, text: str) -> str:
    """Put marks directly around a text: Markdown ignores them with spaces between."""
    bare = text.strip(f" \t\r\n\f{LINE_BREAK}")
    if not mark or not bare:
        return text
    at = text.index(bare)
    before, behind = text[:at], text[at + len(bare) :]
    if mark == "a":
        return f"{before}[{bare}](\0{target}\0){behind}"
    return f"{before}{code_span(bare) if mark == '`' else f'{mark}{bare}{mark}'}{behind}"
