"""The stack's owner key, made once for the services and commands that use it.

It is kept in a file of its own, because seeds that were signed with it stay on their topic for weeks and
`stack.json` counts as none where it cannot be read.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from strider.localstack.directories import StackDirectory

from .services import STACK_VARIABLES

_KEY_BYTES: Final = 32


def owner_key_file(home: StackDirectory) -> Path:
    """Return the file with the key."""
    return home.data("owner.key")


def read_owner_key(home: StackDirectory) -> str:
    """Return the key of the stack; empty where it has none."""
    try:
        return owner_key_file(home).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def provide_owner_key(home: StackDirectory, environment: Mapping[str, str]) -> str:
    """Return the key that the environment names, else that of the stack, made where there is none.

    The key in use is always in the file, so that commands of other shells find it. Raises SettingsError for
    an invalid key.
    """
    kept = read_owner_key(home)
    key = configured_owner_key(environment) or kept or secrets.token_hex(_KEY_BYTES)
    if key != kept:
        write_key(owner_key_file(home), key)
    return key


def configured_owner_key(environment: Mapping[str, str]) -> str:
    """Return the key that the environment names, or nothing; raises SettingsError for one that is invalid."""
    from strider.runtime.settings.base import OwnerSettings, ServiceSettings  # noqa: PLC0415  # `strider status` needs none
    from strider.runtime.settings.loader import load_settings  # noqa: PLC0415

    class KeySettings(ServiceSettings):
        """Common settings, and the key."""

        PREFIX: ClassVar[str] = ""
        owner: OwnerSettings = OwnerSettings()

    known = {name: value for name, value in environment.items() if name not in STACK_VARIABLES}
    return load_settings(KeySettings, known).settings.owner.key.get_secret_value()


def write_key(path: Path, key: str) -> None:
    """Write a key for this user alone; a temporary file is renamed, so that no reader sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"{key}\n")
    unfinished.replace(path)
