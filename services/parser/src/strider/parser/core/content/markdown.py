"""Render text blocks as Markdown.

Takes blocks with their inline markup and the lists, quotations and tables around them. Text that would be
parsed as Markdown syntax is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from .text_blocks import BlockLevel, TextBlock

LINE_BREAK: Final = "\x01"
_ADDRESS: Final = re.compile("\0([^\0]*)\0")
_SYNTAX: Final = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|`|(?<!\s)\*|\*(?!\s)|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w+;)|~~"
    r"|\](?=[(\[:])"
)
_SYNTAX_CHARS: Final = re.compile(r"[\\`*_<&~\[\]]")
"""Characters of which every syntax match has one; this test is ten times as fast, and few texts pass it."""
_LABEL_SYNTAX: Final = re.compile(rf"{_SYNTAX.pattern}|[\[\]]")
_LINE_START_SYNTAX: Final = re.compile(
    r"(?P<number>\d{1,9})(?=[.)](?:\s|$))|(?=#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|={2,}|-{3,}|\|)"
)
_BACKTICKS: Final = re.compile(r"`+")
_HEADING: Final = re.compile(r"h([1-6])")
MAX_COLUMNS: Final = 60


class _MarkdownPiece(NamedTuple):
    """Consecutive lines of one block."""

    levels: tuple[BlockLevel, ...]
    lines: list[str]
    is_tight: bool = True
    """Whether the next list item may follow without an empty line."""


def escape_text(text: str) -> str:
    """Escape Markdown syntax in a text."""
    return _SYNTAX.sub(r"\\\g<0>", text) if _SYNTAX_CHARS.search(text) else text


def escape_label(text: str) -> str:
    """Escape Markdown syntax in the text of a link or an image."""
    return _LABEL_SYNTAX.sub(r"\\\g<0>", text) if _SYNTAX_CHARS.search(text) else text


def code_span(text: str) -> str:
    """Return code between more backticks than it contains."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    return (
        f"{ticks} {text} {ticks}"
        if longest and (text[0] == "`" or text[-1] == "`")
        else f"{ticks}{text}{ticks}"
    )


def blocks_to_markdown(blocks: Sequence[TextBlock], resolve: Callable[[str], str]) -> str:
    """Return blocks as Markdown; `resolve` returns an absolute URL, or an empty string."""
    resolved: dict[str, str] = {}

    def complete(match: re.Match[str]) -> str:
        address = match[1]
        if address not in resolved:
            resolved[address] = _escape_destination(resolve(address) or address)
        return resolved[address]

    return _ADDRESS.sub(complete, "\n".join(_render_lines(_pieces(blocks))))


_DESTINATION_ESCAPES: Final = str.maketrans(
    {" ": "%20", "(": "%28", ")": "%29", "<": "%3C", ">": "%3E", "\n": "", "\r": "", "\t": ""}
)


def _escape_destination(address: str) -> str:
    return address.translate(_DESTINATION_ESCAPES)


def _pieces(blocks: Sequence[TextBlock]) -> Iterator[_MarkdownPiece]:
    for table, rows in groupby(blocks, lambda block: _outermost_level(block, "table")):
        within = list(rows)
        if table is not None and _is_data_table(within):
            yield from _table_pieces(within)
            continue
        for code, lines in groupby(within, lambda block: _outermost_level(block, "pre")):
            if code is not None:
                yield _code_piece(list(lines), code)
            else:
                yield from map(_block_piece, lines)


def _outermost_level(block: TextBlock, name: str) -> BlockLevel | None:
    for level in block.levels:
        if level.name == name:
            return level
    return None


def _block_piece(block: TextBlock) -> _MarkdownPiece:
    text = block.markdown or escape_text(block.text)
    if heading := _HEADING.fullmatch(block.kind):
        return _MarkdownPiece(
            _list_levels(block.levels), [f"{'#' * int(heading[1])} {_in_one_line(text)}"], is_tight=False
        )
    lines = [_escape_line_start(line.strip()) for line in text.split(LINE_BREAK)]
    filled = [line for line in lines if line]
    return _MarkdownPiece(_list_levels(block.levels), [f"{line}  " for line in filled[:-1]] + filled[-1:])


def _escape_line_start(line: str) -> str:
    """Escape text that would start another construct at the beginning of a line."""
    match = _LINE_START_SYNTAX.match(line)
    if match is None:
        return line
    number = match["number"] or ""
    return f"{number}\\{line[len(number) :]}"


def _in_one_line(text: str) -> str:
    return text.replace(LINE_BREAK, " ")


def _list_levels(levels: Sequence[BlockLevel]) -> tuple[BlockLevel, ...]:
    return tuple(level for level in levels if level.name in {"ul", "ol", "li", "blockquote"})


def _code_piece(blocks: Sequence[TextBlock], code: BlockLevel) -> _MarkdownPiece:
    text = "\n".join(block.text for block in blocks)
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return _MarkdownPiece(
        _list_levels(blocks[0].levels), [f"{fence}{code.language}", *text.split("\n"), fence], is_tight=False
    )


def _cell_level(block: TextBlock) -> BlockLevel | None:
    return next((level for level in block.levels if level.name in {"td", "th"}), None)


def _is_data_table(blocks: Sequence[TextBlock]) -> bool:
    """Whether a table has rows of short cells, rather than being used for layout."""
    columns: dict[int, set[int]] = {}
    for block in blocks:
        cell = _cell_level(block)
        if cell is None:
            continue
        deeper = block.levels[block.levels.index(cell) + 1 :]
        if _HEADING.fullmatch(block.kind) or any(level.name != "blockquote" for level in deeper):
            return False
        columns.setdefault(_row_serial(block), set()).add(cell.number)
    return any(len(each) > 1 for each in columns.values()) and max(map(max, columns.values())) < MAX_COLUMNS


def _row_serial(block: TextBlock) -> int:
    row = _outermost_level(block, "tr")
    return 0 if row is None else row.serial


def _table_pieces(blocks: Sequence[TextBlock]) -> Iterator[_MarkdownPiece]:
    """Yield the blocks outside of cells, then the rows; the first row becomes the header."""
    rows: dict[int, dict[int, str]] = {}
    for block in blocks:
        cell = _cell_level(block)
        if cell is None:
            yield _block_piece(block)
            continue
        row = rows.setdefault(_row_serial(block), {})
        text = _in_one_line(block.markdown or escape_text(block.text)).replace("|", "\\|").replace("\n", " ")
        row[cell.number] = f"{row[cell.number]} {text}" if cell.number in row else text
    width = 1 + max(max(row) for row in rows.values())
    lines = ["| " + " | ".join(row.get(at, "") for at in range(width)) + " |" for row in rows.values()]
    table = blocks[0].levels
    around = table[: next(at for at, level in enumerate(table) if level.name == "table")]
    yield _MarkdownPiece(_list_levels(around), [lines[0], f"|{' --- |' * width}", *lines[1:]], is_tight=False)


def _render_lines(pieces: Iterator[_MarkdownPiece]) -> Iterator[str]:
    """Yield the lines of all pieces, each after the prefixes of its lists and quotations."""
    before: _MarkdownPiece | None = None
    for piece in pieces:
        if not piece.lines:
            continue
        if before is None:
            shared = 0
        else:
            shared = _shared_levels(before.levels, piece.levels)
            if not _follows_tightly(before, piece, shared):
                yield _line_prefixes(piece.levels[:shared], shared)[1].rstrip()
        first, others = _line_prefixes(piece.levels, shared)
        yield from (f"{first if not at else others}{line}" for at, line in enumerate(piece.lines))
        before = piece


def _shared_levels(one: Sequence[BlockLevel], other: Sequence[BlockLevel]) -> int:
    """Return the number of levels that two pieces share."""
    at = 0
    for mine, its in zip(one, other, strict=False):
        if mine.serial != its.serial:
            break
        at += 1
    return at


def _follows_tightly(before: _MarkdownPiece, piece: _MarkdownPiece, shared: int) -> bool:
    """Whether an item, or a list in one, follows without an empty line."""
    if not before.is_tight or shared == len(piece.levels):
        return False
    is_in_list = any(level.name == "li" for level in before.levels)
    is_next = piece.levels[shared].name == "li"
    return is_in_list and (is_next or (shared > 0 and piece.levels[shared - 1].name == "li"))


def _line_prefixes(levels: Sequence[BlockLevel], shared: int) -> tuple[str, str]:
    """Return the prefix of the first line, and that of the others."""
    first = others = ""
    is_numbered = False
    for at, level in enumerate(levels):
        if level.name == "blockquote":
            first, others = f"{first}> ", f"{others}> "
        elif level.name == "li":
            prefix = f"{level.number}. " if is_numbered else "- "
            space = " " * len(prefix)
            first, others = first + (prefix if at >= shared else space), others + space
        else:
            is_numbered = level.name == "ol"
    return first, others
