"""Layout of generated Python and YAML: the same input gives the same text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any, Final

import yaml

WIDTH: Final = 110

PYTHON_NOTICE: Final = "Generated from `schemas/` by `python -m strider.contracts.codegen`; do not edit."

YAML_NOTICE: Final = "# Rendered from schemas/topics; do not edit. To write it again: make contracts\n"


def docstring_lines(text: str, indent: str = "") -> list[str]:
    """Return the lines of a wrapped docstring; backslashes are escaped."""
    safe = text.replace("\\", "\\\\").replace('"""', "'''")
    lines = textwrap.wrap(
        f'"""{safe}', WIDTH - 3, initial_indent=indent, subsequent_indent=indent, break_long_words=False
    )
    lines[-1] += '"""'
    return lines


def module_text(doc: str, body: Iterable[str]) -> str:
    """Return the text of a module: docstring, notice, body."""
    wrapped = textwrap.wrap(PYTHON_NOTICE, WIDTH)
    return "\n".join([f'"""{doc}', "", *wrapped, '"""', "", *body]).rstrip("\n") + "\n"


def quoted(value: str) -> str:
    """Return a string literal with double quotes."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def quoted_tuple(values: Iterable[str]) -> str:
    """Return the literal of a tuple of strings."""
    parts = [quoted(value) for value in values]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


class _YamlDumper(yaml.SafeDumper):
    """YAML dumper that writes multi-line texts as blocks and never uses aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # the library's signature
        """Return True, so that repeated values are written out in full."""
        return True


def _represent_text(dumper: _YamlDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_YamlDumper.add_representer(str, _represent_text)


def yaml_text(documents: Iterable[Any]) -> str:
    """Return YAML documents as text, with keys in the given order."""
    body = yaml.dump_all(
        documents, Dumper=_YamlDumper, sort_keys=False, allow_unicode=True, width=WIDTH, explicit_start=False
    )
    return YAML_NOTICE + body
