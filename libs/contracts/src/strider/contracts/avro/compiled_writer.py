"""Records to Avro's binary form, by a function that is written out for each schema.

A library that walks the schema anew for each event takes three times as long, and writing is the largest
part of what an event costs. Only values that are exactly as expected are written here: whatever a
function stumbles over it raises, and whoever called it has the library write it, or say what is wrong.
Schemas with types that we have none of get no function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from struct import Struct
from typing import Any, Final

from .schema_model import SchemaNode

WriteFunction = Callable[[Any], bytes]
"""Gives the bytes of a value, or raises anything at all."""

_SMALL: Final = 1_024
"""Numbers below are looked up: nearly every length, and most counts."""
_INT_LIMIT: Final = 2**31
_LONG_LIMIT: Final = 2**63


def compile_writer(node: SchemaNode) -> WriteFunction | None:
    """Give the function for a schema; None where it has a type that is left to the library."""
    source = _Source()
    try:
        name = source.function(node)
    except _UnsupportedTypeError:
        return None
    exec("\n".join(source.functions), source.names)  # noqa: S102  # names are ours, and of schemas we have read
    found: WriteFunction = source.names[name]
    return found


class _UnsupportedTypeError(Exception):
    """A type that is written by the library alone."""


def _number(value: int) -> bytes:
    """Write a long: zigzag, seven bits a byte, the least first."""
    if not -_LONG_LIMIT <= value < _LONG_LIMIT:
        raise OverflowError(value)
    rest = (value << 1) ^ (value >> 63)
    found = bytearray()
    while rest > 0x7F:  # noqa: PLR2004  # seven bits
        found.append((rest & 0x7F) | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def _write_int(value: int) -> bytes:
    if not -_INT_LIMIT <= value < _INT_LIMIT:
        raise OverflowError(value)
    return _number(value)


def _require_type(value: Any, kind: type) -> Any:
    """Let a value pass that is of a branch's own type; which branch others are is the library's to say."""
    if type(value) is not kind:
        raise TypeError(kind)
    return value


def _array(items: Iterable[Any], write: WriteFunction) -> bytes:
    found = [write(item) for item in items]
    return b"".join((_number(len(found)), *found, b"\0")) if found else b"\0"


def _write_strings(items: Iterable[str]) -> bytes:
    """Write an array of texts, of which a page has hundreds."""
    found: list[bytes] = []
    for text in items:
        encoded = text.encode()
        found += (_number(len(encoded)) if len(encoded) >= _SMALL else _NUMBERS[len(encoded)], encoded)
    return b"".join((_number(len(found) // 2), *found, b"\0")) if found else b"\0"


def _write_small_numbers(items: Sequence[int], write: WriteFunction) -> bytes:
    """Write an array of numbers, which mostly are small and not negative: one byte each."""
    count = len(items)  # what has none would be a size below
    try:
        single = bytes(items).translate(_ZIGZAG_OF_BYTE)
    except ValueError:
        return _array(items, write)
    if not single.isascii():
        return _array(items, write)
    return b"".join((_number(count), single, b"\0")) if count else b"\0"


def _map(items: Mapping[str, Any], write: WriteFunction) -> bytes:
    found: list[bytes] = []
    for name, item in items.items():
        encoded = name.encode()
        found += (_number(len(encoded)), encoded, write(item))
    return b"".join((_number(len(items)), *found, b"\0")) if found else b"\0"


_NUMBERS: Final = tuple(map(_number, range(_SMALL)))
_ZIGZAG_OF_BYTE: Final = bytes([*range(0, 128, 2), *(255 for _ in range(64, 256))])
"""Numbers of one byte as they are written; what takes two is beyond ASCII."""
_SIMPLE_WRITES: Final = {"boolean": '(b"\\x01" if {} else b"\\x00")', "double": "double({})"}
_TYPES: Final = {"string": str, "bytes": bytes, "int": int, "long": int, "double": float}


class _Source:
    """Functions as text, and the names that they use."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self._count = 0
        self.names: dict[str, Any] = {
            "small": _NUMBERS,
            "number": _number,
            "number32": _write_int,
            "double": Struct("<d").pack,
            "exactly": _require_type,
            "array": _array,
            "strings": _write_strings,
            "small_numbers": _write_small_numbers,
            "map_of": _map,
            "join": b"".join,
            **{kind.__name__: kind for kind in _TYPES.values()},
        }

    def function(self, node: SchemaNode) -> str:
        """Write a function that takes a value of a type; gives its name."""
        if node.kind == "record":
            parts = [part for f in node.fields for part in self._parts(f.node, f"value[{f.name!r}]")]
        else:
            parts = self._parts(node, "value")
        name = self._name("write")
        body = parts[0] if len(parts) == 1 else f"join(({', '.join(parts)},))"
        self.functions.append(f"def {name}(value):\n    return {body}")
        return name

    def _parts(self, node: SchemaNode, value: str) -> list[str]:
        """Give expressions that are bytes one after the other; `value` is evaluated once."""
        kind = node.kind
        if kind in {"string", "bytes"}:
            return self._counted(f"{value}.encode()" if kind == "string" else f"exactly({value}, bytes)")
        if kind in {"int", "long"}:
            number, write = self._name("n"), "number32" if kind == "int" else "number"
            return [f"(small[{number}] if 0 <= ({number} := {value}) < {_SMALL} else {write}({number}))"]
        if kind in {"array", "map"}:
            return [self._collection(node, value)]
        if kind == "union":
            return [self._optional(node, value)]
        if kind == "record":
            return [f"{self.function(node)}({value})"]
        if kind not in _SIMPLE_WRITES:
            raise _UnsupportedTypeError(kind)
        return [_SIMPLE_WRITES[kind].format(value)]

    def _counted(self, encoded: str) -> list[str]:
        content, length = self._name("b"), self._name("n")
        size = f"({length} := len({content} := {encoded}))"
        return [f"(small[{length}] if {size} < {_SMALL} else number({length}))", content]

    def _collection(self, node: SchemaNode, value: str) -> str:
        if node.kind == "map":
            return f"map_of({value}, {self.function(node.children[0])})"
        if node.children[0].kind == "string":
            return f"strings({value})"
        if node.children[0].kind in {"int", "long"}:
            return f"small_numbers({value}, {self.function(node.children[0])})"
        return f"array({value}, {self.function(node.children[0])})"

    def _optional(self, node: SchemaNode, value: str) -> str:
        """Write null or the other type."""
        kinds = [part.kind for part in node.children]
        others = [kind for kind in kinds if kind != "null"]
        if len(kinds) != 2 or len(others) != 1 or others[0] not in _TYPES:  # noqa: PLR2004  # null and another
            raise _UnsupportedTypeError(node.kind)
        at, given = kinds.index(others[0]), self._name("v")
        exact = f"exactly({given}, {_TYPES[others[0]].__name__})"
        parts = [repr(_number(at)), *self._parts(node.children[at], exact)]
        none = repr(_number(1 - at))
        return f"({none} if ({given} := {value}) is None else join(({', '.join(parts)},)))"

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"
