"""Records from Avro's binary form, by a function that is written out for each schema.

The twin of `codec_writing`, and for the same reason: a library that walks the schema anew asks its
stream for each byte of each number, and reading an event is what every service does with every
message. Only bytes that are exactly as expected are read here: whatever a function stumbles over it
raises, and whoever called it has the library read them, or say what is wrong. Schemas with types that
we have none of get no function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from .compiled_reader_values import READER_FUNCTIONS, ReadFunction
from .partial_decode import FieldSelection
from .schema_model import SchemaField, SchemaNode

_ALL_FIELDS: Final[FieldSelection] = {}


def compile_reader(node: SchemaNode, wanted: FieldSelection = _ALL_FIELDS) -> ReadFunction | None:
    """Give the function for a schema; None where it has a type that is left to the library.

    Where only some fields are wanted the function gives no others. It steps over them, so that the
    event is known to be whole, and does not look into them.
    """
    source = _Source()
    try:
        name = source.function(node, wanted)
    except _UnsupportedTypeError:
        return None
    exec("\n".join(source.functions), source.names)  # noqa: S102  # names are ours, and of schemas we have read
    found: ReadFunction = source.names[name]
    return found


class _UnsupportedTypeError(Exception):
    """A type that is read by the library alone."""


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

_SEVERAL: Final = """\
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

_STEP: Final = """\
size = value[at]
at += 1
if size > 127:
    size, at = rest(value, at, size)
signs |= size
at += size >> 1"""

_SKIPS: Final = {
    "string": _STEP,
    "bytes": _STEP,
    "int": "at = at + 1 if value[at] < 128 else long(value, at + 1)[1]",
    "long": "at = at + 1 if value[at] < 128 else long(value, at + 1)[1]",
    "double": "at += 8",
}

_ZERO_WHEN_EMPTY: Final = frozenset({"string", "bytes", "int", "long", "boolean", "array", "map"})
"""What is one byte of nothing where it is empty."""

_SKIPPED_TOGETHER: Final = 6
"""Fields in a row that are looked at together, because many of an event are empty."""

_PLAIN: Final = {
    "string": _SIZED.replace("{decoded}", ".decode()").replace("{empty}", '""'),
    "bytes": _SIZED.replace("{decoded}", "").replace("{empty}", 'b""'),
    "int": _NUMBER,
    "long": _NUMBER,
    "boolean": _BOOLEAN,
    "double": _DOUBLE,
}


class _Source:
    """Functions as text, and the names that they use."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self._count = 0
        self.names = dict(READER_FUNCTIONS)

    def function(self, node: SchemaNode, wanted: FieldSelection = _ALL_FIELDS) -> str:
        """Write a function that reads a value of a type; gives its name."""
        if node.kind == "record":
            lines, result = self._record(node.fields, wanted)
        else:
            lines, result = list(self._lines(node, "found")), "found"
        self._count += 1
        name = f"read{self._count}"
        self.functions.append("\n".join(_function(name, lines, result)))
        return name

    def _record(self, fields: Sequence[SchemaField], wanted: FieldSelection) -> tuple[list[str], str]:
        lines, found = list[str](), list[str]()
        for is_wanted, run in groupby(fields, lambda each: not wanted or each.name in wanted):
            if not is_wanted:
                lines += self._steps([each.node for each in run])
                continue
            for each in run:
                lines += self._lines(each.node, f"f{len(found)}", wanted.get(each.name, _ALL_FIELDS))
                found.append(f"{each.name!r}: f{len(found)}")
        return lines, f"{{{', '.join(found)}}}"

    def _steps(self, nodes: Sequence[SchemaNode]) -> Iterator[str]:
        """Step over values; several that are empty at once."""
        for is_byte, same in groupby(nodes, lambda node: node.kind in _ZERO_WHEN_EMPTY):
            run = list(same)
            while run:
                several, run = run[:_SKIPPED_TOGETHER], run[_SKIPPED_TOGETHER:]
                lines = [line for node in several for line in self._step(node)]
                if not is_byte or len(several) == 1:
                    yield from lines
                    continue
                yield f"if value.startswith({bytes(len(several))!r}, at):"
                yield f"    at += {len(several)}"
                yield "else:"
                yield from (f"    {line}" for line in lines)

    def _step(self, node: SchemaNode) -> Iterable[str]:
        if node.kind in _SKIPS:
            return _SKIPS[node.kind].splitlines()
        if node.kind == "array" and node.children[0].kind == "string":
            return ("at = step_over_texts(value, at) if value[at] else at + 1",)
        return self._lines(node, "_")

    def _lines(self, node: SchemaNode, name: str, wanted: FieldSelection = _ALL_FIELDS) -> Iterable[str]:
        """Give the lines that read a value and give it a name."""
        kind = node.kind
        if kind in _PLAIN:
            return _PLAIN[kind].format(name=name).splitlines()
        if kind in {"array", "map"}:
            empty = "[]" if kind == "array" else "{}"
            return _SEVERAL.format(name=name, read=self._collection(node), empty=empty).splitlines()
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
        """Read null or the other type."""
        kinds = [part.kind for part in node.children]
        if len(kinds) != 2 or kinds.count("null") != 1:  # noqa: PLR2004  # null and another
            raise _UnsupportedTypeError(node.kind)
        none = kinds.index("null")
        read = "\n".join(f"    {line}" for line in self._lines(node.children[1 - none], name))
        # Branches are numbers too: twice of what they are.
        return _OPTIONAL.format(name=name, none=2 * none, other=2 - 2 * none, read=read).splitlines()


def _function(name: str, lines: Iterable[str], result: str) -> Iterator[str]:
    yield f"def {name}(value, at):"
    yield "    signs = 0"
    for line in lines:
        yield f"    {line}"
    yield "    if signs & 1:"
    yield "        raise Odd('a length below nothing')"
    yield f"    return {result}, at"
