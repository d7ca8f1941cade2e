"""Broken JSON-LD and object literals of scripts: the cases of the unit tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from strider.parser.core.structured.js_object_literals import parse_object
from strider.parser.core.structured.json_repair import repair_json
from tests.unit.parser import test_odd_inputs
from tests.unit.parser.structured import test_js_object_literals, test_structured_data

from .comparison import OWN, Candidate, Case, Read, Task, parameters

THING: Final = {"@type": "Thing", "name": "a // b"}
SPACED: Final = {"@type": "Thing", "name": "a\xa0b"}
NUMBERS: Final = '{"gtin": 04006381333931, "a": 5., "b": +5, "c": -0.5e3}'
NUMBER_VALUES: Final = [{"gtin": "04006381333931", "a": "5.", "b": "+5", "c": -500.0}]
HOSTILE: Final = {
    "comments": '{"a": 1 ' + "/* " * 80_000,
    "markup comments": '{"a": 1 ' + "<!-- " * 50_000,
    "escaped quotes": '{"a": "' + '\\"' * 120_000,
    "commas": '{"a": [,' * 30_000,
    "brackets": "[" * 100_000,
    "nested objects": '{"a":' * 50_000,
    "5,000 digits": '{"a": ' + "9" * 5_000 + ",}",
    "20,000 objects": "[" + '{"a": 1, },' * 20_000 + "]",
}


def _own(text: str) -> list[Any]:
    try:
        return [json.loads(text, strict=False)]
    except RecursionError:
        return []
    except ValueError:
        return repair_json(text)


def _library(module: str, function: str, **options: Any) -> Callable[[], Read]:
    """Return one value in a list, as the own code does; an empty one is no data."""

    def load() -> Read:
        parse = getattr(__import__(module), function)

        def read(text: str) -> list[Any]:
            value = parse(text, **options)
            return [] if value in ("", None) else [value]

        return read

    return load


def _chompjs() -> Read:
    from chompjs import parse_js_objects  # noqa: PLC0415  # optional

    return lambda text: list(parse_js_objects(text))


LIBRARIES: Final = (
    Candidate("json-repair", "json-repair", _library("json_repair", "loads")),
    Candidate("chompjs", "chompjs", _chompjs),
    Candidate("demjson3", "demjson3", _library("demjson3", "decode")),
    Candidate("dirtyjson", "dirtyjson", _library("dirtyjson", "loads")),
    Candidate("json5", "json5", _library("json5", "loads")),
    Candidate("pyjson5", "pyjson5", _library("pyjson5", "decode")),
)


def _items(values: list[Any] | None) -> list[Any]:
    return [item for value in values or [] for item in (value if isinstance(value, list) else [value])]


def _repair_cases() -> Iterator[Case]:
    for text, is_read in parameters(test_structured_data.test_broken_json_is_repaired_where_that_is_safe):
        expected = [THING] if is_read else []
        yield Case(text, lambda found, expected=expected: (found or []) == expected)
    for text, names in parameters(test_structured_data.test_all_values_of_a_script_are_read):
        yield Case(
            text,
            lambda found, names=names: (
                [one["name"] for one in _items(found) if isinstance(one, dict)] == names
            ),
        )
    for (text,) in parameters(test_structured_data.test_data_in_the_wrong_wrapping_is_data):
        yield Case(text, _is_spaced)
    for (text,) in parameters(test_odd_inputs.test_json_ld_as_it_is_written):
        yield Case(text, _is_kettle)
    for (text,) in parameters(test_odd_inputs.test_what_is_no_data_is_not_read_as_data):
        yield Case(text, lambda found: not any(isinstance(one, dict | list) and one for one in found or []))
    yield Case(NUMBERS, lambda found: found == NUMBER_VALUES)


def _is_spaced(found: Any) -> bool:
    return (json.loads(found[0]) if isinstance(found[0], str) else found[0]) == SPACED


def _is_kettle(found: Any) -> bool:
    first = _items(found)[0]
    product = first["@graph"][1] if "@graph" in first else first
    fields = {name.removeprefix("schema:"): value for name, value in product.items()}
    return (fields["name"], fields["sku"]) == ("Kettle", "K1")


def broken_json() -> Task:
    """The text of a script element to its values; what would need a guess is expected to be refused."""
    return Task("Broken JSON", [Candidate(OWN, "", lambda: _own), *LIBRARIES], [*_repair_cases()], HOSTILE)


def object_literals() -> Task:
    """JavaScript to the object at its start; computed values are expected to be None."""
    cases = parameters(test_js_object_literals.test_what_is_written_down_is_read_and_nothing_is_run)
    return Task(
        "Object literals of scripts",
        [Candidate(OWN, "", lambda: lambda text: [parse_object(text, 0)]), *LIBRARIES],
        [Case(text, lambda found, value=value: _first_object(found) == value) for text, value in cases],
        HOSTILE,
    )


def _first_object(found: list[Any] | None) -> Any:
    return found[0] if found and isinstance(found[0], dict) else None
