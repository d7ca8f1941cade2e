"""Everything under `schemas/`, read into declarations and checked against each other."""

from __future__ import annotations

from pathlib import Path

from .checks import check_declarations
from .declarations import (
    DeclarationError,
    Declarations,
    EventExample,
    ReleasedSchemas,
    ServiceDeclarations,
    ValueList,
)
from .releases import CHECKSUMS_FILE, RELEASED_VALUES_FILE, file_checksums, read_checksums
from .schema_loader import load_schemas
from .strict_files import SourceDocument, read_json, read_yaml
from .topic_loader import load_topics


def load_declarations(schemas: Path) -> Declarations:
    """Read a `schemas` folder; raises DeclarationError for the first thing that is wrong."""
    root = schemas.parent
    if not (schemas / "topics").is_dir():
        raise DeclarationError(schemas.name, "", "has no folder named topics; is this the repository?")
    services = _services(read_yaml(schemas / "services.yaml", root))
    declarations = Declarations(
        schemas=load_schemas(schemas / "avro", root),
        value_lists=_load_value_lists(schemas / "words", root),
        topics=load_topics(schemas / "topics", root, services),
        services=services,
        headers=read_yaml(schemas / "headers.yaml", root).take_sentences(),
        examples=_examples(schemas / "examples", root),
        release=_release(schemas / "released", root),
    )
    check_declarations(declarations)
    return declarations


def _services(document: SourceDocument) -> ServiceDeclarations:
    document.require_known(("core", "example", "outside"))
    return ServiceDeclarations(*(document.take_sentences(kind) for kind in ("core", "example", "outside")))


def _load_value_lists(folder: Path, root: Path) -> dict[str, ValueList]:
    documents = {path.stem: read_yaml(path, root) for path in sorted(folder.glob("*.yaml"))}
    return {name: _load_value_list(name, documents) for name in documents}


def _load_value_list(name: str, documents: dict[str, SourceDocument]) -> ValueList:
    document = documents[name]
    document.require_known(("name", "description", "includes", "words"))
    if document.take("name", str) != name:
        raise document.error("name", f"must be the file's name, {name}")
    words = document.take_sentences("words")
    for other in document.take_texts("includes", ()):
        if other not in documents or "includes" in documents[other].values:
            raise document.error("includes", f"{other!r} is no list, or includes others itself")
        for word, sentence in documents[other].take_sentences("words").items():
            if word in words:
                raise document.error(f"words.{word}", f"stands in {other} too")
            words[word] = sentence
    return ValueList(name, document.file, document.take("description", str), words)


def _examples(folder: Path, root: Path) -> tuple[EventExample, ...]:
    paths = sorted(folder.glob("*/*"))
    return tuple(_load_example(path, root) for path in paths)


def _load_example(path: Path, root: Path) -> EventExample:
    if path.suffix != ".json":
        raise DeclarationError(path.relative_to(root).as_posix(), "", "is no JSON file")
    document = read_json(path, root)
    return EventExample(path.parent.name, path.stem, document.file, document.values)


def _release(folder: Path, root: Path) -> ReleasedSchemas:
    """Read what was released; before the first release there is nothing."""
    manifest = folder / "manifest.json"
    if not manifest.exists():
        return ReleasedSchemas({}, {}, {}, {}, {})
    fingerprints = {}
    document = read_json(manifest, root)
    for name in document.values:
        entry = document.take_mapping(name)
        entry.require_known(("fingerprint", "since"))
        fingerprints[name] = (entry.take("fingerprint", str), entry.take("since", str))
    schemas = {path.stem: read_json(path, root).values for path in sorted(folder.glob("*.avsc"))}
    return ReleasedSchemas(
        schemas,
        fingerprints,
        _released_words(folder, root),
        read_checksums(folder / CHECKSUMS_FILE),
        file_checksums(folder),
    )


def _released_words(folder: Path, root: Path) -> dict[str, tuple[str, ...]]:
    """Read the lists that were released; that the file has not gone is what the digests show."""
    path = folder / RELEASED_VALUES_FILE
    if not path.exists():
        return {}
    document = read_json(path, root)
    return {name: document.take_texts(name) for name in document.values}
