"""Declarations are read strictly, and the generated Python works."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from strider.contracts.codegen import DeclarationError, load_declarations
from strider.contracts.codegen.__main__ import main
from strider.contracts.codegen.outputs import differences, render_outputs
from strider.contracts.codegen.outputs import write_outputs as write_files

from .small_schemas import COLOUR, LETTER, LETTERS, ROOT, SERVICES, THINGS, build_schemas, thing, write

THING = "avro/thing-happened.v1.avsc"
THINGS_FILE = "topics/things.yaml"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    return build_schemas(tmp_path)


def test_the_small_workspace_is_valid(house: Path) -> None:
    """Otherwise the cases below would be rejected for another reason."""
    declarations = load_declarations(house)

    assert list(declarations.topics) == ["maker-dlq", "things", "watcher-dlq"]
    assert [example.file for example in declarations.examples] == [
        "schemas/examples/dead-letter/full.json",
        "schemas/examples/dead-letter/minimal.json",
        "schemas/examples/thing-happened/full.json",
        "schemas/examples/thing-happened/minimal.json",
    ]


REJECTED = [
    pytest.param(THING, thing(host={"doc": ...}), "host.doc: is missing", id="field-without-doc"),
    pytest.param(THING, thing(host={"doc": "Where"}), "host.doc: must be a sentence", id="doc-no-sentence"),
    pytest.param(
        THING, thing(host={"dok": "Where."}), "host.dok: is not known here", id="misspelt-attribute"
    ),
    pytest.param(THING, thing(host={"type": "strin"}), "host.type: must be a primitive", id="unknown-type"),
    pytest.param(
        THING, thing(host={"type": "other.v1"}), "schemas/avro/other.v1.avsc does not exist", id="no-file"
    ),
    pytest.param(THING, thing(host={"type": "thing-happened.v1"}), "refers to itself", id="circle"),
    pytest.param(
        THING, thing(sizes={"default": ["x"]}), "sizes.default: ['x'] does not fit", id="bad-default"
    ),
    pytest.param(
        THING, thing(sizes={"type": "int", "default": True}), "True does not fit", id="true-is-no-int"
    ),
    pytest.param(THING, thing(note={"default": ...}), "note.default: is missing", id="nullable-without-null"),
    pytest.param(THING, thing(late={"type": "int", "doc": "Late."}), "late: has no default", id="order"),
    pytest.param(THING, thing(**{"Bad-Name": {"type": "int"}}), "must be written like_this", id="field-name"),
    pytest.param(
        THING,
        thing(note={"type": ["null", {"type": "array", "items": "int"}]}),
        "note.type: must be a primitive",
        id="nullable-array",
    ),
    pytest.param(
        THING,
        thing(
            parts={
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "Part",
                        "namespace": "strider",
                        "doc": "A part.",
                        "fields": [],
                    },
                },
                "default": [],
                "doc": "Parts.",
            }
        ),
        "ThingHappened.parts: is an array of records",
        id="array-of-records",
    ),
    pytest.param(
        THING, thing(sizes={"few": "why"}), "has `few`, but is not an array", id="few-without-records"
    ),
    pytest.param(
        THING, thing(outcome={"words": "color"}), "words/color.yaml does not exist", id="unknown-words"
    ),
    pytest.param(
        THING, thing(sizes={"words": "colour"}), "sizes: has words, but is not a string", id="words-no-text"
    ),
    pytest.param(
        THING,
        thing(outcome={"words": ...}),
        "schemas/words/colour.yaml: is used by no field",
        id="unused-words",
    ),
    pytest.param(
        THING,
        thing(mood={"type": "string", "default": "green", "words": "colour", "doc": "Mood."}),
        "mood: 'green' is not in list colour",
        id="default-is-no-word",
    ),
    pytest.param(THING, "{", "line 1", id="no-json"),
    pytest.param(THING, '{"type": "record", "type": "record"}', "type: is given twice", id="json-key-twice"),
    pytest.param(THING, "[]", "must be a mapping", id="no-object"),
    pytest.param("avro/Thing.avsc", "{}", "must be named like page-fetched.v1.avsc", id="file-name"),
    pytest.param("avro/thing-happened.v2.avsc", thing(), "is a second version beside", id="two-versions"),
    pytest.param(
        "avro/dead-letter.v1.avsc",
        thing(),
        "name: ThingHappened does not match the file name",
        id="record-name",
    ),
    pytest.param(
        THING,
        thing(sizes={"type": {"type": "array", "items": LETTER}, "few": "Few."}),
        "DeadLetter: is already declared in schemas/avro/dead-letter.v1.avsc",
        id="record-twice",
    ),
    pytest.param(
        THINGS_FILE, THINGS + "cleanup: compact\n", "line 13: 'cleanup' is given twice", id="yaml-twice"
    ),
    pytest.param(THINGS_FILE, "a: [", "topics/things.yaml: line", id="no-yaml"),
    pytest.param(THINGS_FILE, THINGS + "retention: 1\n", "retention: is not known here", id="misspelt-key"),
    pytest.param(
        THINGS_FILE, THINGS.replace("name: things", "name: thinks"), "the file's name", id="topic-name"
    ),
    pytest.param(
        THINGS_FILE, THINGS.replace("key: host", "key: hosst"), "key: 'hosst' is not a text", id="key"
    ),
    pytest.param(
        THINGS_FILE, THINGS.replace("key: host", "key: sizes"), "key: 'sizes' is not a text", id="key-array"
    ),
    pytest.param(
        THINGS_FILE, THINGS.replace("key: host", "key: {last: [host]}"), "key: must be", id="key-rule"
    ),
    pytest.param(
        THINGS_FILE,
        THINGS.replace("{host: host}", "{host: nowhere}"),
        "shard_by: 'nowhere'",
        id="shard-field",
    ),
    pytest.param(
        THINGS_FILE,
        THINGS.replace("partitioner: shard", "partitioner: key"),
        "shard_by: is only for",
        id="shard-by-without-shard",
    ),
    pytest.param(
        THINGS_FILE, THINGS.replace("shard_by: {host: host}\n", ""), "shard_by: is missing", id="no-shard"
    ),
    pytest.param(
        THINGS_FILE, THINGS.replace("[maker]", "[baker]"), "writers: 'baker' is not in", id="writer"
    ),
    pytest.param(
        THINGS_FILE, THINGS.replace("[maker]", "[maker, anyone]"), "a topic has one writer", id="two-writers"
    ),
    pytest.param(
        THINGS_FILE,
        THINGS.replace("[maker]", "[maker]\nplanned_writers: [anyone]"),
        "a topic has one writer",
        id="a-writer-and-a-planned-one",
    ),
    pytest.param(
        THINGS_FILE,
        THINGS.replace("[maker]", "[maker]\nplanned_writers: [maker]\nwhy_many_writers: Both."),
        "planned_writers: maker is among `writers` as well",
        id="planned-and-built",
    ),
    pytest.param(
        THINGS_FILE,
        THINGS.replace("[maker]", "[maker]\nplanned_writers: [baker]\nwhy_many_writers: Both."),
        "planned_writers: 'baker' is not in",
        id="planned-writer",
    ),
    pytest.param(
        THINGS_FILE,
        THINGS.replace("sharded: true}", "sharded: true, gates: release, planned: true}"),
        "planned: a group that no code is a member of",
        id="planned-reader-that-gates",
    ),
    pytest.param(
        THINGS_FILE, THINGS.replace("service: watcher", "service: w"), "readers: 'w' is not", id="reader"
    ),
    pytest.param(
        THINGS_FILE,
        THINGS.replace("group: watcher, ", ""),
        "group: is required for readers of",
        id="no-group",
    ),
    pytest.param(
        THINGS_FILE,
        THINGS.replace("thing-happened.v1", "thing.v1"),
        "value: schemas/avro/thing.v1.avsc does not exist",
        id="value",
    ),
    pytest.param(THINGS_FILE, THINGS + "max_bytes: 1000000\n", "max_bytes: must be at most", id="too-large"),
    pytest.param(
        THINGS_FILE, THINGS + "max_bytes: true\n", "max_bytes: must be a number", id="true-is-no-number"
    ),
    pytest.param(THINGS_FILE, THINGS + "compression: lz4\n", "must be one of none, zstd", id="lz4"),
    pytest.param(
        THINGS_FILE,
        THINGS.replace("{retention.ms: 1000}", "{cleanup.policy: delete}"),
        "cleanup.policy: must not be set here",
        id="config-set-elsewhere",
    ),
    pytest.param(
        THINGS_FILE, THINGS + "partitions: 3\n", "is sharded, but the topic is not", id="count-of-its-own"
    ),
    pytest.param(
        "topics/things-again.yaml",
        THINGS.replace("name: things", "name: things-again").replace(", sharded: true", ""),
        "watcher differs between its topics",
        id="group-half-sharded",
    ),
    pytest.param(
        "topics/letters.yaml", LETTERS.replace("<service>-dlq", "dlq"), "must contain", id="template"
    ),
    pytest.param("words/colour.yaml", COLOUR + "  no: Nothing.\n", "put it in quotes", id="yaml-boolean"),
    pytest.param(
        "words/colour.yaml", COLOUR + "  Red-ish: Reddish.\n", "must be lower_case", id="word-spelling"
    ),
    pytest.param(
        "words/colour.yaml", COLOUR + "  green: Grass\n", "green: needs a sentence", id="word-sentence"
    ),
    pytest.param("words/colour.yaml", "includes: [x]" + COLOUR, "includes: 'x' is not a list", id="includes"),
    pytest.param("services.yaml", SERVICES + "more: {}", "more: is not known here", id="service-kind"),
    pytest.param(
        "examples/thing-happened/full.json", '{"host": "a"}', "outcome: is missing", id="example-lacks"
    ),
    pytest.param(
        "examples/thing-happened/full.json",
        '{"host": "a", "outcome": "red", "sizes": []}',
        "note: is missing",
        id="full-leaves-out",
    ),
    pytest.param(
        "examples/thing-happened/minimal.json",
        '{"host": "a", "outcome": "red", "note": null}',
        "note: is not required",
        id="minimal-has-more",
    ),
    pytest.param(
        "examples/thing-happened/minimal.json",
        '{"host": 1, "outcome": "red"}',
        "host: does not fit the type: 1",
        id="example-type",
    ),
    pytest.param(
        "examples/thing-happened/minimal.json",
        '{"host": "a", "outcome": "red", "hosst": "a"}',
        "hosst: is not a field of ThingHappened",
        id="example-field",
    ),
    pytest.param(
        "examples/dead-letter/full.json", '{"key": "\\u0100"}', "key: does not fit", id="example-bytes"
    ),
    pytest.param("examples/nothing/full.json", "{}", "belongs to no event", id="example-of-nothing"),
    pytest.param("examples/dead-letter/other.json", "{}", "belongs to no event", id="unused-example"),
    pytest.param("examples/dead-letter/note.txt", "x", "is not a JSON file", id="example-no-json"),
]


@pytest.mark.parametrize(("file", "content", "problem"), REJECTED)
def test_what_cannot_be_is_rejected_with_one_line_that_names_file_and_place(
    house: Path, file: str, content: str, problem: str
) -> None:
    """A declaration that is silently ignored would be found only in production."""
    write(house / file, content)

    with pytest.raises(DeclarationError) as failure:
        load_declarations(house)

    assert problem in str(failure.value)
    assert str(failure.value).startswith("schemas/")
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        pytest.param(
            "examples/dead-letter/full.json",
            "schemas/examples/dead-letter/full.json does not exist",
            id="example",
        ),
        pytest.param("topics/things.yaml", "thing-happened.v1.avsc: is the value of no topic", id="topic"),
        pytest.param("headers.yaml", "schemas/headers.yaml: cannot be read", id="headers"),
    ],
)
def test_missing_fields_are_reported(house: Path, file: str, problem: str) -> None:
    (house / file).unlink()

    with pytest.raises(DeclarationError) as failure:
        load_declarations(house)

    assert problem in str(failure.value)


def test_a_folder_that_is_no_workspace_is_refused(tmp_path: Path) -> None:
    """The command is easily run in the wrong directory."""
    with pytest.raises(DeclarationError, match="is this the root of the repository"):
        load_declarations(tmp_path / "schemas")


def _load(house: Path, name: str) -> ModuleType:
    """Execute a generated file that imports none of the other generated files."""
    text = render_outputs(house)[_generated(house, name)]
    module = ModuleType(f"generated_{name[:-3]}")
    sys.modules[module.__name__] = module  # dataclasses look up their module
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def _generated(house: Path, name: str) -> Path:
    return house.parent / "libs" / "contracts" / "src" / "strider" / "contracts" / "generated" / name


def test_a_generated_class_reads_and_writes_records(house: Path) -> None:
    """Lists become tuples, so that frozen events cannot change inside."""
    happened = _load(house, "events.py").ThingHappened
    record = {"host": "a.test", "outcome": "red", "sizes": [1, 2], "note": None}

    event = happened.from_record(record)

    assert event == happened("a.test", "red", sizes=(1, 2))
    assert event.to_record() == record | {"sizes": (1, 2)}
    assert happened.SCHEMA_NAME == "thing-happened.v1"
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.host = "b.test"


def test_records_inside_are_converted_both_ways(house: Path) -> None:
    part = {
        "type": "record",
        "name": "Part",
        "namespace": "strider",
        "doc": "A part.",
        "fields": [{"name": "rows", "type": {"type": "array", "items": "int"}, "doc": "Rows."}],
    }
    grid = {"type": "array", "items": {"type": "array", "items": "int"}}
    write(
        house / THING,
        thing(
            sizes={"type": {"type": "array", "items": part}, "few": "two"},
            grid={"type": grid, "default": [], "doc": "Grid."},
            one={"type": {"type": "map", "values": "double"}, "default": {}, "doc": "By name."},
        ),
    )
    write(
        house / "examples/thing-happened/full.json",
        json.dumps(
            {"host": "a", "outcome": "red", "note": "x", "sizes": [{"rows": [1]}], "grid": [[1]], "one": {}}
        ),
    )
    events = _load(house, "events.py")
    record = {
        "host": "a",
        "outcome": "red",
        "sizes": [{"rows": [1]}],
        "note": None,
        "grid": [[1], []],
        "one": {"x": 1.5},
    }

    event = events.ThingHappened.from_record(record)

    assert event == events.ThingHappened(
        "a", "red", sizes=(events.Part((1,)),), grid=((1,), ()), one={"x": 1.5}
    )
    assert event.to_record() == record | {"sizes": [{"rows": (1,)}], "grid": ((1,), ())}


def test_a_named_file_is_put_in_once(house: Path) -> None:
    """The validated page contains the parsed page: two copies of one schema would diverge."""
    pair = {
        "type": "record",
        "name": "PairMade",
        "namespace": "strider",
        "doc": "A `thing-happened.v1` and more.",
        "fields": [{"name": "thing", "type": "thing-happened.v1", "doc": "It."}],
    }
    write(house / "avro/pair-made.v1.avsc", json.dumps(pair))
    write(
        house / "topics/pairs.yaml",
        THINGS.replace("things", "pairs")
        .replace("thing-happened", "pair-made")
        .replace("key: host", "key: thing.host")
        .replace("{host: host}", "{host: thing.host}"),
    )
    for name in ("full", "minimal"):
        write(house / f"examples/pair-made/{name}.json", '{"thing": {"host": "a", "outcome": "red"}}')

    schema = load_declarations(house).schemas["pair-made.v1"]

    assert schema.resolved == pair | {"fields": [{**pair["fields"][0], "type": json.loads(thing())}]}
    assert render_outputs(house)[_generated(house, "events.py")].count("class ThingHappened") == 1


def test_words_become_members_with_their_sentences(house: Path) -> None:
    words = _load(house, "enums.py")

    assert list(words.Colour) == ["red", "blue"]
    assert {"colour": words.Colour} == words.ENUMS


def test_quotes_and_backslashes_in_sentences_survive(house: Path) -> None:
    """A doc is free text; it must not end the generated docstring."""
    write(house / THING, thing(host={"doc": 'Like """this""" or \\d+ and "that".'}))

    assert _load(house, "events.py").ThingHappened("a", "red").host == "a"


def test_the_same_declarations_give_the_same_text(house: Path, tmp_path: Path) -> None:
    """In whatever order a file system lists files, a diff shows only changes."""
    other = build_schemas(tmp_path / "other")

    assert list(render_outputs(house).values()) == list(render_outputs(other).values())


def test_the_command_writes_checks_and_refuses(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = ["--root", str(house.parent)]

    assert main([*root, "--check"]) == 1
    assert "+class ThingHappened:" in capsys.readouterr().err
    assert main(root) == 0
    assert main([*root, "--check"]) == 0
    assert capsys.readouterr().err == ""
    write(house / THING, thing(host={"doc": ...}))
    assert main([*root, "--check"]) == 2
    assert capsys.readouterr().err == "schemas/avro/thing-happened.v1.avsc: host.doc: is missing\n"


def test_writing_touches_only_what_has_changed(house: Path) -> None:
    """A build that compares modification times must not start over needlessly."""
    files = render_outputs(house)

    assert write_files(files) == list(files)
    assert write_files(files) == []
    assert differences(files) == ""


def test_the_committed_files_are_current() -> None:
    """The imported classes are those that `schemas/` declares."""
    assert differences(render_outputs(ROOT / "schemas")) == ""
