"""Validation of values beyond their Avro type: finite numbers, allowed values, text.

The tests are compiled from the schema, so that fields without one cost nothing. Text may not contain NUL:
PostgreSQL cannot store it and many C libraries end a text there. On encoding, NUL and lone surrogates (which
UTF-8 cannot carry) become U+FFFD; on decoding, NUL makes the message invalid. The search for NUL joins the
texts of an event and runs once: that takes a few microseconds for a hundred fields, a search in each field
would take longer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from operator import itemgetter
from typing import Any, Final, NamedTuple

from .schema_model import SchemaField, SchemaNode

ValueTest = Callable[[Any], bool]
ValueLists = Mapping[str, frozenset[str]]
"""Allowed values by the name of their list."""


class FieldTest(NamedTuple):
    """A test on one field of an event."""

    field: str
    passes: ValueTest


class _LeafTest(NamedTuple):
    """A test on a plain value, and on many at once (a list of eighty takes one call)."""

    one: ValueTest
    many: ValueTest


_FINITE = _LeafTest(isfinite, lambda values: all(map(isfinite, values)))

_FindLeafTest = Callable[[SchemaNode, SchemaField], _LeafTest | None]


def finite_tests(node: SchemaNode) -> tuple[FieldTest, ...]:
    """Return tests that refuse NaN and infinities: JSON has no form for them, and comparisons with NaN are
    false.
    """
    return _field_tests(node, lambda part, _field: _FINITE if part.kind in ("float", "double") else None)


def allowed_value_tests(node: SchemaNode, value_lists: ValueLists) -> tuple[FieldTest, ...]:
    """Return tests that refuse values outside their list, so that no typo becomes a metric label."""

    def find(part: SchemaNode, field: SchemaField) -> _LeafTest | None:
        if part.kind != "string" or field.value_list is None:
            return None
        known = allowed_values(field.value_list, field, value_lists)
        return _LeafTest(known.__contains__, known.issuperset)

    return _field_tests(node, find)


def allowed_values(name: str, field: SchemaField, value_lists: ValueLists) -> frozenset[str]:
    """Return the allowed values of a field; an empty default means "none" and is allowed as well."""
    return value_lists[name] | ({field.default} if isinstance(field.default, str) else frozenset())


def first_failing(tests: tuple[FieldTest, ...], record: Mapping[str, Any]) -> str | None:
    """Return the name of the first field whose value does not pass, or None."""
    for field, passes in tests:
        if not passes(record[field]):
            return field
    return None


def _field_tests(node: SchemaNode, find: _FindLeafTest) -> tuple[FieldTest, ...]:
    tests = ((field.name, _build_test(field.node, field, find)) for field in node.fields)
    return tuple(FieldTest(name, test) for name, test in tests if test is not None)


def _build_test(node: SchemaNode, field: SchemaField, find: _FindLeafTest) -> ValueTest | None:
    if node.kind == "record":
        return _record_test(_field_tests(node, find))
    if node.kind == "union":
        return _optional_test(node, field, find)
    if node.kind in ("array", "map"):
        return _items_test(node, field, find)
    leaf = find(node, field)
    return None if leaf is None else leaf.one


def _record_test(tests: tuple[FieldTest, ...]) -> ValueTest | None:
    return (lambda record: first_failing(tests, record) is None) if tests else None


def _optional_test(node: SchemaNode, field: SchemaField, find: _FindLeafTest) -> ValueTest | None:
    others = [part for part in node.children if part.kind != "null"]
    inner = _build_test(others[0], field, find) if len(others) == 1 else None
    return None if inner is None else lambda value: value is None or inner(value)


def _items_test(node: SchemaNode, field: SchemaField, find: _FindLeafTest) -> ValueTest | None:
    leaf = find(node.children[0], field)
    inner = _build_test(node.children[0], field, find)
    if inner is None:
        return None
    many = leaf.many if leaf is not None else (lambda values: all(map(inner, values)))
    return many if node.kind == "array" else lambda values: many(values.values())


NUL: Final = "\0"
REPLACEMENT: Final = "\ufffd"


def replace_invalid_characters(value: Any) -> Any:
    """Replace each NUL and each lone surrogate by U+FFFD, at any depth."""
    if isinstance(value, str):
        whole = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole.replace(NUL, REPLACEMENT)
    if isinstance(value, Mapping):
        return {
            replace_invalid_characters(name): replace_invalid_characters(item) for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [replace_invalid_characters(item) for item in value]
    return value


def nul_free_test(node: SchemaNode) -> ValueTest | None:
    """Compile a test that is true where a value contains no NUL; None where it cannot contain any."""
    if node.kind == "string":
        return lambda text: NUL not in text
    if node.kind == "record":
        return _nul_free_record_test(node)
    if node.kind == "array":
        return _nul_free_array_test(node.children[0])
    if node.kind == "map":
        return _nul_free_map_test(node.children[0])
    inner = _optional_text_test(node)
    return None if inner is None else lambda value: value is None or inner(value)


def _optional_text_test(node: SchemaNode) -> ValueTest | None:
    tests = [test for test in map(nul_free_test, node.children) if test is not None]
    return tests[0] if len(tests) == 1 else None


def _nul_free_array_test(part: SchemaNode) -> ValueTest | None:
    if part.kind == "string":
        return lambda texts: NUL not in "".join(texts)
    inner = nul_free_test(part)
    return None if inner is None else lambda items: all(map(inner, items))


def _nul_free_map_test(part: SchemaNode) -> ValueTest:
    values = _nul_free_array_test(part)
    if values is None:
        return lambda items: NUL not in "".join(items)
    return lambda items: not items or (NUL not in "".join(items) and values(items.values()))


def _nul_free_record_test(node: SchemaNode) -> ValueTest | None:
    """Compile the test of a record: join texts, join lists of texts, test the other fields one by one."""
    plain = _getter([field.name for field in node.fields if _is_text(field.node)])
    lists = _getter([field.name for field in node.fields if _is_text_list(field.node)])
    others = tuple(
        (field.name, passes)
        for field in node.fields
        if not _is_text(field.node) and not _is_text_list(field.node)
        if (passes := nul_free_test(field.node)) is not None
    )

    def test(record: Mapping[str, Any]) -> bool:
        return (
            NUL not in "".join(filter(None, plain(record)))
            and NUL not in "".join(map("".join, lists(record)))
            and all(passes(record[name]) for name, passes in others)
        )

    return test if others or any(_is_text(f.node) or _is_text_list(f.node) for f in node.fields) else None


def _is_text(node: SchemaNode) -> bool:
    return node.kind == "string" or {part.kind for part in node.children} == {"null", "string"}


def _is_text_list(node: SchemaNode) -> bool:
    return node.kind == "array" and node.children[0].kind == "string"


def _getter(names: list[str]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    if not names:
        return lambda _record: ()
    if len(names) == 1:
        return lambda record: (record[names[0]],)
    return itemgetter(*names)
