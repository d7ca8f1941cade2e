"""Files of secret keys, readable for their user alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Final

_KEY_BYTES: Final = 32


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
