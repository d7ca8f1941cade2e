"""How are blocks written as Markdown?

Takes blocks with what stands in their lines and with the lists, quotations and tables that they are in; gives
text that means the same again. What would be taken for Markdown, and is only text, is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from .text_blocks import Level, TextBlock

LINE_BREAK: Final = "\x01"
_ADDRESS: Final = re.compile("\0([^\0]*)\0")
_SYNTAX: Final = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|`|(?<!\s)\*|\*(?!\s)|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w+;)|~~"
    r"|\](?=[(\[:])"
)
_SYNTAX_CHARS: Final = re.compile(r"[\\`*_<&~\[\]]")
"""What all of these have: to look for one of some characters takes a tenth of the time, and few texts do."""
_LABEL_SYNTAX: Final = re.compile(rf"{_SYNTAX.pattern}|[\[\]]")
_LINE_START_SYNTAX: Final = re.compile(
    r"(?P<number>\d{1,9})(?=[.)](?:\s|$))|(?=#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|={2,}|-{3,}|\|)"
)
_BACKTICKS: Final = re.compile(r"`+")
_HEADING: Final = re.compile(r"h([1-6])")
MAX_COLUMNS: Final = 60


class _MarkdownPiece(NamedTuple):
    """Some lines that stand together."""

    levels: tuple[Level, ...]
    lines: list[str]
    is_tight: bool = True
    """Whether the next item of a list may follow at once."""


def escaped(text: str) -> str:
    """Write a text so that Markdown takes it for text."""
    return _SYNTAX.sub(r"\\\g<0>", text) if _SYNTAX_CHARS.search(text) else text


def escape_label(text: str) -> str:
    """Do the same for the words of a link or a picture."""
    return _LABEL_SYNTAX.sub(r"\\\g<0>", text) if _SYNTAX_CHARS.search(text) else text


def code_span(text: str) -> str:
    """Put ticks around code, more than stand in it."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    return (
        f"{ticks} {text} {ticks}"
        if longest and (text[0] == "`" or text[-1] == "`")
        else f"{ticks}{text}{ticks}"
    )


def blocks_to_markdown(blocks: Sequence[TextBlock], resolve: Callable[[str], str]) -> str:
    """Write; `resolve` gives the whole of an address, or nothing."""
    known: dict[str, str] = {}

    def whole(match: re.Match[str]) -> str:
        said = match[1]
        if said not in known:
            known[said] = _escape_destination(resolve(said) or said)
        return known[said]

    return _ADDRESS.sub(whole, "\n".join(_lines(_pieces(blocks))))


def _escape_destination(address: str) -> str:
    return address.translate(_DESTINATION_ESCAPES)


_DESTINATION_ESCAPES: Final = str.maketrans(
    {" ": "%20", "(": "%28", ")": "%29", "<": "%3C", ">": "%3E", "\n": "", "\r": "", "\t": ""}
)


def _pieces(blocks: Sequence[TextBlock]) -> Iterator[_MarkdownPiece]:
    for table, rows in groupby(blocks, lambda block: _outermost(block, "table")):
        within = list(rows)
        if table is not None and _is_data_table(within):
            yield from _table_pieces(within)
            continue
        for code, lines in groupby(within, lambda block: _outermost(block, "pre")):
            if code is not None:
                yield _code_piece(list(lines), code)
            else:
                yield from map(_block_piece, lines)


def _outermost(block: TextBlock, name: str) -> Level | None:
    for level in block.levels:
        if level.name == name:
            return level
    return None


def _block_piece(block: TextBlock) -> _MarkdownPiece:
    said = block.markdown or escaped(block.text)
    if heading := _HEADING.fullmatch(block.kind):
        return _MarkdownPiece(
            _holding(block.levels), [f"{'#' * int(heading[1])} {_in_one_line(said)}"], is_tight=False
        )
    lines = [_started(line.strip()) for line in said.split(LINE_BREAK)]
    filled = [line for line in lines if line]
    return _MarkdownPiece(_holding(block.levels), [f"{line}  " for line in filled[:-1]] + filled[-1:])


def _started(line: str) -> str:
    """Escape what would begin something else than a line of text."""
    match = _LINE_START_SYNTAX.match(line)
    if match is None:
        return line
    number = match["number"] or ""
    return f"{number}\\{line[len(number) :]}"


def _in_one_line(text: str) -> str:
    return text.replace(LINE_BREAK, " ")


def _holding(levels: Sequence[Level]) -> tuple[Level, ...]:
    return tuple(level for level in levels if level.name in {"ul", "ol", "li", "blockquote"})


def _code_piece(blocks: Sequence[TextBlock], code: Level) -> _MarkdownPiece:
    text = "\n".join(block.text for block in blocks)
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return _MarkdownPiece(
        _holding(blocks[0].levels), [f"{fence}{code.said}", *text.split("\n"), fence], is_tight=False
    )


def _cell_level(block: TextBlock) -> Level | None:
    return next((level for level in block.levels if level.name in {"td", "th"}), None)


def _is_data_table(blocks: Sequence[TextBlock]) -> bool:
    """Say whether a table has rows of short cells, or only puts parts of a page beside each other."""
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
    row = _outermost(block, "tr")
    return 0 if row is None else row.serial


def _table_pieces(blocks: Sequence[TextBlock]) -> Iterator[_MarkdownPiece]:
    """Write what stands in a table beside its cells, and then its rows; the first has to be the head."""
    rows: dict[int, dict[int, str]] = {}
    for block in blocks:
        cell = _cell_level(block)
        if cell is None:
            yield _block_piece(block)
            continue
        row = rows.setdefault(_row_serial(block), {})
        said = _in_one_line(block.markdown or escaped(block.text)).replace("|", "\\|").replace("\n", " ")
        row[cell.number] = f"{row[cell.number]} {said}" if cell.number in row else said
    width = 1 + max(max(row) for row in rows.values())
    lines = ["| " + " | ".join(row.get(at, "") for at in range(width)) + " |" for row in rows.values()]
    table = blocks[0].levels
    around = table[: next(at for at, level in enumerate(table) if level.name == "table")]
    yield _MarkdownPiece(_holding(around), [lines[0], f"|{' --- |' * width}", *lines[1:]], is_tight=False)


def _lines(pieces: Iterator[_MarkdownPiece]) -> Iterator[str]:
    """Write pieces below each other, each behind the marks of what it is in."""
    before: _MarkdownPiece | None = None
    for piece in pieces:
        if not piece.lines:
            continue
        if before is None:
            shared = 0
        else:
            shared = _shared(before.levels, piece.levels)
            if not _follows_tightly(before, piece, shared):
                yield _marks(piece.levels[:shared], shared)[1].rstrip()
        first, others = _marks(piece.levels, shared)
        yield from (f"{first if not at else others}{line}" for at, line in enumerate(piece.lines))
        before = piece


def _shared(one: Sequence[Level], other: Sequence[Level]) -> int:
    """Count the levels that two pieces are in together."""
    at = 0
    for mine, its in zip(one, other, strict=False):
        if mine.serial != its.serial:
            break
        at += 1
    return at


def _follows_tightly(before: _MarkdownPiece, piece: _MarkdownPiece, shared: int) -> bool:
    """Say whether an item, or a list in one, follows without an empty line."""
    if not before.is_tight or shared == len(piece.levels):
        return False
    is_in_list = any(level.name == "li" for level in before.levels)
    is_next = piece.levels[shared].name == "li"
    return is_in_list and (is_next or (shared > 0 and piece.levels[shared - 1].name == "li"))


def _marks(levels: Sequence[Level], shared: int) -> tuple[str, str]:
    """Give what stands before the first line, and before the others."""
    first = others = ""
    is_numbered = False
    for at, level in enumerate(levels):
        if level.name == "blockquote":
            first, others = f"{first}> ", f"{others}> "
        elif level.name == "li":
            mark = f"{level.number}. " if is_numbered else "- "
            space = " " * len(mark)
            first, others = first + (mark if at >= shared else space), others + space
        else:
            is_numbered = level.name == "ol"
    return first, others
