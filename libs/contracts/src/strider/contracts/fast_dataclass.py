"""Frozen dataclasses that are created and copied at half the usual cost.

A frozen dataclass sets each field by a function call, and copying one looks up each field by name: that was a
tenth of the time of a crawl. Here an instance belongs to a mutable twin class with the same slots while it is
created, and to its own class once all fields are set. Methods that are equal for all classes (comparison,
repr, refusal of changes) are shared closures and not compiled for each class: that saves nine tenths of the
cost of declaring a dataclass, and a process declares hundreds at startup. Must not know schemas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

__all__ = ["fast_dataclass", "replace_fields"]

T = TypeVar("T")

if TYPE_CHECKING:
    # Type checkers see the standard names.
    from dataclasses import dataclass as fast_dataclass
    from dataclasses import replace as replace_fields
else:

    def fast_dataclass(*, frozen: bool, slots: bool) -> Callable[[type[T]], type[T]]:
        """Make a class a frozen, slotted dataclass that is fast to create and to copy."""
        if not (frozen and slots):
            raise TypeError("fast_dataclass requires frozen=True and slots=True")
        return _build_class

    def replace_fields(event: Any, /, **changes: Any) -> Any:
        """Return a copy of an instance with some fields replaced."""
        return event.__replace__(**changes)


_SOURCE: Final = """
def __init__(self{arguments}):
    _move(self, "__class__", _twin)
    {assignments}
    self.__class__ = _own

def __replace__(self, /, **changes):
    made = _new(_twin)
    {copies}
    for name, value in changes.items():
        setattr(made, name, value)
    made.__class__ = _own
    return made
"""


def _build_class(declared: type[T]) -> type[T]:
    own = dataclass(init=False, repr=False, eq=False, slots=True)(declared)
    own.__dataclass_params__.frozen = True  # type: ignore[attr-defined]  # for subclasses, which must be, too
    every = fields(own)  # type: ignore[arg-type]  # a dataclass, as made above
    if hasattr(own, "__post_init__") or not every or any(each.kw_only or not each.init for each in every):
        raise TypeError(f"{own.__name__} must have positional fields only and no __post_init__")
    compiled = _compiled_methods(own, every)
    compiled["__init__"].__annotations__ = {**{each.name: each.type for each in every}, "return": None}
    for name, method in {**compiled, **_shared_methods(tuple(each.name for each in every))}.items():
        method.__qualname__ = f"{own.__qualname__}.{name}"
        method.__name__ = name
        setattr(own, name, method)
    return own


def _compiled_methods(own: type[T], every: tuple[Field[Any], ...]) -> dict[str, Any]:
    """Compile the methods that are faster when each field is named."""
    names: dict[str, Any] = {
        "_move": object.__setattr__,
        "_new": object.__new__,
        "_twin": type(f"{own.__name__}InTheMaking", (), {"__slots__": own.__slots__}),  # type: ignore[attr-defined]
        "_own": own,
        "_MISSING": MISSING,
        **{f"_default_{field.name}": field.default for field in every},
        **{f"_make_{field.name}": field.default_factory for field in every},
    }
    source = _SOURCE.format(
        arguments="".join(f", {_argument(field)}" for field in every),
        assignments="\n    ".join(f"self.{field.name} = {_assigned_value(field)}" for field in every),
        copies="\n    ".join(f"made.{field.name} = self.{field.name}" for field in every),
    )
    exec(source, names)  # noqa: S102  # what dataclasses do, of the fields that they have found
    return {name: names[name] for name in ("__init__", "__replace__")}


def _shared_methods(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the methods that need no compilation."""
    get = attrgetter(*names)
    values: Callable[[Any], tuple[Any, ...]] = get if len(names) > 1 else lambda value: (get(value),)

    def same(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    def shown(self: Any) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(names, values(self), strict=True))
        return f"{self.__class__.__qualname__}({shown})"

    def reduced(self: Any) -> tuple[Any, ...]:
        return self.__class__, values(self)

    methods = {"__eq__": same, "__hash__": hashed, "__repr__": shown, "__reduce__": reduced}
    return {**methods, "__setattr__": _refuse_assignment(), "__delattr__": _refuse_deletion()}


def _refuse_assignment() -> Callable[[Any, str, object], None]:
    def refuse(_self: Any, name: str, _value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    return refuse


def _refuse_deletion() -> Callable[[Any, str], None]:
    def refuse(_self: Any, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    return refuse


def _argument(field: Field[Any]) -> str:
    if field.default_factory is not MISSING:
        return f"{field.name}=_MISSING"
    return field.name if field.default is MISSING else f"{field.name}=_default_{field.name}"


def _assigned_value(field: Field[Any]) -> str:
    if field.default_factory is MISSING:
        return field.name
    return f"_make_{field.name}() if {field.name} is _MISSING else {field.name}"
