"""Released schemas and value lists never change and are never removed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from strider.contracts.codegen import DeclarationError, load_declarations
from strider.contracts.codegen.__main__ import main
from strider.contracts.codegen.outputs import render_outputs
from strider.contracts.codegen.releases import (
    file_checksums,
    fingerprint_of,
    new_version_files,
    read_checksums,
)

from .small_schemas import ROOT, THING, build_schemas, thing, write

FILE = "released/thing-happened.v1.avsc"
AVRO = "avro/thing-happened.v1.avsc"
MINIMAL = "examples/thing-happened/minimal.json"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """Build a `schemas` folder with one release."""
    schemas = build_schemas(tmp_path)
    assert main(["--root", str(tmp_path), "--release", "1.0.0"]) == 0
    return schemas


def test_a_release_keeps_each_schema_and_its_fingerprint(house: Path) -> None:
    manifest = json.loads((house / "released/manifest.json").read_text())

    assert json.loads((house / FILE).read_text()) == THING
    assert manifest["thing-happened.v1"] == {"fingerprint": fingerprint_of(THING), "since": "1.0.0"}
    assert list(manifest) == ["dead-letter.v1", "thing-happened.v1"]


def test_a_new_version_joins_the_old_one(house: Path) -> None:
    """The old version is still in topics, so it ships with the code and keeps its release version."""
    (house / "avro/thing-happened.v1.avsc").unlink()
    write(house / "avro/thing-happened.v2.avsc", thing(late={"type": "int", "default": 0, "doc": "Late."}))
    full = '{"host": "a.test", "outcome": "red", "sizes": [1], "note": "x", "late": 1}'
    write(house / "examples/thing-happened/full.json", full)
    topic = house / "topics/things.yaml"
    write(topic, topic.read_text().replace("happened.v1", "happened.v2"))

    assert main(["--root", str(house.parent), "--release", "1.1.0"]) == 0

    manifest = json.loads((house / "released/manifest.json").read_text())
    assert {name: entry["since"] for name, entry in manifest.items()} == {
        "dead-letter.v1": "1.0.0",
        "thing-happened.v1": "1.0.0",
        "thing-happened.v2": "1.1.0",
    }
    shipped = next(text for path, text in render_outputs(house).items() if path.name == "schemas.json")
    assert json.loads(shipped)["released"] == {"thing-happened.v1": THING}


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        pytest.param(
            "avro/thing-happened.v1.avsc",
            thing(note={"type": "string", "default": ""}),
            "thing-happened.v1.avsc: was released: a change needs a new version",
            id="current-moved",
        ),
        pytest.param(
            FILE,
            thing(sizes={"default": [1]}),
            r"sizes: was released: its default was \[1\] and is \[\]",
            id="released-default-moved",
        ),
        pytest.param(
            FILE,
            thing(note={"type": "string", "default": ""}),
            "was released and must not change",
            id="moved",
        ),
        pytest.param("released/other.v1.avsc", thing(), "is not in manifest.json", id="smuggled"),
        pytest.param(
            "released/manifest.json", '{"a.v1": {"fingerprint": "0"}}', "since: is missing", id="manifest"
        ),
    ],
)
def test_what_was_released_does_not_move(house: Path, file: str, content: str, problem: str) -> None:
    """Messages written with it may still be read, by its fingerprint."""
    write(house / file, content)

    with pytest.raises(DeclarationError, match=problem):
        load_declarations(house)


@pytest.mark.parametrize(
    ("attributes", "change"),
    [
        pytest.param({"default": "red"}, 'was none and is "red"', id="added"),
        pytest.param({"default": ...}, 'was "blue" and is none', id="taken-away"),
        pytest.param({"default": "red"}, 'was "blue" and is "red"', id="changed"),
    ],
)
def test_a_default_is_part_of_what_was_released(
    tmp_path: Path, attributes: dict[str, Any], change: str
) -> None:
    """Fingerprints do not cover defaults, but two services of one version must fill in the same."""
    schemas = build_schemas(tmp_path)
    if "was none" not in change:
        write(schemas / AVRO, thing(outcome={"default": "blue"}))
        write(schemas / MINIMAL, '{"host": "a.test"}')
    assert main(["--root", str(tmp_path), "--release", "1.0.0"]) == 0
    write(schemas / AVRO, thing(outcome=attributes))
    is_required = attributes["default"] is ...
    write(schemas / MINIMAL, '{"host": "a.test"' + (', "outcome": "red"}' if is_required else "}"))

    with pytest.raises(
        DeclarationError, match=f"outcome: was released: its default {change}, which needs a new"
    ):
        load_declarations(schemas)


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        pytest.param(
            FILE, '"default": []', '"default": [1]', "sizes: was released: its default was", id="one-default"
        ),
        pytest.param(
            FILE, "How big.", "How large.", "must not change: its digest in SHA256SUMS", id="a-sentence"
        ),
        pytest.param(
            "released/words.json",
            "red",
            "pink",
            "words.pink: was released and must not be removed",
            id="a-word",
        ),
        pytest.param(
            "released/words.json", '"red",', "", "must not change: its digest in SHA256SUMS", id="a-word-less"
        ),
        pytest.param(
            "released/manifest.json", "1.0.0", "1.0.1", "must not change: its digest", id="manifest"
        ),
        pytest.param(
            "released/SHA256SUMS",
            "words.json",
            "word.json",
            "word.json: was released and must not be removed",
            id="sums",
        ),
        pytest.param("released/SHA256SUMS", "  words.json", "", "not a digest: '", id="broken-sums"),
    ],
)
def test_no_released_file_is_mended(house: Path, file: str, old: str, new: str, problem: str) -> None:
    path = house / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))

    with pytest.raises(DeclarationError, match=problem):
        load_declarations(house)


def test_a_default_that_is_changed_in_both_files_is_found(tmp_path: Path) -> None:
    """The fingerprint does not cover defaults, and the two files agree: only the digest differs."""
    schemas = build_schemas(tmp_path)
    write(schemas / AVRO, thing(outcome={"default": "blue"}))
    write(schemas / MINIMAL, '{"host": "a.test"}')
    assert main(["--root", str(tmp_path), "--release", "1.0.0"]) == 0
    for file in (FILE, AVRO):
        path = schemas / file
        path.write_text(path.read_text().replace('"blue"', '"red"'))

    with pytest.raises(
        DeclarationError, match=r"released/thing-happened.v1.avsc: was released and must not change"
    ):
        load_declarations(schemas)


def test_a_word_that_was_released_stays(house: Path) -> None:
    """Messages with the value may still arrive; an additional value breaks no reader."""
    path = house / "words/colour.yaml"
    path.write_text(path.read_text() + "  green: Like grass.\n")
    assert list(load_declarations(house).value_lists["colour"].values) == ["red", "blue", "green"]

    path.write_text(path.read_text().replace("red: ", "pink: "))
    with pytest.raises(
        DeclarationError, match=r"colour.yaml: words.red: was released and must not be removed"
    ):
        load_declarations(house)


def test_a_field_keeps_its_list(house: Path) -> None:
    colour = (house / "words/colour.yaml").read_text()
    (house / "words/colour.yaml").rename(house / "words/tint.yaml")
    write(house / "words/tint.yaml", colour.replace("name: colour", "name: tint"))
    write(house / AVRO, thing(outcome={"words": "tint"}))

    with pytest.raises(
        DeclarationError, match="outcome: was released: its words were colour and are tint, which"
    ):
        load_declarations(house)


def test_a_second_release_keeps_the_digests_of_the_first(house: Path) -> None:
    path = house / "words/colour.yaml"
    path.write_text(path.read_text() + "  green: Like grass.\n")
    before = read_checksums(house / "released/SHA256SUMS")

    assert main(["--root", str(house.parent), "--release", "1.1.0"]) == 0

    after = read_checksums(house / "released/SHA256SUMS")
    assert json.loads((house / "released/words.json").read_text()) == {"colour": ["red", "blue", "green"]}
    assert {file for file in after if before.get(file) != after[file]} == {"words.json"}
    assert after == file_checksums(house / "released")
    assert load_declarations(house).release.sums == after


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        pytest.param("0.9.0", "--release: 0.9.0: is not above 1.0.0", id="lower"),
        pytest.param("1.0.0", "--release: 1.0.0: is not above 1.0.0", id="the-same"),
        pytest.param("0.10.0", "--release: 0.10.0: is not above 1.0.0", id="lower-with-two-digits"),
        pytest.param("2.0", "--release: 2.0: is not a version", id="two-numbers"),
        pytest.param("v2.0.0", "--release: v2.0.0: is not a version", id="no-number"),
    ],
)
def test_a_release_needs_a_version_above_the_last(
    house: Path, version: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = house / "words/colour.yaml"
    path.write_text(path.read_text() + "  green: Like grass.\n")
    before = read_checksums(house / "released/SHA256SUMS")

    assert main(["--root", str(house.parent), "--release", version]) == 2

    assert problem in capsys.readouterr().err
    assert read_checksums(house / "released/SHA256SUMS") == before


def test_versions_of_releases_are_compared_as_numbers(tmp_path: Path) -> None:
    build_schemas(tmp_path)
    assert main(["--root", str(tmp_path), "--release", "1.9.0"]) == 0

    assert main(["--root", str(tmp_path), "--release", "1.10.0"]) == 0


def test_without_its_digests_a_release_is_none(house: Path) -> None:
    (house / "released/SHA256SUMS").unlink()

    with pytest.raises(DeclarationError, match="is not in SHA256SUMS"):
        load_declarations(house)


def test_what_was_released_does_not_go(house: Path) -> None:
    (house / FILE).unlink()

    with pytest.raises(DeclarationError, match="was released and must not be removed"):
        load_declarations(house)


def test_a_better_sentence_is_no_change(house: Path) -> None:
    """Docs are not part of the contract between readers and writers."""
    write(house / "avro/thing-happened.v1.avsc", thing(host={"doc": "Where it happened."}))

    assert "Where it happened." in str(load_declarations(house).schemas["thing-happened.v1"].resolved)


def test_every_current_schema_is_released() -> None:
    """The first release is the current set; every later change is a new version."""
    declarations = load_declarations(ROOT / "schemas")

    assert set(declarations.release.manifest) >= set(declarations.schemas)


def test_a_released_file_that_is_no_schema_any_more_is_named(house: Path) -> None:
    """After any change there is one error line and no traceback."""
    path = house / "released" / "thing-happened.v1.avsc"
    path.write_text(path.read_text().replace('"record"', '"xrecord"', 1))

    with pytest.raises(
        DeclarationError, match=r"released/thing-happened.v1.avsc: .*not a valid schema any more"
    ):
        load_declarations(house)


def test_a_new_version_takes_its_container_and_topics_along() -> None:
    """A schema that contains the event has another fingerprint; what was released is not touched."""
    schemas = ROOT / "schemas"
    declarations = load_declarations(schemas)
    released = replace(declarations.release, manifest=dict.fromkeys(declarations.schemas, ("", "")))
    declarations = replace(declarations, release=released)
    versions = {schema.event: name for name, schema in declarations.schemas.items()}
    parsed, whole = versions["page-parsed"], versions["page-validated"]

    files = new_version_files(declarations, schemas, "page-parsed")

    new_parsed = _next(parsed)
    moved = {path.name: new.name for path, (new, _) in files.items() if new != path}
    assert moved[f"{parsed}.avsc"] == f"{new_parsed}.avsc"
    assert f'"{new_parsed}"' in files[schemas / "avro" / f"{whole}.avsc"][1]
    topic = files[schemas / "topics" / "pages-parsed.yaml"][1]
    assert f"value: {new_parsed}\n" in topic
    assert not [path for path in files if path.parent.name == "released"]


def _next(name: str) -> str:
    event, _, number = name.rpartition(".v")
    return f"{event}.v{int(number) + 1}"


def test_an_event_that_was_not_released_is_changed_as_it_stands(tmp_path: Path) -> None:
    schemas = build_schemas(tmp_path)

    with pytest.raises(DeclarationError, match="was not released yet: change it as it stands"):
        new_version_files(load_declarations(schemas), schemas, "thing-happened")


def test_a_new_version_of_an_unknown_event_is_refused(house: Path) -> None:
    with pytest.raises(DeclarationError, match=r"thing-heard.*is not an event"):
        new_version_files(load_declarations(house), house, "thing-heard")


def test_a_new_version_is_a_valid_folder(house: Path) -> None:
    """Written as it is, before any field is added."""
    for path, (new_path, text) in new_version_files(
        load_declarations(house), house, "thing-happened"
    ).items():
        path.unlink()
        write(new_path, text)

    declarations = load_declarations(house)
    assert list(declarations.schemas) == ["dead-letter.v1", "thing-happened.v2"]
    assert declarations.topics["things"].value == "thing-happened.v2"
