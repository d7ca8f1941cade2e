"""Compile a schema to a Python function that reads its records from Avro binary.

Counterpart of `compiled_writer`, for the same reason: a library that interprets the schema asks its stream
for each byte of each number, and every service decodes every message. Only bytes that are exactly as expected
are read here: a compiled function raises on anything else, and the caller falls back to fastavro, which reads
them or reports the fault. Schemas with types that our events do not use get no function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from struct import Struct
from typing import Any, Final

from .schema_model import SchemaField, SchemaNode

FieldSelection = Mapping[str, Any]
"""Fields by name, each with the selected fields within it; empty where the whole field is selected."""

ReadFunction = Callable[[bytes, int], tuple[Any, int]]
"""Reads the value at a position; returns it and the position behind it, or raises any exception.

The returned position may lie behind the end of the bytes: then the value was truncated.
"""

_CONTINUATION_BIT: Final = 0x80
"""Bit of a varint byte which says that another byte follows."""
_SEVEN_BITS: Final = 0x7F
_LAST_SHIFT: Final = 63
_MAX_UNSIGNED: Final = 1 << 64


_SMALL_NUMBERS: Final = tuple((number >> 1) ^ -(number & 1) for number in range(_CONTINUATION_BIT))


class UnexpectedBytesError(Exception):
    """Bytes in a form that our writer does not produce; fastavro has to read them."""


def _read_rest(value: bytes, at: int, first: int) -> tuple[int, int]:
    """Read the further bytes of a varint; the result still has its sign in the lowest bit."""
    number, shift = first & _SEVEN_BITS, 7
    while True:
        byte = value[at]
        at += 1
        number |= (byte & _SEVEN_BITS) << shift
        if byte < _CONTINUATION_BIT:
            break
        shift += 7
        if shift > _LAST_SHIFT:
            raise UnexpectedBytesError("a number without end")
    if number >= _MAX_UNSIGNED:
        raise UnexpectedBytesError("a number of more than 64 bits")
    return number, at


def _read_long(value: bytes, at: int) -> tuple[int, int]:
    """Read a long of several bytes whose first byte has just been passed."""
    number, at = _read_rest(value, at, value[at - 1])
    return (number >> 1) ^ -(number & 1), at


def _read_count(value: bytes, at: int) -> tuple[int, int]:
    """Read the item count of the only block of an array or map."""
    count = value[at]
    at += 1
    if count >= _CONTINUATION_BIT:
        count, at = _read_rest(value, at, count)
    if count & 1:
        raise UnexpectedBytesError("a block that says its size")
    return count >> 1, at


def _read_block_end(value: bytes, at: int) -> int:
    """Skip the end marker of an array or map."""
    if value[at]:
        raise UnexpectedBytesError("a second block")
    return at + 1


def _read_strings(value: bytes, at: int) -> tuple[list[str], int]:
    """Read an array of strings; a page has hundreds."""
    count, at = _read_count(value, at)
    found: list[str] = []
    signs = 0
    for _ in range(count):
        size = value[at]
        at += 1
        if size >= _CONTINUATION_BIT:
            second = value[at]
            if second < _CONTINUATION_BIT:  # the length of most URLs
                size += (second << 7) - _CONTINUATION_BIT
                at += 1
            else:
                size, at = _read_rest(value, at, size)
        signs |= size
        end = at + (size >> 1)
        found.append(value[at:end].decode())
        at = end
    if signs & 1:
        raise UnexpectedBytesError("a text of less than no length")
    return found, _read_block_end(value, at)


def _skip_strings(value: bytes, at: int) -> int:
    count, at = _read_count(value, at)
    signs = 0
    for _ in range(count):
        size = value[at]
        at += 1
        if size >= _CONTINUATION_BIT:
            size, at = _read_rest(value, at, size)
        signs |= size
        at += size >> 1
    if signs & 1:
        raise UnexpectedBytesError("a text of less than no length")
    return _read_block_end(value, at)


def _read_numbers(value: bytes, at: int) -> tuple[list[int], int]:
    """Read an array of integers, most of which are small."""
    count, at = _read_count(value, at)
    single = value[at : at + count]
    if single.isascii():  # no number has a second byte
        return [_SMALL_NUMBERS[byte] for byte in single], _read_block_end(value, at + count)
    return _read_items(value, at, count, _read_number)


def _read_number(value: bytes, at: int) -> tuple[int, int]:
    first = value[at]
    return (_SMALL_NUMBERS[first], at + 1) if first < _CONTINUATION_BIT else _read_long(value, at + 1)


def _read_items(value: bytes, at: int, count: int, read: ReadFunction) -> tuple[list[Any], int]:
    found: list[Any] = []
    for _ in range(count):
        item, at = read(value, at)
        found.append(item)
    return found, _read_block_end(value, at)


def _read_array(value: bytes, at: int, read: ReadFunction) -> tuple[list[Any], int]:
    count, at = _read_count(value, at)
    return _read_items(value, at, count, read)


def _read_map(value: bytes, at: int, read: ReadFunction) -> tuple[dict[str, Any], int]:
    count, at = _read_count(value, at)
    found: dict[str, Any] = {}
    for _ in range(count):
        name, at = _read_string(value, at)
        found[name], at = read(value, at)
    return found, _read_block_end(value, at)


def _read_string(value: bytes, at: int) -> tuple[str, int]:
    size, at = _read_count(value, at)
    return value[at : at + size].decode(), at + size


_SINGLE_BYTE_NUMBERS: Final = _SMALL_NUMBERS + (None,) * _CONTINUATION_BIT
"""Number by its first byte, or None where further bytes follow."""

READER_FUNCTIONS: Final[dict[str, Any]] = {
    "rest": _read_rest,
    "long": _read_long,
    "short": _SINGLE_BYTE_NUMBERS,
    "booleans": (False, True),
    "double": Struct("<d").unpack_from,
    "texts": _read_strings,
    "step_over_texts": _skip_strings,
    "numbers": _read_numbers,
    "array": _read_array,
    "map_of": _read_map,
    "Odd": UnexpectedBytesError,
}
"""Functions that compiled readers call, by the name used in their source."""


_ALL_FIELDS: Final[FieldSelection] = {}


def compile_reader(node: SchemaNode, wanted: FieldSelection = _ALL_FIELDS) -> ReadFunction | None:
    """Return the reader of a schema; None where it has a type that only fastavro reads.

    With a selection of fields, the reader returns only these. It skips the others without decoding them, so
    that the event is still known to be complete.
    """
    source = _ReaderSource()
    try:
        name = source.function(node, wanted)
    except _UnsupportedTypeError:
        return None
    exec("\n".join(source.functions), source.names)  # noqa: S102  # names are ours, and of schemas we have read
    found: ReadFunction = source.names[name]
    return found


class _UnsupportedTypeError(Exception):
    """A type that only fastavro reads."""


_SIZED: Final = """\
size = value[at]
at += 1
if size:
    if size > 127:
        size, at = rest(value, at, size)
    signs |= size
    end = at + (size >> 1)
    {name} = value[at:end]{decoded}
    at = end
else:
    {name} = {empty}"""

_NUMBER: Final = """\
{name} = short[value[at]]
at += 1
if {name} is None:
    {name}, at = long(value, at)"""

_BOOLEAN: Final = """\
{name} = booleans[value[at]]
at += 1"""

_DOUBLE: Final = """\
({name},) = double(value, at)
at += 8"""

_COLLECTION: Final = """\
if value[at]:
    {name}, at = {read}
else:
    {name} = {empty}
    at += 1"""

_OPTIONAL: Final = """\
branch = value[at]
at += 1
if branch == {none}:
    {name} = None
elif branch == {other}:
{read}
else:
    raise IndexError(branch)"""

_SKIP_SIZED: Final = """\
size = value[at]
at += 1
if size > 127:
    size, at = rest(value, at, size)
signs |= size
at += size >> 1"""

_SKIPS: Final = {
    "string": _SKIP_SIZED,
    "bytes": _SKIP_SIZED,
    "int": "at = at + 1 if value[at] < 128 else long(value, at + 1)[1]",
    "long": "at = at + 1 if value[at] < 128 else long(value, at + 1)[1]",
    "double": "at += 8",
}

_ZERO_WHEN_EMPTY: Final = frozenset({"string", "bytes", "int", "long", "boolean", "array", "map"})
"""Types whose empty value is encoded as one zero byte."""

_SKIPPED_TOGETHER: Final = 6
"""Consecutive fields that are tested for emptiness together, because many fields of an event are empty."""

_SIMPLE_READS: Final = {
    "string": _SIZED.replace("{decoded}", ".decode()").replace("{empty}", '""'),
    "bytes": _SIZED.replace("{decoded}", "").replace("{empty}", 'b""'),
    "int": _NUMBER,
    "long": _NUMBER,
    "boolean": _BOOLEAN,
    "double": _DOUBLE,
}


class _ReaderSource:
    """Source of the compiled functions and the names that they use."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self._count = 0
        self.names = dict(READER_FUNCTIONS)

    def function(self, node: SchemaNode, wanted: FieldSelection = _ALL_FIELDS) -> str:
        """Generate a function that reads a value of a type; returns its name."""
        if node.kind == "record":
            lines, result = self._record(node.fields, wanted)
        else:
            lines, result = list(self._read_lines(node, "found")), "found"
        self._count += 1
        name = f"read{self._count}"
        self.functions.append("\n".join(_function(name, lines, result)))
        return name

    def _record(self, fields: Sequence[SchemaField], wanted: FieldSelection) -> tuple[list[str], str]:
        lines, found = list[str](), list[str]()
        for is_wanted, run in groupby(fields, lambda each: not wanted or each.name in wanted):
            if not is_wanted:
                lines += self._skip_all([each.node for each in run])
                continue
            for each in run:
                lines += self._read_lines(each.node, f"f{len(found)}", wanted.get(each.name, _ALL_FIELDS))
                found.append(f"{each.name!r}: f{len(found)}")
        return lines, f"{{{', '.join(found)}}}"

    def _skip_all(self, nodes: Sequence[SchemaNode]) -> Iterator[str]:
        """Generate lines that skip values, several empty ones at once."""
        for is_byte, same in groupby(nodes, lambda node: node.kind in _ZERO_WHEN_EMPTY):
            run = list(same)
            while run:
                several, run = run[:_SKIPPED_TOGETHER], run[_SKIPPED_TOGETHER:]
                lines = [line for node in several for line in self._skip(node)]
                if not is_byte or len(several) == 1:
                    yield from lines
                    continue
                yield f"if value.startswith({bytes(len(several))!r}, at):"
                yield f"    at += {len(several)}"
                yield "else:"
                yield from (f"    {line}" for line in lines)

    def _skip(self, node: SchemaNode) -> Iterable[str]:
        if node.kind in _SKIPS:
            return _SKIPS[node.kind].splitlines()
        if node.kind == "array" and node.children[0].kind == "string":
            return ("at = step_over_texts(value, at) if value[at] else at + 1",)
        return self._read_lines(node, "_")

    def _read_lines(self, node: SchemaNode, name: str, wanted: FieldSelection = _ALL_FIELDS) -> Iterable[str]:
        """Generate lines that read a value into a variable."""
        kind = node.kind
        if kind in _SIMPLE_READS:
            return _SIMPLE_READS[kind].format(name=name).splitlines()
        if kind in {"array", "map"}:
            empty = "[]" if kind == "array" else "{}"
            return _COLLECTION.format(name=name, read=self._collection(node), empty=empty).splitlines()
        if kind == "union":
            return self._optional(node, name)
        if kind == "record":
            return (f"{name}, at = {self.function(node, wanted)}(value, at)",)
        raise _UnsupportedTypeError(kind)

    def _collection(self, node: SchemaNode) -> str:
        item = node.children[0]
        if node.kind == "map":
            return f"map_of(value, at, {self.function(item)})"
        if item.kind == "string":
            return "texts(value, at)"
        if item.kind in {"int", "long"}:
            return "numbers(value, at)"
        return f"array(value, at, {self.function(item)})"

    def _optional(self, node: SchemaNode, name: str) -> Iterable[str]:
        """Generate lines that read null or the other type of a union."""
        kinds = [part.kind for part in node.children]
        if len(kinds) != 2 or kinds.count("null") != 1:  # noqa: PLR2004  # null and another
            raise _UnsupportedTypeError(node.kind)
        none = kinds.index("null")
        read = "\n".join(f"    {line}" for line in self._read_lines(node.children[1 - none], name))
        # Branch numbers are zigzag-encoded too: twice their value.
        return _OPTIONAL.format(name=name, none=2 * none, other=2 - 2 * none, read=read).splitlines()


def _function(name: str, lines: Iterable[str], result: str) -> Iterator[str]:
    yield f"def {name}(value, at):"
    yield "    signs = 0"
    for line in lines:
        yield f"    {line}"
    yield "    if signs & 1:"
    yield "        raise Odd('a length below nothing')"
    yield f"    return {result}, at"
