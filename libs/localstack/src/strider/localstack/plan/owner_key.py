"""The stack's owner key, made once for the services and commands that use it.

It is kept in a file of its own, because seeds that were signed with it stay on their topic for weeks and
`stack.json` counts as none where it cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from strider.localstack.directories import StackDirectory

from .key_files import configured_keys, new_key, read_key, write_key


def owner_key_file(home: StackDirectory) -> Path:
    """Return the file with the key."""
    return home.data("owner.key")


def read_owner_key(home: StackDirectory) -> str:
    """Return the key of the stack; empty where it has none."""
    return read_key(owner_key_file(home))


def provide_owner_key(home: StackDirectory, environment: Mapping[str, str]) -> str:
    """Return the key that the environment names, else that of the stack, made where there is none.

    The key in use is always in the file, so that commands of other shells find it. Raises SettingsError for
    an invalid key.
    """
    kept = read_owner_key(home)
    key = configured_owner_key(environment) or kept or new_key()
    if key != kept:
        write_key(owner_key_file(home), key)
    return key


def configured_owner_key(environment: Mapping[str, str]) -> str:
    """Return the key that the environment names, or nothing; raises SettingsError for one that is invalid."""
    return configured_keys(environment).owner
