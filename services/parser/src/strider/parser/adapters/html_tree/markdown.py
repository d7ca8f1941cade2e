"""What Markdown needs of a tree beside its text: emphasis, links, pictures, the lists and tables around.

Follows the walk over the tree and keeps count; how it is written down is the core's decision. Addresses stand
between NULs, which no text of HTML has, until somebody knows what they are relative to.
"""

from __future__ import annotations

import re
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.content.markdown import LINE_BREAK, code_span, escape_label, escaped
from strider.parser.core.content.text_blocks import Level

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
"""Pixels: what is smaller counts visitors."""

_NOWHERE: Final = ("#", "javascript:", "data:", "about:", "blob:", "vbscript:")
_LANGUAGE: Final = re.compile(
    r"(?:^|\s)(?:lang(?:uage)?-|highlight-source-|brush:\s*|sourceCode\s+|prettyprint\s+lang-)([A-Za-z0-9+#._-]{1,30})"
)
_PIXELS: Final = re.compile(r"\d{1,5}")


class MarkdownWriter:
    """Writes what stands in a line, and knows where the walk is."""

    __slots__ = ("_beyond", "_counts", "_frames", "_opened", "_serial", "_spans", "has_picture", "levels")

    def __init__(self) -> None:
        """Begin with a page."""
        self.levels: tuple[Level, ...] = ()
        self.has_image = False
        """Whether one was written since something was taken: all else that is written is text of a block."""
        self._frames: list[tuple[str, str, list[str]]] = [("", "", [])]
        self._opened: list[bool] = []
        self._counts: dict[int, int] = {}
        self._spans: dict[int, dict[int, int]] = {}
        self._last_serial = self._levels_over_limit = 0

    def write_text(self, text: str) -> None:
        """Write on."""
        frames = self._frames
        if not text.isspace():
            names = [frame[0] for frame in frames] if len(frames) > 1 else ()
            if "`" not in names:
                text = escape_label(text) if "a" in names else escaped(text)
        frames[-1][2].append(text)

    def write_line_break(self) -> None:
        """End a line within a block."""
        self._frames[-1][2].append(LINE_BREAK)

    def picture(self, node: LexborNode) -> None:
        """Write a picture, where it is one and has an address."""
        said = node.attributes
        sources = (
            said.get("src"),
            said.get("data-src"),
            said.get("data-lazy-src"),
            said.get("data-original"),
        )
        source = next((each for each in map(_address, sources) if each), "")
        sizes = [
            int(found[0]) for name in ("width", "height") if (found := _PIXELS.match(said.get(name) or ""))
        ]
        if source and min(sizes, default=MIN_IMAGE_PIXELS) >= MIN_IMAGE_PIXELS:
            label = escape_label(" ".join((said.get("alt") or "").split()))
            self._frames[-1][2].append(f"![{label}](\0{source}\0)")
            self.has_image = True

    def open_mark(self, name: str, node: LexborNode) -> None:
        """Begin emphasis, code or a link, unless that would stand within itself or within code."""
        mark = INLINE_MARKS[name]
        target = _address(node.attributes.get("href")) if mark == "a" else ""
        is_opened = not any(frame[0] in {mark, "`"} for frame in self._frames) and (
            mark != "a" or bool(target)
        )
        self._opened.append(is_opened)
        if is_opened:
            self._frames.append((mark, target, []))

    def close_mark(self) -> None:
        """End what was begun last."""
        if self._opened.pop():
            mark, target, parts = self._frames.pop()
            self._frames[-1][2].append(_apply_mark(mark, target, "".join(parts)))

    def take_text(self) -> str:
        """Give what was written since; what is open goes on in the next block."""
        self.has_image = False
        frames = self._frames
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
        """Go into an element that holds blocks."""
        if name not in _STRUCTURE_TAGS:
            return
        if len(self.levels) >= MAX_LEVELS:
            self._levels_over_limit += 1
            return
        self._last_serial += 1
        level = Level(name, self._last_serial, *self._number_and_language(name, node))
        self.levels = (*self.levels, level)

    def leave_block(self, name: str) -> None:
        """Come out of it."""
        if name not in _STRUCTURE_TAGS:
            return
        if self._levels_over_limit:
            self._levels_over_limit -= 1
        else:
            self.levels = self.levels[:-1]

    def _number_and_language(self, name: str, node: LexborNode) -> tuple[int, str]:
        """Give the number of an item or column, and the language of code."""
        if name == "ol":
            self._counts[self._last_serial] = _number(node.attributes.get("start"), 1) - 1
        elif name == "li" and (of := self._within("ol")) is not None:
            self._counts[of.serial] = number = _number(
                node.attributes.get("value"), self._counts.get(of.serial, 0) + 1
            )
            return number, ""
        elif name in {"td", "th"}:
            return self._column(node), ""
        elif name == "pre":
            return 0, _code_language(node)
        return 0, ""

    def _within(self, name: str) -> Level | None:
        """Give the list or table that we are directly in."""
        names = {"ol", "ul"} if name == "ol" else {name}
        found = next((level for level in reversed(self.levels) if level.name in names), None)
        return found if found is not None and found.name == name else None

    def _column(self, node: LexborNode) -> int:
        row, table = self._within("tr"), self._within("table")
        if row is None or table is None:
            return 0
        spans = self._spans.setdefault(table.serial, {})
        column = self._counts.get(row.serial, 0)
        while spans.get(column, 0) > 0:
            spans[column] -= 1
            column += 1
        said = node.attributes
        width = min(max(1, _number(said.get("colspan"), 1)), MAX_COLUMNS)
        height = _number(said.get("rowspan"), 1)
        if height > 1:  # of a table with more columns none is written as such
            spans.update(dict.fromkeys(range(column, min(column + width, MAX_COLUMNS)), height - 1))
        self._counts[row.serial] = column + width
        return column


def _number(said: str | None, default: int) -> int:
    bare = (said or "").strip()
    return int(bare) if bare.isascii() and bare.isdigit() and len(bare) < 10 else default  # noqa: PLR2004


def _address(said: str | None) -> str:
    """Give an address that leads somewhere."""
    bare = (said or "").strip()
    return "" if not bare or len(bare) > MAX_HREF_CHARS or bare.lower().startswith(_NOWHERE) else bare


def _code_language(node: LexborNode) -> str:
    """Say in which language code is: pages write it on the code, on what holds it, or around that."""
    for each in (node.css_first("code"), node, node.parent):
        if each is None:
            continue
        said = each.attributes
        if named := said.get("data-lang") or said.get("data-language"):
            return named.strip()[:30] if " " not in named.strip() else ""
        if match := _LANGUAGE.search(said.get("class") or ""):
            return match[1]
    return ""


def _apply_mark(mark: str, target: str, text: str) -> str:
    """Put marks close around a text: with spaces between them they are none."""
    bare = text.strip(f" \t\r\n\f{LINE_BREAK}")
    if not mark or not bare:
        return text
    at = text.index(bare)
    before, behind = text[:at], text[at + len(bare) :]
    if mark == "a":
        return f"{before}[{bare}](\0{target}\0){behind}"
    return f"{before}{as_code(bare) if mark == '`' else f'{mark}{bare}{mark}'}{behind}"
