"""Incompatible schema changes are found before a release, with field and rule."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.schema import make_avsc_object

from strider.contracts.avro.compatibility import VersionIncompatibility, check_versions, sample_values
from strider.contracts.avro.resolution import (
    COMPATIBILITY_RULES,
    Incompatibility,
    find_incompatibilities,
    find_invalid_defaults,
)
from strider.contracts.avro.schema_model import parse_schema_tree
from strider.contracts.avro.schema_store import SchemaStore

from .probe import PROBE, probe_schema

LIST = {"type": "array", "items": "string"}
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
PIECE = PROBE["fields"][-1]["type"]["items"]


def pieces(**changes: Any) -> dict[str, Any]:
    """Return the probe's schema with another item type in its list."""
    return probe_schema(parts={"type": {"type": "array", "items": {**PIECE, **changes}}, "default": []})


def versions(second: dict[str, Any], first: dict[str, Any] = PROBE) -> list[tuple[str, str, str, str]]:
    """List the incompatibilities of two versions: writer, reader, path, rule."""
    problems = check_versions({"probe.v1": first, "probe.v2": second})
    return [(p.writer, p.reader, p.incompatibility.path, p.incompatibility.rule) for p in problems]


ONE_WAY = ("probe.v1", "probe.v2")
OTHER_WAY = ("probe.v2", "probe.v1")

REJECTED = [
    pytest.param(
        probe_schema(text=None), [(*OTHER_WAY, "text", "no_default")], id="removed field without default"
    ),
    pytest.param(
        probe_schema(count={"type": "string", "default": ""}),
        [(*ONE_WAY, "count", "type_changed"), (*OTHER_WAY, "count", "type_changed")],
        id="changed type",
    ),
    pytest.param(
        probe_schema(count={"type": "int", "default": 0}),
        [(*ONE_WAY, "count", "type_changed")],
        id="narrowed type",
    ),
    pytest.param(
        probe_schema(count={"type": "double", "default": 0.0}),
        [(*OTHER_WAY, "count", "type_changed")],
        id="widened type",
    ),
    pytest.param(
        probe_schema(text=None, title={"type": "string"}),
        [(*ONE_WAY, "title", "no_default"), (*OTHER_WAY, "text", "no_default")],
        id="renamed field",
    ),
    pytest.param(
        PROBE | {"name": "Sonde"},
        [(*ONE_WAY, "", "renamed"), (*OTHER_WAY, "", "renamed")],
        id="renamed record",
    ),
    pytest.param(
        probe_schema(extra={"type": "string"}), [(*ONE_WAY, "extra", "no_default")], id="new required field"
    ),
    pytest.param(
        probe_schema(count={"type": "long", "default": "0"}),
        [("probe.v2", "probe.v2", "count", "bad_default")],
        id="default of another type",
    ),
    pytest.param(
        probe_schema(urls={"type": LIST, "default": {}}),
        [("probe.v2", "probe.v2", "urls", "bad_default")],
        id="default of another kind",
    ),
    pytest.param(
        probe_schema(note={"type": "string", "default": ""}),
        [(*ONE_WAY, "note", "branch_missing")],
        id="nothing is no longer possible",
    ),
    pytest.param(
        probe_schema(text={"type": ["null", "string"]}),
        [(*OTHER_WAY, "text", "branch_missing")],
        id="nothing is possible now",
    ),
    pytest.param(
        probe_schema(note={"type": ["null", "string", "long"], "default": None}),
        [(*OTHER_WAY, "note", "branch_missing"), (*OTHER_WAY, "note", "union_ambiguous")],
        id="one branch more",
    ),
    pytest.param(
        pieces(fields=[*PIECE["fields"], {"name": "size", "type": "int"}]),
        [(*ONE_WAY, "parts[].size", "no_default")],
        id="required field deep inside",
    ),
    pytest.param(
        pieces(name="Part"),
        [(*ONE_WAY, "parts[]", "renamed"), (*OTHER_WAY, "parts[]", "renamed")],
        id="renamed record deep inside",
    ),
    pytest.param(
        probe_schema(sizes={"type": {"type": "map", "values": "string"}, "default": {}}),
        [(*ONE_WAY, "sizes[]", "type_changed"), (*OTHER_WAY, "sizes[]", "type_changed")],
        id="values of a map",
    ),
    pytest.param(
        {
            "type": "record",
            "name": "Probe",
            "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}],
        },
        [("probe.v2", "probe.v2", "", "no_schema")],
        id="no schema at all",
    ),
]


@pytest.mark.fault("F23", part="breaking changes of schemas")
@pytest.mark.parametrize(("second", "found"), REJECTED)
def test_a_breaking_change_is_found_in_each_direction(second: dict[str, Any], found: list[Any]) -> None:
    """Old services run beside new ones during an upgrade, so both directions count."""
    assert versions(second) == found


ACCEPTED = [
    pytest.param(PROBE, id="nothing changed"),
    pytest.param(probe_schema(extra={"type": "string", "default": ""}), id="new field with default"),
    pytest.param(probe_schema(extra={"type": ["null", LIST], "default": None}), id="new optional list"),
    pytest.param(probe_schema(count=None), id="removed field with default"),
    pytest.param(probe_schema(count={"type": "long", "default": 7}), id="another default"),
    pytest.param(probe_schema(count={"type": "long", "default": 0, "doc": "words"}), id="other words"),
    pytest.param(PROBE | {"fields": PROBE["fields"][::-1]}, id="another order"),
    pytest.param(PROBE | {"namespace": "elsewhere"}, id="another namespace"),
    pytest.param(
        pieces(fields=[*PIECE["fields"], {"name": "size", "type": "int", "default": 0}]),
        id="new field deep inside",
    ),
]


@pytest.mark.parametrize("second", ACCEPTED)
def test_a_harmless_change_is_let_through(second: dict[str, Any]) -> None:
    assert versions(second) == []


@pytest.mark.parametrize("second", ACCEPTED)
def test_the_apache_checker_agrees_about_harmless_changes(second: dict[str, Any]) -> None:
    first, later = (make_avsc_object(copy.deepcopy(each)) for each in (PROBE, second))

    assert _apache(reader=later, writer=first)
    assert _apache(reader=first, writer=later)


@pytest.mark.parametrize(("second", "found"), [case for case in REJECTED if case.id != "no schema at all"])
def test_the_apache_checker_finds_no_more_than_we_do(second: dict[str, Any], found: list[Any]) -> None:
    """Our check may be stricter (about unions and defaults) and must never be laxer."""
    try:
        first, later = (make_avsc_object(copy.deepcopy(each)) for each in (PROBE, second))
        breaks = {
            ONE_WAY: not _apache(reader=later, writer=first),
            OTHER_WAY: not _apache(reader=first, writer=later),
        }
    except Exception:  # noqa: BLE001  # a default that the library itself refuses
        breaks = {}
    ours = {(writer, reader) for writer, reader, _, _ in found}

    assert {way for way, is_broken in breaks.items() if is_broken} <= ours


def _apache(*, reader: Any, writer: Any) -> bool:
    result = ReaderWriterCompatibilityChecker().get_compatibility(reader=reader, writer=writer)
    return bool(result.compatibility is SchemaCompatibilityType.compatible)


def test_all_pairs_of_versions_are_checked() -> None:
    """Each change may be harmless and their sum not: a field that returns with another type."""
    without = probe_schema(count=None)
    again = probe_schema(count={"type": "string", "default": ""})
    problems = check_versions({"probe.v1": PROBE, "probe.v2": without, "probe.v3": again})

    assert {(p.writer, p.reader) for p in problems} == {("probe.v1", "probe.v3"), ("probe.v3", "probe.v1")}


def test_different_events_have_nothing_to_do_with_each_other() -> None:
    other = {"type": "record", "name": "Other", "fields": []}

    assert check_versions({"probe.v1": PROBE, "other.v1": other}) == []


def test_a_problem_is_one_line_that_names_field_and_rule() -> None:
    (problem,) = check_versions({"probe.v1": PROBE, "probe.v2": probe_schema(extra={"type": "string"})})

    assert isinstance(problem, VersionIncompatibility)
    assert str(problem) == (
        "probe.v1 read as probe.v2: extra: no_default: not written, and the reader has no default"
    )


@pytest.mark.parametrize(
    ("writer", "reader", "finding"),
    [
        pytest.param(
            ENUM,
            ENUM | {"symbols": ["A"]},
            Incompatibility("", "symbol_unknown", "the reader knows no B"),
            id="symbol",
        ),
        pytest.param(
            {"type": "fixed", "name": "F", "size": 4},
            {"type": "fixed", "name": "F", "size": 8},
            Incompatibility("", "size_changed", "4 bytes are written, 8 are read"),
            id="size",
        ),
        pytest.param(
            LIST,
            {"type": "map", "values": "string"},
            Incompatibility("", "type_changed", "written as array of string, read as map of string"),
            id="kind",
        ),
    ],
)
def test_each_kind_of_type_has_its_rule(writer: Any, reader: Any, finding: Incompatibility) -> None:
    assert find_incompatibilities(writer=parse_schema_tree(writer), reader=parse_schema_tree(reader)) == [
        finding
    ]


def test_every_rule_that_is_reported_is_explained() -> None:
    reported = {case.values[1][0][3] for case in REJECTED if isinstance(case.values[1], list)}

    assert reported <= COMPATIBILITY_RULES.keys()


def test_defaults_deep_inside_are_looked_at() -> None:
    schema = pieces(fields=[{"name": "size", "type": "int", "default": 1 << 31}])

    assert [(f.path, f.rule) for f in find_invalid_defaults(parse_schema_tree(schema))] == [
        ("parts[].size", "bad_default")
    ]


def test_samples_reach_every_branch() -> None:
    """The trial proves nothing about fields that it leaves empty."""
    least, full = sample_values(parse_schema_tree(PROBE))

    assert least["parts"] == [] and least["note"] is None  # noqa: PT018  # one thought
    assert full["parts"] == [{"name": "täxt", "score": -1.5}]


def test_what_ships_today_is_compatible() -> None:
    book = SchemaStore.bundled()

    assert check_versions({name: json.loads(book.definition(name)) for name in book.names()}) == []
