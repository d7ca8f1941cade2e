"""Files of secret keys, readable for their user alone, and keys that the environment names."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from .services import STACK_VARIABLES

_KEY_BYTES: Final = 32


class ConfiguredKeys(NamedTuple):
    """Keys that the environment names; empty where it names none."""

    owner: str
    headers: str


def new_key() -> str:
    """Return a new key."""
    return secrets.token_hex(_KEY_BYTES)


def split_keys(text: str) -> list[str]:
    """Return the keys in a text that separates them by commas or blanks."""
    return text.replace(",", " ").split()


def read_key(path: Path) -> str:
    """Return the content of a key file; empty where there is none that can be read."""
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def write_key(path: Path, key: str) -> None:
    """Write a key for this user alone; a temporary file is renamed, so that no reader sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"{key}\n")
    unfinished.replace(path)


def configured_keys(environment: Mapping[str, str]) -> ConfiguredKeys:
    """Return the keys that the environment names; raises SettingsError for an invalid one."""
    from strider.runtime.settings.base import (  # noqa: PLC0415  # `strider status` needs none
        HeadersSettings,
        OwnerSettings,
        ServiceSettings,
    )
    from strider.runtime.settings.loader import load_settings  # noqa: PLC0415

    class KeySettings(ServiceSettings):
        """Common settings, and the keys."""

        PREFIX: ClassVar[str] = ""
        owner: OwnerSettings = OwnerSettings()
        headers: HeadersSettings = HeadersSettings()

    known = {name: value for name, value in environment.items() if name not in STACK_VARIABLES}
    settings = load_settings(KeySettings, known).settings
    return ConfiguredKeys(settings.owner.key.get_secret_value(), settings.headers.key.get_secret_value())
