"""The stack's key of personal headers, made once for all that encrypt or decrypt them.

It is kept in a file of its own, like the owner key. A key that the environment names is put first, and those
that were in use stay readable: crawl specs are kept for as long as their runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from strider.localstack.directories import StackDirectory

from .key_files import configured_keys, new_key, read_key, split_keys, write_key


def headers_key_file(home: StackDirectory) -> Path:
    """Return the file with the keys."""
    return home.data("headers.key")


def read_headers_key(home: StackDirectory) -> str:
    """Return the keys of the stack, separated by commas; empty where it has none."""
    return read_key(headers_key_file(home))


def provide_headers_key(home: StackDirectory, environment: Mapping[str, str]) -> str:
    """Return the keys that the environment names, and those of the stack, of which there is one at least.

    Raises SettingsError for an invalid key.
    """
    kept = read_headers_key(home)
    named = configured_headers_key(environment)
    keys = [key for text in (named, kept) for key in split_keys(text)]
    all_keys = ",".join(dict.fromkeys(keys)) or new_key()
    if all_keys != kept:
        write_key(headers_key_file(home), all_keys)
    return all_keys


def configured_headers_key(environment: Mapping[str, str]) -> str:
    """Return the keys that the environment names, or nothing; raises SettingsError for an invalid one."""
    return configured_keys(environment).headers
