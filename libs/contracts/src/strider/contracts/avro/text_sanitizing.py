"""Which text an event may carry: whatever UTF-8 can, but no NUL.

PostgreSQL stores no NUL character and many a C library ends a text there, so none gets into a
message: written ones become U+FFFD, read ones make the message bad. A lone surrogate, which UTF-8
cannot carry, becomes the same. The search for NUL joins the texts of an event and looks once, since
that costs a few microseconds for a hundred fields and a look into each field would cost more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Final

from .schema_model import SchemaNode

NUL: Final = "\0"
REPLACEMENT: Final = "\ufffd"

Test = Callable[[Any], bool]


def replace_invalid_characters(value: Any) -> Any:
    """Put U+FFFD in place of each NUL and each surrogate without its other half, at any depth."""
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


def nul_free_test(node: SchemaNode) -> Test | None:
    """Build the search for NUL in values of a type: true means that there is none."""
    if node.kind == "string":
        return lambda text: NUL not in text
    if node.kind == "record":
        return _record_test(node)
    if node.kind == "array":
        return _array_test(node.children[0])
    if node.kind == "map":
        return _map_test(node.children[0])
    inner = _optional_text_test(node)
    return None if inner is None else lambda value: value is None or inner(value)


def _optional_text_test(node: SchemaNode) -> Test | None:
    tests = [test for test in map(nul_free_test, node.children) if test is not None]
    return tests[0] if len(tests) == 1 else None


def _array_test(part: SchemaNode) -> Test | None:
    if part.kind == "string":
        return lambda texts: NUL not in "".join(texts)
    inner = nul_free_test(part)
    return None if inner is None else lambda items: all(map(inner, items))


def _map_test(part: SchemaNode) -> Test:
    values = _array_test(part)
    if values is None:
        return lambda items: NUL not in "".join(items)
    return lambda items: not items or (NUL not in "".join(items) and values(items.values()))


def _record_test(node: SchemaNode) -> Test | None:
    """Join what is text or nothing, join what are lists of texts, and look into the rest one by one."""
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
