"""How rendered YAML is laid out, and what ships with the package besides code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml

WIDTH: Final = 110

NOTICE: Final = "# Rendered from schemas/topics; do not edit. To write it anew: make contracts\n"


class _YamlDumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # the library's signature
        """Spell out what occurs twice; an alias is for machines only."""
        return True


def _text(dumper: _YamlDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_YamlDumper.add_representer(str, _text)


def yaml_text(documents: Iterable[Any]) -> str:
    """Lay out YAML documents, keys in the order given."""
    body = yaml.dump_all(
        documents, Dumper=_YamlDumper, sort_keys=False, allow_unicode=True, width=WIDTH, explicit_start=False
    )
    return NOTICE + body


@cache
def current_schemas() -> dict[str, Any]:
    """Read the current schemas, self-contained, by name."""
    current: dict[str, Any] = _generated("schemas.json")["current"]
    return current


@cache
def value_lists() -> dict[str, list[str]]:
    """Read the checked lists of words, by name."""
    lists: dict[str, list[str]] = _generated("schemas.json")["words"]
    return lists


@cache
def event_examples() -> dict[str, Any]:
    """Read the examples, by event and name: `page-fetched/full`."""
    return _generated("examples.json")


def _generated(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        files("strider.contracts").joinpath("generated", name).read_text("utf-8")
    )
    return content
