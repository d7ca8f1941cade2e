"""Strict reading of hand-written YAML and JSON files.

Both formats accept mistakes: a key given twice, a word that YAML takes for a boolean. Here these raise
DeclarationError with the file name. Must not know topics or schemas.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from .declarations import DeclarationError

T = TypeVar("T")


_KINDS = {str: "a text", int: "a number", bool: "true or false", list: "a list", dict: "a mapping"}


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader that refuses duplicate keys."""


def _mapping(loader: _StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in result:
            raise yaml.constructor.ConstructorError(
                None, None, f"{key!r} is given twice", key_node.start_mark
            )
        result[key] = loader.construct_object(value_node, deep=True)
    return result


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A mapping from a file, or a part of one, that knows its place for error messages."""

    file: str
    place: str
    values: Mapping[str, Any]

    def error(self, name: str, problem: str) -> DeclarationError:
        """Return the error about one of the values."""
        return DeclarationError(self.file, f"{self.place}.{name}" if self.place else name, problem)

    def require_known(self, names: Iterable[str]) -> None:
        """Refuse unlisted keys: they are typing errors that would be ignored."""
        for name in self.values:
            if name not in names:
                raise self.error(str(name), f"is not known here; known are {', '.join(sorted(names))}")

    def take(self, name: str, kind: type[T], default: T | None = None) -> T:
        """Return a value of one type; without a default it is required."""
        if name not in self.values:
            if default is None:
                raise self.error(name, "is missing")
            return default
        value = self.values[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.error(name, f"must be {_KINDS.get(kind, kind.__name__)}, not {value!r}")
        return value

    def take_choice(self, name: str, allowed: Iterable[str], default: str | None = None) -> str:
        """Return a text that must be one of the allowed ones."""
        value = self.take(name, str, default)
        if value not in allowed:
            raise self.error(name, f"must be one of {', '.join(allowed)}, not {value!r}")
        return value

    def take_texts(self, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self.take(name, list, None if default is None else list(default))
        for item in value:
            if not isinstance(item, str):
                raise self.error(name, f"must be a list of texts, not {item!r}")
        return tuple(value)

    def take_sentences(self, name: str) -> dict[str, str]:
        """Return the value of a key as a mapping from names to sentences."""
        return self.take_mapping(name).sentences()

    def sentences(self) -> dict[str, str]:
        """Return the whole as a mapping from names to sentences."""
        for name, value in self.values.items():
            if not isinstance(name, str):
                raise self.error(str(name), f"{name!r} is not a text in YAML; put it in quotes")
            if not isinstance(value, str) or not value.endswith("."):
                raise self.error(name, "needs a sentence that ends with a full stop")
        return dict(self.values)

    def take_mapping(self, name: str) -> SourceDocument:
        """Return the value of a key as a nested document."""
        value: Mapping[str, Any] = self.take(name, dict)
        return SourceDocument(self.file, f"{self.place}.{name}" if self.place else name, value)


def read_yaml(path: Path, root: Path) -> SourceDocument:
    """Read a YAML file whose root is a mapping."""
    file = path.relative_to(root).as_posix()
    try:
        value = yaml.load(_text(path, file), Loader=_StrictLoader)  # noqa: S506  # a SafeLoader, made stricter
    except yaml.MarkedYAMLError as failure:
        line = f"line {failure.problem_mark.line + 1}" if failure.problem_mark else ""
        raise DeclarationError(file, line, failure.problem or "is not valid YAML") from failure
    except yaml.YAMLError as failure:
        raise DeclarationError(file, "", f"is not valid YAML: {failure}") from failure
    return _source_document(file, value)


def read_json(path: Path, root: Path) -> SourceDocument:
    """Read a JSON file whose root is an object."""
    file = path.relative_to(root).as_posix()
    try:
        value = json.loads(_text(path, file), object_pairs_hook=lambda pairs: _object(file, pairs))
    except json.JSONDecodeError as failure:
        raise DeclarationError(file, f"line {failure.lineno}", failure.msg) from failure
    return _source_document(file, value)


def _text(path: Path, file: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        raise DeclarationError(file, "", f"cannot be read: {failure}") from failure


def _object(file: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise DeclarationError(file, name, "is given twice")
        result[name] = value
    return result


def _source_document(file: str, value: object) -> SourceDocument:
    if not isinstance(value, dict):
        raise DeclarationError(file, "", "must be a mapping of names to values")
    return SourceDocument(file, "", value)
