"""What a value must be beyond its Avro type: finite numbers, words from checked lists.

The tests are compiled from the schema, so that fields without one cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, NamedTuple

from .book_nodes import Field, Node

Test = Callable[[Any], bool]
Words = Mapping[str, frozenset[str]]
"""The checked lists by name."""


class FieldTest(NamedTuple):
    """A test on one field of an event."""

    field: str
    passes: Test


class _Leaf(NamedTuple):
    """A test on a plain value, and the same on many at once (a list of eighty costs one call)."""

    one: Test
    many: Test


_FINITE = _Leaf(isfinite, lambda values: all(map(isfinite, values)))

_FindLeaf = Callable[[Node, Field], _Leaf | None]


def finite_tests(node: Node) -> tuple[FieldTest, ...]:
    """Refuse NaN and infinities: JSON has no word for them, and comparisons with NaN are all false."""
    return _field_tests(node, lambda part, _field: _FINITE if part.kind in ("float", "double") else None)


def word_tests(node: Node, words: Words) -> tuple[FieldTest, ...]:
    """Refuse words that their list does not have, so that no typo becomes a metric label."""

    def find(part: Node, field: Field) -> _Leaf | None:
        if part.kind != "string" or field.words is None:
            return None
        known = words_of(field.words, field, words)
        return _Leaf(known.__contains__, known.issuperset)

    return _field_tests(node, find)


def words_of(name: str, field: Field, words: Words) -> frozenset[str]:
    """Give what a field may say by its list; an empty default means "nothing to say" and is no word of it."""
    return words[name] | ({field.default} if isinstance(field.default, str) else frozenset())


def first_failing(tests: tuple[FieldTest, ...], record: Mapping[str, Any]) -> str | None:
    """Name the first field whose value does not pass."""
    for field, passes in tests:
        if not passes(record[field]):
            return field
    return None


def _field_tests(node: Node, find: _FindLeaf) -> tuple[FieldTest, ...]:
    tests = ((field.name, _build(field.node, field, find)) for field in node.fields)
    return tuple(FieldTest(name, test) for name, test in tests if test is not None)


def _build(node: Node, field: Field, find: _FindLeaf) -> Test | None:
    if node.kind == "record":
        return _record_test(_field_tests(node, find))
    if node.kind == "union":
        return _optional_test(node, field, find)
    if node.kind in ("array", "map"):
        return _items_test(node, field, find)
    leaf = find(node, field)
    return None if leaf is None else leaf.one


def _record_test(tests: tuple[FieldTest, ...]) -> Test | None:
    return (lambda record: first_failing(tests, record) is None) if tests else None


def _optional_test(node: Node, field: Field, find: _FindLeaf) -> Test | None:
    others = [part for part in node.parts if part.kind != "null"]
    inner = _build(others[0], field, find) if len(others) == 1 else None
    return None if inner is None else lambda value: value is None or inner(value)


def _items_test(node: Node, field: Field, find: _FindLeaf) -> Test | None:
    leaf = find(node.parts[0], field)
    inner = _build(node.parts[0], field, find)
    if inner is None:
        return None
    many = leaf.many if leaf is not None else (lambda values: all(map(inner, values)))
    return many if node.kind == "array" else lambda values: many(values.values())
