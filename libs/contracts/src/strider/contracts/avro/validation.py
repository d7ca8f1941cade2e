"""What a value must be beyond its Avro type: finite numbers, words from checked lists.

The tests are compiled from the schema, so that fields without one cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, NamedTuple

from .schema_model import SchemaField, SchemaNode

Test = Callable[[Any], bool]
ValueLists = Mapping[str, frozenset[str]]
"""The checked lists by name."""


class FieldTest(NamedTuple):
    """A test on one field of an event."""

    field: str
    passes: Test


class _LeafTest(NamedTuple):
    """A test on a plain value, and the same on many at once (a list of eighty costs one call)."""

    one: Test
    many: Test


_FINITE = _LeafTest(isfinite, lambda values: all(map(isfinite, values)))

_FindLeafTest = Callable[[SchemaNode, SchemaField], _LeafTest | None]


def finite_tests(node: SchemaNode) -> tuple[FieldTest, ...]:
    """Refuse NaN and infinities: JSON has no word for them, and comparisons with NaN are all false."""
    return _field_tests(node, lambda part, _field: _FINITE if part.kind in ("float", "double") else None)


def allowed_value_tests(node: SchemaNode, words: ValueLists) -> tuple[FieldTest, ...]:
    """Refuse words that their list does not have, so that no typo becomes a metric label."""

    def find(part: SchemaNode, field: SchemaField) -> _LeafTest | None:
        if part.kind != "string" or field.value_list is None:
            return None
        known = allowed_values(field.value_list, field, words)
        return _LeafTest(known.__contains__, known.issuperset)

    return _field_tests(node, find)


def allowed_values(name: str, field: SchemaField, words: ValueLists) -> frozenset[str]:
    """Give what a field may say by its list; an empty default means "nothing to say" and is no word of it."""
    return words[name] | ({field.default} if isinstance(field.default, str) else frozenset())


def first_failing(tests: tuple[FieldTest, ...], record: Mapping[str, Any]) -> str | None:
    """Name the first field whose value does not pass."""
    for field, passes in tests:
        if not passes(record[field]):
            return field
    return None


def _field_tests(node: SchemaNode, find: _FindLeafTest) -> tuple[FieldTest, ...]:
    tests = ((field.name, _build(field.node, field, find)) for field in node.fields)
    return tuple(FieldTest(name, test) for name, test in tests if test is not None)


def _build(node: SchemaNode, field: SchemaField, find: _FindLeafTest) -> Test | None:
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


def _optional_test(node: SchemaNode, field: SchemaField, find: _FindLeafTest) -> Test | None:
    others = [part for part in node.children if part.kind != "null"]
    inner = _build(others[0], field, find) if len(others) == 1 else None
    return None if inner is None else lambda value: value is None or inner(value)


def _items_test(node: SchemaNode, field: SchemaField, find: _FindLeafTest) -> Test | None:
    leaf = find(node.children[0], field)
    inner = _build(node.children[0], field, find)
    if inner is None:
        return None
    many = leaf.many if leaf is not None else (lambda values: all(map(inner, values)))
    return many if node.kind == "array" else lambda values: many(values.values())
