"""Size limits: memory needed to decode a message, and maximum encoded size of an event.

A few bytes can decode to many small records. For most schemas the length of a message bounds its memory;
where it does not, the bytes are walked once without building anything, and the message is rejected when it
would exceed the budget. The bound of an encoded event is compiled from its schema: one check over all texts,
one over all numbers. A bound only says whether a value is valid; invalid values are encoded by the codec,
which reports the fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from operator import attrgetter, contains
from typing import Any, Final

from strider.contracts.errors import DecodeError

from .schema_model import SchemaField, SchemaNode
from .validation import NUL, ValueLists, ValueTest, allowed_value_tests, allowed_values

MEMORY_BUDGET_BYTES: Final = 64 * 1024 * 1024
"""Maximum memory for decoding one message."""

_RECORD_BYTES: Final = 2 * 232
"""A dict and the object built from it; each field adds to both."""
_FIELD_BYTES: Final = 2 * 64
_ENTRY_BYTES: Final = 8 + 104
"""Memory of an item's slot in its list or map."""
_TEXT_RATIO: Final = 24
"""A string of two letters takes three bytes on the wire and some sixty in memory; longer ones less."""

_FIXED_WIDTH: Final = {"float": 4, "double": 8, "boolean": 1}
_MAX_VARINT_BYTES: Final = 10
_CONTINUATION_BIT: Final = 0x80
"""Bit of a varint byte which says that another byte follows."""


def max_memory_ratio(node: SchemaNode) -> float:
    """Return the maximum number of bytes of memory that one byte of a message can become."""
    ratios = [float(_TEXT_RATIO), *(max_memory_ratio(part) for part in _children(node))]
    if node.kind in ("array", "map"):
        ratios.append(item_bytes(node.children[0]) / max(1, node.children[0].min_bytes))
    return max(ratios)


def item_bytes(node: SchemaNode) -> int:
    """Estimate the memory of the smallest value of a type as an item of a list."""
    own = _RECORD_BYTES + _FIELD_BYTES * len(node.fields) if node.kind == "record" else 0
    children = 0 if node.kind == "union" else sum(item_bytes(field.node) for field in node.fields)
    return _ENTRY_BYTES * (node.kind != "null") + own + children


def require_within_memory_budget(node: SchemaNode, value: bytes, start: int) -> None:
    """Raise DecodeError when the items of a message would exceed the memory budget."""
    _MemoryEstimator(value, start).add_value(node)


def _children(node: SchemaNode) -> tuple[SchemaNode, ...]:
    return (*node.children, *(field.node for field in node.fields))


class _MemoryEstimator:
    """Position in the bytes, and estimated memory of the items passed so far."""

    def __init__(self, value: bytes, start: int) -> None:
        self._value = value
        self._at = start
        self._estimated_bytes = 0

    def add_value(self, node: SchemaNode) -> None:
        """Walk over one value."""
        if node.kind == "record":
            for field in node.fields:
                self.add_value(field.node)
        elif node.kind == "union":
            branch = self._number()
            if not 0 <= branch < len(node.children):
                raise DecodeError("bad_value", f"branch {branch} of a union of {len(node.children)}")
            self.add_value(node.children[branch])
        elif node.kind in ("array", "map"):
            self._add_blocks(node)
        elif node.kind in ("string", "bytes"):
            self._skip(self._number())
        elif node.kind in ("int", "long", "enum"):
            self._number()
        else:
            self._skip(_FIXED_WIDTH.get(node.kind, node.size))

    def _add_blocks(self, node: SchemaNode) -> None:
        item = node.children[0]
        cost = item_bytes(item)
        while count := self._number():
            if count < 0:
                count = -count
                self._number()  # the block's size in bytes, not needed here
            for _ in range(count):
                self._estimated_bytes += cost
                if self._estimated_bytes > MEMORY_BUDGET_BYTES:
                    raise DecodeError(
                        "too_large", f"its items need over {MEMORY_BUDGET_BYTES >> 20} MiB of memory"
                    )
                if node.kind == "map":
                    self._skip(self._number())
                self.add_value(item)

    def _skip(self, length: int) -> None:
        if length < 0:
            raise DecodeError("bad_value", f"a length of {length}")
        self._at += length
        if self._at > len(self._value):
            raise DecodeError("truncated", f"{self._at - len(self._value)} bytes are missing")

    def _number(self) -> int:
        number = 0
        for position in range(_MAX_VARINT_BYTES):
            if self._at >= len(self._value):
                raise DecodeError("truncated", "the bytes end within a number")
            byte = self._value[self._at]
            self._at += 1
            number |= (byte & 0x7F) << 7 * position
            if byte < _CONTINUATION_BIT:
                return (number >> 1) ^ -(number & 1)
        raise DecodeError("bad_value", f"a number of more than {_MAX_VARINT_BYTES} bytes")


UNKNOWN_SIZE: Final = 1 << 62
"""Larger than any size: marks values that must be encoded to be validated."""

_ITEM_BYTES: Final = 10
"""Longest encoding of a number or a length: overhead of each value beside its characters."""

_INT: Final = range(-(1 << 31), 1 << 31)
_LONG: Final = range(-(1 << 63), 1 << 63)

SizeBound = Callable[[Any], int]
"""Returns the maximum size of a value, or UNKNOWN_SIZE; may raise what `unknown_on_error` catches."""

CachedBound = Callable[[object], int | None]
"""Returns the bound of an event that was computed before, or None."""

_FieldsBound = Callable[[Any], int]
"""Returns the maximum size of some fields of an event."""


def unknown_on_error(bound: SizeBound) -> SizeBound:
    """Return UNKNOWN_SIZE for values that cannot be inspected; encoding them reports the fault."""

    def judge(event: Any) -> int:
        try:
            return bound(event)
        except (TypeError, ValueError, AttributeError, OverflowError):
            return UNKNOWN_SIZE

    return judge


def compile_record_bound(node: SchemaNode, value_lists: ValueLists, known: CachedBound) -> SizeBound:
    """Compile the bound of a record, which is given as an object with its fields."""
    parts = tuple(_field_bounds(node.fields, value_lists, known))

    def bound(event: Any) -> int:
        size_bytes = 0
        for part in parts:
            size_bytes += part(event)
        return size_bytes

    return bound


def _field_bounds(
    fields: Sequence[SchemaField], value_lists: ValueLists, known: CachedBound
) -> Iterator[_FieldsBound]:
    kinds: dict[tuple[str, str], list[str]] = {}
    others: list[SchemaField] = []
    for field in fields:
        shape, kind = _shape_and_kind(field.node)
        if kind in _BOUNDS_OF_MANY:
            kinds.setdefault((shape, kind), []).append(field.name)
        else:
            others.append(field)
    yield from _allowed_value_bounds(fields, value_lists)
    for (shape, kind), names in kinds.items():
        yield _SHAPES[shape](_getter(names), _BOUNDS_OF_MANY[kind])
    for field in others:
        yield _single(attrgetter(field.name), _bound_of(field.node, value_lists, known))


def _shape_and_kind(node: SchemaNode) -> tuple[str, str]:
    """Return how a field holds its values, and their kind."""
    if node.kind in ("array", "map"):
        return node.kind, node.children[0].kind
    if node.kind == "union" and [part.kind for part in node.children].count("null") == len(node.children) - 1:
        return "optional", next(part.kind for part in node.children if part.kind != "null")
    return "plain", node.kind


def _allowed_value_bounds(fields: Sequence[SchemaField], value_lists: ValueLists) -> Iterator[_FieldsBound]:
    """Return UNKNOWN_SIZE for values that are not in their field's list."""
    plain = [
        (f.name, allowed_values(f.value_list, f, value_lists))
        for f in fields
        if f.value_list and f.node.kind == "string"
    ]
    if plain:
        yield _allowed_texts([name for name, _ in plain], [known for _, known in plain])
    rest = tuple(
        field for field in fields if field.value_list and field.node.kind not in ("string", "record")
    )
    for name, passes in allowed_value_tests(SchemaNode("record", fields=rest), value_lists):
        yield _tested(attrgetter(name), passes)


def _allowed_texts(names: list[str], lists: Sequence[frozenset[str]]) -> _FieldsBound:
    get = _getter(names)
    return lambda event: 0 if all(map(contains, lists, get(event))) else UNKNOWN_SIZE


def _tested(get: Callable[[Any], Any], passes: ValueTest) -> _FieldsBound:
    return lambda event: 0 if passes(get(event)) else UNKNOWN_SIZE


def _plain(get: Callable[[Any], Sequence[Any]], many: SizeBound) -> _FieldsBound:
    return lambda event: many(get(event))


def _optional(get: Callable[[Any], Sequence[Any]], many: SizeBound) -> _FieldsBound:
    def part(event: Any) -> int:
        values = get(event)
        return len(values) + many([value for value in values if value is not None])

    return part


def _arrays(get: Callable[[Any], Sequence[Any]], many: SizeBound) -> _FieldsBound:
    def part(event: Any) -> int:
        size_bytes = 0
        for items in get(event):
            size_bytes += many(items) + _ITEM_BYTES if items else 1
        return size_bytes

    return part


def _maps(get: Callable[[Any], Sequence[Any]], many: SizeBound) -> _FieldsBound:
    def part(event: Any) -> int:
        return sum(_map_bytes(value, many) if value else 1 for value in get(event))

    return part


def _map_bytes(value: Mapping[str, Any], many: SizeBound) -> int:
    return _texts([*value]) + many([*value.values()]) + _ITEM_BYTES


_SHAPES: Final = {"plain": _plain, "optional": _optional, "array": _arrays, "map": _maps}


def _single(get: Callable[[Any], Any], bound: SizeBound) -> _FieldsBound:
    return lambda event: bound(get(event))


def _bound_of(node: SchemaNode, value_lists: ValueLists, known: CachedBound) -> SizeBound:
    """Compile the bound of one value of a kind that is not handled together with others."""
    if node.kind == "record":
        return _cached_record(compile_record_bound(node, value_lists, known), known)
    if node.kind in ("array", "map"):
        inner = node.children[0]
        many = _BOUNDS_OF_MANY.get(inner.kind) or _sum_of_items(_bound_of(inner, value_lists, known))
        if node.kind == "map":
            return lambda value: _map_bytes(value, many)
        return lambda items: many(items) + _ITEM_BYTES
    return lambda _value: UNKNOWN_SIZE


def _cached_record(bound: SizeBound, known: CachedBound) -> SizeBound:
    """Use the cached bound of an event that was encoded by itself before."""

    def judge(event: Any) -> int:
        size_bytes = known(event)
        return bound(event) if size_bytes is None else size_bytes

    return judge


def _sum_of_items(bound: SizeBound) -> SizeBound:
    return lambda items: sum(map(bound, items))


def _texts(texts: Sequence[str]) -> int:
    text = "".join(texts)
    if NUL in text:
        return UNKNOWN_SIZE
    size_bytes = len(text) if text.isascii() else len(text.encode())  # raises ValueError for a lone surrogate
    return size_bytes + _ITEM_BYTES * len(texts)


def _bytes(values: Sequence[bytes]) -> int:
    return sum(map(len, values)) + _ITEM_BYTES * len(values) if _all_of_type(bytes, values) else UNKNOWN_SIZE


def _ints(numbers: Sequence[int]) -> int:
    return _whole(numbers, _INT)


def _longs(numbers: Sequence[int]) -> int:
    return _whole(numbers, _LONG)


def _whole(numbers: Sequence[int], within: range) -> int:
    if not numbers:
        return 0
    fit = _all_of_type(int, numbers) and min(numbers) in within and max(numbers) in within
    return _ITEM_BYTES * len(numbers) if fit else UNKNOWN_SIZE


def _booleans(values: Sequence[bool]) -> int:
    return len(values) if _all_of_type(bool, values) else UNKNOWN_SIZE


def _doubles(values: Sequence[float]) -> int:
    return (
        _ITEM_BYTES * len(values)
        if _all_of_type(float, values) and all(map(isfinite, values))
        else UNKNOWN_SIZE
    )


def _all_of_type(kind: type, values: Iterable[object]) -> bool:
    return {kind}.issuperset(map(type, values))


_BOUNDS_OF_MANY: Final[Mapping[str, SizeBound]] = {
    "string": _texts,
    "bytes": _bytes,
    "int": _ints,
    "long": _longs,
    "boolean": _booleans,
    "double": _doubles,
}


def _getter(names: list[str]) -> Callable[[Any], Sequence[Any]]:
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda event: (get(event),)
