"""Records from Avro's binary form, by a function that is written out for each schema.

The twin of `codec_writing`, and for the same reason: a library that walks the schema anew asks its
stream for each byte of each number, and reading an event is what every service does with every
message. Only bytes that are exactly as expected are read here: whatever a function stumbles over it
raises, and whoever called it has the library read them, or say what is wrong. Schemas with types that
we have none of get no function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any, Final

from .book_nodes import Node

Read = Callable[[bytes, int], tuple[Any, int]]
"""Gives the value that begins at a position, and where it ends; or raises anything at all.

The end may lie behind the end of the bytes: then they are too short, and the value is not all there.
"""

_MORE: Final = 0x80
"""The bit of a number's byte that says that another follows."""
_SEVEN_BITS: Final = 0x7F
_LAST_SHIFT: Final = 63
_MOST: Final = 1 << 64


def read_out(node: Node) -> Read | None:
    """Give the function for a schema; None where it has a type that is left to the library."""
    source = _Source()
    try:
        name = source.function(node)
    except _UnknownKindError:
        return None
    exec("\n".join(source.functions), source.names)  # noqa: S102  # names are ours, and of schemas we have read
    found: Read = source.names[name]
    return found


class _UnknownKindError(Exception):
    """A type that is read by the library alone."""


class OddBytesError(Exception):
    """Bytes that are not as we write them, so that the library has to look at them."""


def _rest(value: bytes, at: int, first: int) -> tuple[int, int]:
    """Read on where a number has more than one byte; as it is written, the sign in its lowest bit."""
    number, shift = first & _SEVEN_BITS, 7
    while True:
        byte = value[at]
        at += 1
        number |= (byte & _SEVEN_BITS) << shift
        if byte < _MORE:
            break
        shift += 7
        if shift > _LAST_SHIFT:
            raise OddBytesError("a number without end")
    if number >= _MOST:
        raise OddBytesError("a number of more than 64 bits")
    return number, at


def _long(value: bytes, at: int) -> tuple[int, int]:
    """Read a number that has more than the one byte just behind us."""
    number, at = _rest(value, at, value[at - 1])
    return (number >> 1) ^ -(number & 1), at


def _count(value: bytes, at: int) -> tuple[int, int]:
    """Read how many items the one block of a list or map has."""
    count = value[at]
    at += 1
    if count >= _MORE:
        count, at = _rest(value, at, count)
    if count & 1:
        raise OddBytesError("a block that says its size")
    return count >> 1, at


def _end(value: bytes, at: int) -> int:
    """Step over the end of a list or map."""
    if value[at]:
        raise OddBytesError("a second block")
    return at + 1


def _texts(value: bytes, at: int) -> tuple[list[str], int]:
    """Read an array of texts, of which a page has hundreds."""
    count, at = _count(value, at)
    found: list[str] = []
    signs = 0
    for _ in range(count):
        size = value[at]
        at += 1
        if size >= _MORE:
            second = value[at]
            if second < _MORE:  # as most URLs have it
                size += (second << 7) - _MORE
                at += 1
            else:
                size, at = _rest(value, at, size)
        signs |= size
        end = at + (size >> 1)
        found.append(value[at:end].decode())
        at = end
    if signs & 1:
        raise OddBytesError("a text of less than no length")
    return found, _end(value, at)


def _numbers(value: bytes, at: int) -> tuple[list[int], int]:
    """Read an array of numbers, which mostly are small."""
    count, at = _count(value, at)
    single = value[at : at + count]
    if single.isascii():  # no number goes on in a second byte
        return [_SMALL[byte] for byte in single], _end(value, at + count)
    return _items(value, at, count, _number)


def _number(value: bytes, at: int) -> tuple[int, int]:
    first = value[at]
    return (_SMALL[first], at + 1) if first < _MORE else _long(value, at + 1)


def _items(value: bytes, at: int, count: int, read: Read) -> tuple[list[Any], int]:
    found: list[Any] = []
    for _ in range(count):
        item, at = read(value, at)
        found.append(item)
    return found, _end(value, at)


def _array(value: bytes, at: int, read: Read) -> tuple[list[Any], int]:
    count, at = _count(value, at)
    return _items(value, at, count, read)


def _map(value: bytes, at: int, read: Read) -> tuple[dict[str, Any], int]:
    count, at = _count(value, at)
    found: dict[str, Any] = {}
    for _ in range(count):
        name, at = _text(value, at)
        found[name], at = read(value, at)
    return found, _end(value, at)


def _text(value: bytes, at: int) -> tuple[str, int]:
    size, at = _count(value, at)
    return value[at : at + size].decode(), at + size


_SMALL: Final = tuple((number >> 1) ^ -(number & 1) for number in range(_MORE))
_SHORT: Final = _SMALL + (None,) * _MORE
"""By a number's first byte: what it is, or None where it goes on."""

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
        self.names: dict[str, Any] = {
            "rest": _rest,
            "long": _long,
            "short": _SHORT,
            "booleans": (False, True),
            "double": Struct("<d").unpack_from,
            "texts": _texts,
            "numbers": _numbers,
            "array": _array,
            "map_of": _map,
            "Odd": OddBytesError,
        }

    def function(self, node: Node) -> str:
        """Write a function that reads a value of a type; gives its name."""
        if node.kind == "record":
            named = [(f"f{number}", each) for number, each in enumerate(node.fields)]
            lines = [line for name, each in named for line in self._lines(each.node, name)]
            result = f"{{{', '.join(f'{each.name!r}: {name}' for name, each in named)}}}"
        else:
            lines, result = list(self._lines(node, "found")), "found"
        self._count += 1
        name = f"read{self._count}"
        self.functions.append("\n".join(_function(name, lines, result)))
        return name

    def _lines(self, node: Node, name: str) -> Iterable[str]:
        """Give the lines that read a value and give it a name."""
        kind = node.kind
        if kind in _PLAIN:
            return _PLAIN[kind].format(name=name).splitlines()
        if kind in {"array", "map"}:
            empty = "[]" if kind == "array" else "{}"
            return _SEVERAL.format(name=name, read=self._several(node), empty=empty).splitlines()
        if kind == "union":
            return self._optional(node, name)
        if kind == "record":
            return (f"{name}, at = {self.function(node)}(value, at)",)
        raise _UnknownKindError(kind)

    def _several(self, node: Node) -> str:
        item = node.parts[0]
        if node.kind == "map":
            return f"map_of(value, at, {self.function(item)})"
        if item.kind == "string":
            return "texts(value, at)"
        if item.kind in {"int", "long"}:
            return "numbers(value, at)"
        return f"array(value, at, {self.function(item)})"

    def _optional(self, node: Node, name: str) -> Iterable[str]:
        """Read null or the other type."""
        kinds = [part.kind for part in node.parts]
        if len(kinds) != 2 or kinds.count("null") != 1:  # noqa: PLR2004  # null and another
            raise _UnknownKindError(node.kind)
        none = kinds.index("null")
        read = "\n".join(f"    {line}" for line in self._lines(node.parts[1 - none], name))
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
