"""How many bytes an event takes at most, if every value of it is seen to fit its schema.

The judgement is compiled from the schema, by kinds: one look at all texts of an event, one at all of
its numbers. It never says what is wrong: what it doubts is written by the codec, which does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from operator import attrgetter, contains
from typing import Any, Final

from .schema_model import SchemaField, SchemaNode
from .text_sanitizing import NUL
from .validation import Test, ValueLists, allowed_value_tests, allowed_values

UNKNOWN_SIZE: Final = 1 << 62
"""A size that nothing has: of what has to be written to be judged."""

_ITEM_BYTES: Final = 10
"""Longest encoding of a number, and of a length: what each value takes beside its characters."""

_INT: Final = range(-(1 << 31), 1 << 31)
_LONG: Final = range(-(1 << 63), 1 << 63)

SizeBound = Callable[[Any], int]
"""Gives the most bytes that a value takes, or DOUBT. May raise what `guarded` takes for doubt."""

CachedBound = Callable[[object], int | None]
"""Gives the bound of an event that was judged before."""

_Part = Callable[[Any], int]
"""Judges some fields of an event."""


def unknown_on_error(bound: SizeBound) -> SizeBound:
    """Doubt what cannot even be looked at: writing it tells what is wrong."""

    def judge(event: Any) -> int:
        try:
            return bound(event)
        except (TypeError, ValueError, AttributeError, OverflowError):
            return UNKNOWN_SIZE

    return judge


def compile_record_bound(node: SchemaNode, words: ValueLists, known: CachedBound) -> SizeBound:
    """Compile the judgement of a record, given as an object with its fields."""
    parts = tuple(_parts(node.fields, words, known))

    def bound(event: Any) -> int:
        size_bytes = 0
        for part in parts:
            size_bytes += part(event)
        return size_bytes

    return bound


def _parts(fields: Sequence[SchemaField], words: ValueLists, known: CachedBound) -> Iterator[_Part]:
    kinds: dict[tuple[str, str], list[str]] = {}
    others: list[SchemaField] = []
    for field in fields:
        shape, kind = _shape_and_kind(field.node)
        if kind in _BOUNDS_OF_MANY:
            kinds.setdefault((shape, kind), []).append(field.name)
        else:
            others.append(field)
    yield from _allowed_value_bounds(fields, words)
    for (shape, kind), names in kinds.items():
        yield _SHAPES[shape](_getter(names), _BOUNDS_OF_MANY[kind])
    for field in others:
        yield _single(attrgetter(field.name), _bound_of(field.node, words, known))


def _shape_and_kind(node: SchemaNode) -> tuple[str, str]:
    """Tell how a field's values are held, and of what kind they are."""
    if node.kind in ("array", "map"):
        return node.kind, node.children[0].kind
    if node.kind == "union" and [part.kind for part in node.children].count("null") == len(node.children) - 1:
        return "optional", next(part.kind for part in node.children if part.kind != "null")
    return "plain", node.kind


def _allowed_value_bounds(fields: Sequence[SchemaField], words: ValueLists) -> Iterator[_Part]:
    """Doubt words that are not in their field's list."""
    plain = [
        (f.name, allowed_values(f.value_list, f, words))
        for f in fields
        if f.value_list and f.node.kind == "string"
    ]
    if plain:
        yield _words([name for name, _ in plain], [known for _, known in plain])
    rest = tuple(
        field for field in fields if field.value_list and field.node.kind not in ("string", "record")
    )
    for name, passes in allowed_value_tests(SchemaNode("record", fields=rest), words):
        yield _tested(attrgetter(name), passes)


def _words(names: list[str], lists: Sequence[frozenset[str]]) -> _Part:
    get = _getter(names)
    return lambda event: 0 if all(map(contains, lists, get(event))) else UNKNOWN_SIZE


def _tested(get: Callable[[Any], Any], passes: Test) -> _Part:
    return lambda event: 0 if passes(get(event)) else UNKNOWN_SIZE


def _plain(get: Callable[[Any], Sequence[Any]], many: SizeBound) -> _Part:
    return lambda event: many(get(event))


def _optional(get: Callable[[Any], Sequence[Any]], many: SizeBound) -> _Part:
    def part(event: Any) -> int:
        values = get(event)
        return len(values) + many([value for value in values if value is not None])

    return part


def _arrays(get: Callable[[Any], Sequence[Any]], many: SizeBound) -> _Part:
    def part(event: Any) -> int:
        size_bytes = 0
        for items in get(event):
            size_bytes += many(items) + _ITEM_BYTES if items else 1
        return size_bytes

    return part


def _maps(get: Callable[[Any], Sequence[Any]], many: SizeBound) -> _Part:
    def part(event: Any) -> int:
        return sum(_map_bytes(value, many) if value else 1 for value in get(event))

    return part


def _map_bytes(value: Mapping[str, Any], many: SizeBound) -> int:
    return _texts([*value]) + many([*value.values()]) + _ITEM_BYTES


_SHAPES: Final = {"plain": _plain, "optional": _optional, "array": _arrays, "map": _maps}


def _single(get: Callable[[Any], Any], bound: SizeBound) -> _Part:
    return lambda event: bound(get(event))


def _bound_of(node: SchemaNode, words: ValueLists, known: CachedBound) -> SizeBound:
    """Judge one value of a kind that is not looked at together with others."""
    if node.kind == "record":
        return _nested(compile_record_bound(node, words, known), known)
    if node.kind in ("array", "map"):
        inner = node.children[0]
        many = _BOUNDS_OF_MANY.get(inner.kind) or _each(_bound_of(inner, words, known))
        if node.kind == "map":
            return lambda value: _map_bytes(value, many)
        return lambda items: many(items) + _ITEM_BYTES
    return lambda _value: UNKNOWN_SIZE


def _nested(bound: SizeBound, known: CachedBound) -> SizeBound:
    """Believe what was judged when it was said itself."""

    def judge(event: Any) -> int:
        size_bytes = known(event)
        return bound(event) if size_bytes is None else size_bytes

    return judge


def _each(bound: SizeBound) -> SizeBound:
    return lambda items: sum(map(bound, items))


def _texts(texts: Sequence[str]) -> int:
    text = "".join(texts)
    if NUL in text:
        return UNKNOWN_SIZE
    size_bytes = len(text) if text.isascii() else len(text.encode())  # ValueError: half a character
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
