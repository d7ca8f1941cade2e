"""Everything under `schemas/`, read into declarations and checked against each other."""

from __future__ import annotations

from pathlib import Path

from .avro import read_schemas
from .checking import check
from .declarations import DeclarationError, Declarations, Example, Release, Services, WordList
from .documents import Document, read_json, read_yaml
from .releases import SUMS, WORDS, digests_of, read_sums
from .topics import read_topics


def read_declarations(schemas: Path) -> Declarations:
    """Read a `schemas` folder; raises DeclarationError for the first thing that is wrong."""
    root = schemas.parent
    if not (schemas / "topics").is_dir():
        raise DeclarationError(schemas.name, "", "has no folder named topics; is this the repository?")
    services = _services(read_yaml(schemas / "services.yaml", root))
    declarations = Declarations(
        schemas=read_schemas(schemas / "avro", root),
        words=_word_lists(schemas / "words", root),
        topics=read_topics(schemas / "topics", root, services),
        services=services,
        headers=read_yaml(schemas / "headers.yaml", root).all_sentences(),
        examples=_examples(schemas / "examples", root),
        release=_release(schemas / "released", root),
    )
    check(declarations)
    return declarations


def _services(document: Document) -> Services:
    document.only(("core", "example", "outside"))
    return Services(*(document.sentences(kind) for kind in ("core", "example", "outside")))


def _word_lists(folder: Path, root: Path) -> dict[str, WordList]:
    documents = {path.stem: read_yaml(path, root) for path in sorted(folder.glob("*.yaml"))}
    return {name: _word_list(name, documents) for name in documents}


def _word_list(name: str, documents: dict[str, Document]) -> WordList:
    document = documents[name]
    document.only(("name", "description", "includes", "words"))
    if document.take("name", str) != name:
        raise document.fail("name", f"must be the file's name, {name}")
    words = document.sentences("words")
    for other in document.texts("includes", ()):
        if other not in documents or "includes" in documents[other].values:
            raise document.fail("includes", f"{other!r} is no list, or includes others itself")
        for word, sentence in documents[other].sentences("words").items():
            if word in words:
                raise document.fail(f"words.{word}", f"stands in {other} too")
            words[word] = sentence
    return WordList(name, document.file, document.take("description", str), words)


def _examples(folder: Path, root: Path) -> tuple[Example, ...]:
    paths = sorted(folder.glob("*/*"))
    return tuple(_example(path, root) for path in paths)


def _example(path: Path, root: Path) -> Example:
    if path.suffix != ".json":
        raise DeclarationError(path.relative_to(root).as_posix(), "", "is no JSON file")
    document = read_json(path, root)
    return Example(path.parent.name, path.stem, document.file, document.values)


def _release(folder: Path, root: Path) -> Release:
    """Read what was released; before the first release there is nothing."""
    manifest = folder / "manifest.json"
    if not manifest.exists():
        return Release({}, {}, {}, {}, {})
    fingerprints = {}
    document = read_json(manifest, root)
    for name in document.values:
        entry = document.inside(name)
        entry.only(("fingerprint", "since"))
        fingerprints[name] = (entry.take("fingerprint", str), entry.take("since", str))
    schemas = {path.stem: read_json(path, root).values for path in sorted(folder.glob("*.avsc"))}
    return Release(
        schemas, fingerprints, _released_words(folder, root), read_sums(folder / SUMS), digests_of(folder)
    )


def _released_words(folder: Path, root: Path) -> dict[str, tuple[str, ...]]:
    """Read the lists that were released; that the file has not gone is what the digests show."""
    path = folder / WORDS
    if not path.exists():
        return {}
    document = read_json(path, root)
    return {name: document.texts(name) for name in document.values}
