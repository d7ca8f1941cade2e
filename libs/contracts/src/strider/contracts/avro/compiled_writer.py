"""Compile a schema to a Python function that writes its records as Avro binary.

A library that interprets the schema for each event takes three times as long, and encoding is the largest
part of an event's cost. Only values that are exactly as expected are written here: a compiled function raises
on anything else, and the caller falls back to fastavro, which writes the value or reports the fault. Schemas
with types that our events do not use get no function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from struct import Struct
from typing import Any, Final

from .schema_model import SchemaNode

WriteFunction = Callable[[Any], bytes]
"""Returns the bytes of a value, or raises any exception."""

_CACHED_NUMBERS: Final = 1_024
"""Numbers below this are looked up: nearly all lengths and most counts."""
_INT_LIMIT: Final = 2**31
_LONG_LIMIT: Final = 2**63


_ZIGZAG_OF_BYTE: Final = bytes([*range(0, 128, 2), *(255 for _ in range(64, 256))])
"""Zigzag encoding of one-byte numbers; numbers that need two bytes map outside of ASCII."""


def compile_writer(node: SchemaNode) -> WriteFunction | None:
    """Return the writer of a schema; None where it has a type that only fastavro writes."""
    source = _WriterSource()
    try:
        name = source.function(node)
    except _UnwritableTypeError:
        return None
    exec("\n".join(source.functions), source.names)  # noqa: S102  # names are ours, and of schemas we have read
    found: WriteFunction = source.names[name]
    return found


class _UnwritableTypeError(Exception):
    """A type that only fastavro writes."""


def _write_long(value: int) -> bytes:
    """Encode a long: zigzag, seven bits a byte, least significant first."""
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
    return _write_long(value)


def _require_type(value: Any, kind: type) -> Any:
    """Return the value if it has exactly this type; fastavro chooses the union branch otherwise."""
    if type(value) is not kind:
        raise TypeError(kind)
    return value


def _write_array(items: Iterable[Any], write: WriteFunction) -> bytes:
    found = [write(item) for item in items]
    return b"".join((_write_long(len(found)), *found, b"\0")) if found else b"\0"


def _write_strings(items: Iterable[str]) -> bytes:
    """Encode an array of strings; a page has hundreds."""
    found: list[bytes] = []
    for text in items:
        encoded = text.encode()
        found += (
            _write_long(len(encoded)) if len(encoded) >= _CACHED_NUMBERS else _ENCODED_NUMBERS[len(encoded)],
            encoded,
        )
    return b"".join((_write_long(len(found) // 2), *found, b"\0")) if found else b"\0"


def _write_small_numbers(items: Sequence[int], write: WriteFunction) -> bytes:
    """Encode an array of integers, most of which are small and not negative: one byte each."""
    count = len(items)  # an iterable without a length raises here
    try:
        single = bytes(items).translate(_ZIGZAG_OF_BYTE)
    except ValueError:
        return _write_array(items, write)
    if not single.isascii():
        return _write_array(items, write)
    return b"".join((_write_long(count), single, b"\0")) if count else b"\0"


def _write_map(items: Mapping[str, Any], write: WriteFunction) -> bytes:
    found: list[bytes] = []
    for name, item in items.items():
        encoded = name.encode()
        found += (_write_long(len(encoded)), encoded, write(item))
    return b"".join((_write_long(len(items)), *found, b"\0")) if found else b"\0"


_ENCODED_NUMBERS: Final = tuple(map(_write_long, range(_CACHED_NUMBERS)))
_SIMPLE_WRITES: Final = {"boolean": '(b"\\x01" if {} else b"\\x00")', "double": "double({})"}
_PYTHON_TYPES: Final = {"string": str, "bytes": bytes, "int": int, "long": int, "double": float}


class _WriterSource:
    """Source of the compiled functions and the names that they use."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self._count = 0
        self.names: dict[str, Any] = {
            "small": _ENCODED_NUMBERS,
            "number": _write_long,
            "number32": _write_int,
            "double": Struct("<d").pack,
            "exactly": _require_type,
            "array": _write_array,
            "strings": _write_strings,
            "small_numbers": _write_small_numbers,
            "map_of": _write_map,
            "join": b"".join,
            **{kind.__name__: kind for kind in _PYTHON_TYPES.values()},
        }

    def function(self, node: SchemaNode) -> str:
        """Generate a function that encodes a value of a type; returns its name."""
        if node.kind == "record":
            parts = [part for f in node.fields for part in self._parts(f.node, f"value[{f.name!r}]")]
        else:
            parts = self._parts(node, "value")
        name = self._unique_name("write")
        body = parts[0] if len(parts) == 1 else f"join(({', '.join(parts)},))"
        self.functions.append(f"def {name}(value):\n    return {body}")
        return name

    def _parts(self, node: SchemaNode, value: str) -> list[str]:
        """Return expressions whose bytes are concatenated; `value` is evaluated once."""
        kind = node.kind
        if kind in {"string", "bytes"}:
            return self._sized(f"{value}.encode()" if kind == "string" else f"exactly({value}, bytes)")
        if kind in {"int", "long"}:
            number, write = self._unique_name("n"), "number32" if kind == "int" else "number"
            return [
                f"(small[{number}] if 0 <= ({number} := {value}) < {_CACHED_NUMBERS} else {write}({number}))"
            ]
        if kind in {"array", "map"}:
            return [self._collection(node, value)]
        if kind == "union":
            return [self._optional(node, value)]
        if kind == "record":
            return [f"{self.function(node)}({value})"]
        if kind not in _SIMPLE_WRITES:
            raise _UnwritableTypeError(kind)
        return [_SIMPLE_WRITES[kind].format(value)]

    def _sized(self, encoded: str) -> list[str]:
        content, length = self._unique_name("b"), self._unique_name("n")
        size = f"({length} := len({content} := {encoded}))"
        return [f"(small[{length}] if {size} < {_CACHED_NUMBERS} else number({length}))", content]

    def _collection(self, node: SchemaNode, value: str) -> str:
        if node.kind == "map":
            return f"map_of({value}, {self.function(node.children[0])})"
        if node.children[0].kind == "string":
            return f"strings({value})"
        if node.children[0].kind in {"int", "long"}:
            return f"small_numbers({value}, {self.function(node.children[0])})"
        return f"array({value}, {self.function(node.children[0])})"

    def _optional(self, node: SchemaNode, value: str) -> str:
        """Return the expression that encodes null or the other type of a union."""
        kinds = [part.kind for part in node.children]
        others = [kind for kind in kinds if kind != "null"]
        if len(kinds) != 2 or len(others) != 1 or others[0] not in _PYTHON_TYPES:  # noqa: PLR2004  # null and another
            raise _UnwritableTypeError(node.kind)
        at, given = kinds.index(others[0]), self._unique_name("v")
        exact = f"exactly({given}, {_PYTHON_TYPES[others[0]].__name__})"
        parts = [repr(_write_long(at)), *self._parts(node.children[at], exact)]
        none = repr(_write_long(1 - at))
        return f"({none} if ({given} := {value}) is None else join(({', '.join(parts)},)))"

    def _unique_name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"
