"""Files of secret keys: made once, readable for their user alone, and found in the environment instead."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from .services import STACK_VARIABLES

if TYPE_CHECKING:
    from strider.runtime.settings.base import HeadersSettings, OwnerSettings

_KEY_BYTES: Final = 32


def new_key() -> str:
    """Return a new key."""
    return secrets.token_hex(_KEY_BYTES)


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


def configured_key(environment: Mapping[str, str], area: type[OwnerSettings | HeadersSettings]) -> str:
    """Return the key that the environment names, or nothing; raises SettingsError for an invalid one."""
    from pydantic import create_model  # noqa: PLC0415  # `strider status` needs none

    from strider.runtime.settings.base import ServiceSettings  # noqa: PLC0415
    from strider.runtime.settings.loader import load_settings  # noqa: PLC0415

    class CommonSettings(ServiceSettings):
        """Common settings, without a prefix of their own."""

        PREFIX: ClassVar[str] = ""

    settings = create_model("KeySettings", __base__=CommonSettings, keyed=(area, area()))
    known = {name: value for name, value in environment.items() if name not in STACK_VARIABLES}
    found: OwnerSettings | HeadersSettings = load_settings(settings, known).settings.keyed  # type: ignore[attr-defined]  # its own
    return found.key.get_secret_value()
