"""Settings of crawl specs from a file (JSON or YAML) and from options `--set NAME=VALUE`.

Checked as link-ingestion checks them, so that a mistake is reported here, with its field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from strider.cli.arguments import file_error
from strider.contracts import DecodeError
from strider.contracts.codegen.declarations import DeclarationError
from strider.contracts.codegen.strict_files import read_yaml
from strider.contracts.specs.settings import parse_settings, parse_settings_document

MAX_FILE_BYTES: Final = 64 * 1024
"""Four times what the settings may have: room for comments and blanks."""


class InvalidSettings(ValueError):
    """Settings that cannot be used; the message is one line that names the file or option, and the field."""


def read_spec_file(path: Path, *, option: str = "") -> dict[str, Any]:
    """Return the settings in a file: JSON where its name ends so, else YAML. Raises InvalidSettings."""
    try:
        content = path.read_bytes()
    except OSError as failure:
        raise InvalidSettings(file_error(path, failure, option=option)) from failure
    if len(content) > MAX_FILE_BYTES:
        raise InvalidSettings(f"{path}: {len(content)} bytes, the limit is {MAX_FILE_BYTES}")
    try:
        if path.suffix == ".json":
            return parse_settings_document(content)
        return parse_settings(_as_json(read_yaml(path, path.parent).values), place="")
    except DecodeError as failure:
        raise InvalidSettings(f"{path}: {failure.detail}") from failure
    except DeclarationError as failure:
        place = f"{failure.place}: " if failure.place else ""
        raise InvalidSettings(f"{path}: {place}{failure.problem}") from failure
    except ValueError as failure:
        raise InvalidSettings(f"{path}: {failure}") from failure


def parse_assignments(texts: Iterable[str]) -> dict[str, Any]:
    """Return the settings of texts such as `use_cookies=true`; raises InvalidSettings.

    A value is JSON, or a text: `hosts=["a.test"]`, `hosts=a.test`, `accept_language=de`.
    """
    settings: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InvalidSettings(f"--set {text!r} is not of the form name=value")
        settings |= _assigned(name.strip(), value.strip())
    return settings


def _assigned(name: str, text: str) -> Mapping[str, Any]:
    faults: list[DecodeError] = []
    for value in _readings(text):
        try:
            return parse_settings({name: value}, place="--set")
        except DecodeError as failure:
            faults.append(failure)
            if failure.reason != "wrong_type":
                break
    first = faults[0]  # of the value as JSON, where it is JSON
    raise InvalidSettings(first.detail.replace("--set.", "--set ", 1)) from first


def _readings(text: str) -> Iterator[Any]:
    """Yield what a value may be: JSON, and a text."""
    with suppress(ValueError, RecursionError):
        yield json.loads(text)
    yield text


def _as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a YAML document as those of JSON; dates and the like are refused by their name."""
    for name, value in values.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as failure:
            raise ValueError(f"{name} is not a value of JSON: {failure}") from failure
    return dict(values)
