"""Events of which only selected fields are decoded; the others are loaded on first access.

A service that uses a tenth of an event does not pay for the rest. Selecting too few or the wrong fields costs
time and nothing else. Such an event is equal to the complete one and is an instance of its class. Only
selected fields are validated; a message that is unusual in any way is decoded completely. Decides nothing
about which fields are worth selecting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from .compiled_reader import FieldSelection, ReadFunction, compile_reader
from .schema_model import SchemaNode
from .validation import FieldTest, ValueTest, finite_tests, first_failing, nul_free_test

E = TypeVar("E")

PartialFactory = Callable[[Mapping[str, Any], Callable[[], E]], E]
"""Builds an event from the fields that were read and from the function that decodes all of them."""


_LOAD_ALL: Final = "_complete"
"""Attribute with the function that decodes the whole event; None once it has been called."""


def parse_field_selection(names: Iterable[str]) -> FieldSelection:
    """Parse field names: `page.url` selects the field `url` within the field `page`."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        first, _, rest = name.partition(".")
        inner = found.setdefault(first, {})
        if rest:
            inner[rest] = {}
    return {name: parse_field_selection(inner) for name, inner in found.items()}


def compile_partial_factory(event: Any, wanted: FieldSelection) -> PartialFactory[Any]:
    """Compile the function that builds partial events of a class."""
    open_twin, part = _partial_classes(event)
    names: dict[str, Any] = {"new": object.__new__, "open_twin": open_twin, "part": part}
    hints = get_type_hints(event)
    lines = [f"made.{name} = {_value_expression(name, hints[name], wanted[name], names)}" for name in wanted]
    source = "\n    ".join(
        (
            "def make(record, complete):",
            "made = new(open_twin)",
            *lines,
            f"made.{_LOAD_ALL} = complete",
            "made.__class__ = part",
            "return made",
        )
    )
    exec(source, names)  # noqa: S102  # the names of an event's own fields
    make: PartialFactory[Any] = names["make"]
    return make


def is_partial(event: object) -> bool:
    """Whether the event still has fields that were not decoded."""
    return hasattr(type(event), _LOAD_ALL) and getattr(event, _LOAD_ALL) is not None


def _value_expression(name: str, hint: Any, wanted: FieldSelection, names: dict[str, Any]) -> str:
    """Return source for a field's value, converted as in the class's own `from_record`."""
    read = f"record[{name!r}]"
    names[name + "_class"] = held = (get_args(hint) or (hint,))[0]
    if wanted:
        names[name + "_in_part"] = compile_partial_factory(held, wanted)
        return f"{name}_in_part({read}, lambda: complete().{name})"
    if get_origin(hint) is not tuple:
        return f"{name}_class.from_record({read})" if hasattr(held, "from_record") else read
    if hasattr(held, "from_record"):
        return f"tuple([{name}_class.from_record(item) for item in {read}])"
    return f"tuple(map(tuple, {read}))" if get_origin(held) is tuple else f"tuple({read})"


@cache
def _partial_classes(event: Any) -> tuple[type[Any], type[Any]]:
    """Return the class of partial events and a twin of it whose fields can be assigned."""
    fields: tuple[str, ...] = event.__slots__

    def fetch(self: Any, name: str) -> Any:
        """Decode the whole event, because a field was accessed that is not loaded yet."""
        if name not in fields:
            raise AttributeError(f"{event.__name__} has no field {name!r}")
        whole = getattr(self, _LOAD_ALL)()
        for each in fields:
            object.__setattr__(self, each, getattr(whole, each))
        object.__setattr__(self, _LOAD_ALL, None)
        return getattr(whole, name)

    def same(self: Any, other: object) -> Any:
        return self.to_record() == other.to_record() if isinstance(other, event) else NotImplemented

    def reduced(self: Any) -> tuple[Any, ...]:
        return event, tuple(getattr(self, name) for name in fields)

    def made_whole(_part: type[Any], *values: Any, **named: Any) -> Any:
        return event(*values, **named)

    slots = {"__slots__": (_LOAD_ALL,), "__hash__": event.__hash__}
    methods = {
        "__new__": made_whole,
        "__getattr__": fetch,
        "__eq__": same,
        "__reduce__": reduced,
    }
    twin = type(f"{event.__name__}InTheMaking", (event,), {**slots, "__setattr__": object.__setattr__})
    named = {"__module__": event.__module__, "__qualname__": event.__qualname__}
    return twin, type(event.__name__, (event,), {**slots, **methods, **named})


@dataclass(frozen=True, slots=True)
class PartialReader:
    """Reader of selected fields: messages of one schema to events of one class."""

    read: ReadFunction
    make: PartialFactory[Any]
    tests: tuple[FieldTest, ...]
    is_clean: ValueTest | None

    def read_event(self, value: bytes, start: int, complete: Callable[[], E]) -> E | None:
        """Return a partial event that loads its other fields by `complete`; None to decode it completely."""
        try:
            record, end = self.read(value, start)
        except Exception:  # noqa: BLE001  # whatever it is, reading it whole tells
            return None
        if end != len(value) or first_failing(self.tests, record) is not None:
            return None
        if self.is_clean is not None and not self.is_clean(record):
            return None
        event: E = self.make(record, complete)
        return event


def compile_partial_reader(node: SchemaNode, event: type[Any], only: Sequence[str]) -> PartialReader | None:
    """Compile the reader of selected fields; None where such messages must be decoded completely."""
    wanted = parse_field_selection(only)
    read = compile_reader(node, wanted)
    if read is None:
        return None
    part = _selected_schema(node, wanted)
    return PartialReader(
        read, compile_partial_factory(event, wanted), finite_tests(part), nul_free_test(part)
    )


def _selected_schema(node: SchemaNode, wanted: FieldSelection) -> SchemaNode:
    """Return a record schema reduced to the selected fields."""
    if not wanted:
        return node
    fields = (
        replace(each, node=_selected_schema(each.node, wanted[each.name]))
        for each in node.fields
        if each.name in wanted
    )
    return replace(node, fields=tuple(fields))
