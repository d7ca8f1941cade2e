"""Events of which only some fields were read: the others come by themselves, once somebody asks for one.

A service that looks at a tenth of an event need not pay for the rest of it; and whoever names too few
fields, or the wrong ones, has lost time and nothing else. Such an event is equal to the whole one, and
is of its class. Decides nothing about which fields are worth it; knows no bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

E = TypeVar("E")

FieldSelection = Mapping[str, Any]
"""Fields by name, each with the fields that are wanted within it; empty where it is wanted whole."""

PartialFactory = Callable[[Mapping[str, Any], Callable[[], E]], E]
"""Makes an event of the fields that were read, and of what reads it whole."""


def parse_field_selection(names: Iterable[str]) -> FieldSelection:
    """Take names apart: `page.url` is the field `url` within the field `page`."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        first, _, rest = name.partition(".")
        inner = found.setdefault(first, {})
        if rest:
            inner[rest] = {}
    return {name: parse_field_selection(inner) for name, inner in found.items()}


def compile_partial_factory(event: Any, wanted: FieldSelection) -> PartialFactory[Any]:
    """Give what makes events of a class in part."""
    open_twin, part = _partial_classes(event)
    names: dict[str, Any] = {"new": object.__new__, "open_twin": open_twin, "part": part}
    hints = get_type_hints(event)
    lines = [f"made.{name} = {_value(name, hints[name], wanted[name], names)}" for name in wanted]
    source = "\n    ".join(
        (
            "def make(record, complete):",
            "made = new(open_twin)",
            *lines,
            f"made.{_COMPLETE} = complete",
            "made.__class__ = part",
            "return made",
        )
    )
    exec(source, names)  # noqa: S102  # the names of an event's own fields
    make: PartialFactory[Any] = names["make"]
    return make


def is_partial(event: object) -> bool:
    """Whether there are fields that nobody has asked for yet."""
    return hasattr(type(event), _LOAD_ALL) and getattr(event, _LOAD_ALL) is not None


_LOAD_ALL: Final = "_complete"
"""What reads an event in part as a whole; None once that was done."""


def _value(name: str, hint: Any, wanted: FieldSelection, names: dict[str, Any]) -> str:
    """Write how a field's value follows from what was read, as in the class's own `from_record`."""
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
    """Give the class of events in part, and its twin whose fields may be set."""
    fields: tuple[str, ...] = event.__slots__

    def fetch(self: Any, name: str) -> Any:
        """Read the event whole: a field was asked for that is not there."""
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
