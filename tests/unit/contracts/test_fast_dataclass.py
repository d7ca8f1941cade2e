"""Fast dataclasses behave like frozen dataclasses."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.events import EVENTS


@dataclass(frozen=True, slots=True)
class Plain:
    """As the standard library builds it."""

    url: str
    depth: int = 3
    metadata: Mapping[str, str] = field(default_factory=dict)


@fast_dataclass(frozen=True, slots=True)
class Quick:
    """As fast_dataclass builds it."""

    url: str
    depth: int = 3
    metadata: Mapping[str, str] = field(default_factory=dict)


@fast_dataclass(frozen=True, slots=True)
class Point:
    """With one field."""

    x: int


@fast_dataclass(frozen=True, slots=True)
class Place:
    """With the same field."""

    x: int


class Late:
    """Has a __post_init__."""

    x: int

    def __post_init__(self) -> None:
        raise ValueError


class Named:
    """Has a keyword-only field."""

    x: int = field(kw_only=True)


class Empty:
    """Has no fields."""


def told(event: Plain | Quick) -> tuple[str, int, Mapping[str, str]]:
    return event.url, event.depth, event.metadata


@pytest.mark.parametrize(
    ("given", "named"),
    [
        pytest.param(("a",), {}, id="defaults"),
        pytest.param(("a", 4, {"b": "c"}), {}, id="by_position"),
        pytest.param((), {"metadata": {"b": "c"}, "url": "a"}, id="by_name"),
    ],
)
def test_it_is_made_as_any_dataclass(given: tuple[object, ...], named: dict[str, object]) -> None:
    """Positional and keyword arguments work as usual."""
    quick, plain = Quick(*given, **named), Plain(*given, **named)  # type: ignore[arg-type]

    assert (type(quick), told(quick)) == (Quick, told(plain))
    assert [*inspect.signature(Quick).parameters] == [*inspect.signature(Plain).parameters]
    assert inspect.get_annotations(Quick.__init__) == inspect.get_annotations(Plain.__init__)


@pytest.mark.parametrize(
    "given", [pytest.param((), id="too_few"), pytest.param(("a", 1, {}, 2), id="too_many")]
)
def test_what_does_not_fit_is_refused(given: tuple[object, ...]) -> None:
    """A missing field must be found when the event is created, not when it is read."""
    with pytest.raises(TypeError):
        Quick(*given)  # type: ignore[arg-type]


def test_two_events_share_no_default() -> None:
    """Default maps are not shared."""
    assert Quick("a").metadata is not Quick("b").metadata


def test_it_is_frozen() -> None:
    """No service can change what another one holds."""
    event = Quick("a")

    with pytest.raises(FrozenInstanceError):
        event.url = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del event.url  # type: ignore[misc]
    assert event == Quick("a")


def test_a_change_makes_another_event() -> None:
    """The original stays unchanged; both ways of replacing give the same result."""
    before = Quick("a", 4, {"b": "c"})

    after = replace_fields(before, depth=5)

    assert (type(after), told(after)) == (Quick, ("a", 5, {"b": "c"}))
    assert after == replace(before, depth=5)
    assert before == Quick("a", 4, {"b": "c"})
    assert replace_fields(before) == before


def test_what_is_equal_is_so_everywhere() -> None:
    """Values are looked up by content, and only among their own class."""
    frozen = {Point(1): "one"}

    assert frozen[Point(1)] == "one"
    assert Point(1) != Point(2)
    assert Point(1) != Place(1)


@pytest.mark.parametrize("declared", [Late, Named, Empty])
def test_what_has_more_to_it_is_not_made_so(declared: type) -> None:
    """A check that is silently left out would be found much later."""
    with pytest.raises(TypeError, match=r"positional fields only|requires frozen"):
        fast_dataclass(frozen=True, slots=True)(declared)


def test_there_is_no_change_to_what_is_no_field() -> None:
    """A misspelt field must not be ignored."""
    with pytest.raises(AttributeError):
        replace_fields(Quick("a"), dept=5)  # type: ignore[call-arg]


@pytest.mark.parametrize("via", [copy.copy, copy.deepcopy, lambda event: pickle.loads(pickle.dumps(event))])
def test_copies_are_equal(via: type) -> None:
    """Events are sent to other processes, too."""
    event = Quick("a", 4, {"b": "c"})

    assert via(event) == event
    assert repr(via(event)) == "Quick(url='a', depth=4, metadata={'b': 'c'})"


def test_every_event_is_made_so() -> None:
    """Every page pays for it."""
    assert [event for event in EVENTS.values() if "__replace__" not in vars(event)] == []
