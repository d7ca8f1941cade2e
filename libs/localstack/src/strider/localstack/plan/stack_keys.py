"""Keys of the stack, each made once for the services and commands that use it.

Each is kept in a file of its own, because what was signed or encrypted with it outlives the stack's
processes, and `stack.json` counts as none where it cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from strider.localstack.directories import StackDirectory

from .key_files import new_key, read_key, split_keys, write_key


@dataclass(frozen=True, slots=True)
class StackKey:
    """A key that services share, of the environment or of the stack."""

    variable: str
    """Variable that names it, with `_FILE` the file that holds it."""
    file: str
    services: frozenset[str]
    """Services that have it; the others do without."""
    keeps_earlier: bool = False
    """Whether keys that were in use stay behind a new one, separated by commas."""

    def path(self, home: StackDirectory) -> Path:
        """Return the file with the key."""
        return home.data(self.file)

    def read(self, home: StackDirectory) -> str:
        """Return the key of the stack; empty where it has none."""
        return read_key(self.path(home))

    def provide(self, home: StackDirectory, environment: Mapping[str, str]) -> str:
        """Return the key that the environment names, else that of the stack, made where there is none.

        The key in use is always in the file, so that commands of other shells find it. Raises SettingsError
        for an invalid key.
        """
        kept, named = self.read(home), configured_keys(environment)[self.variable]
        if self.keeps_earlier:
            named = ",".join(dict.fromkeys([*split_keys(named), *split_keys(kept)]))
        key = named or kept or new_key()
        if key != kept:
            write_key(self.path(home), key)
        return key


OWNER_KEY: Final = StackKey(
    "STRIDER_OWNER_KEY", "owner.key", frozenset({"api", "link-ingestion", "scheduler"})
)
"""Seeds are signed with it, and stay on their topic for weeks."""
HEADERS_KEY: Final = StackKey(
    "STRIDER_HEADERS_KEY", "headers.key", frozenset({"api", "fetcher", "link-ingestion"}), keeps_earlier=True
)
"""Personal headers are encrypted with it: by two services, and the fetcher decrypts. Crawl specs are kept for
as long as their runs, so earlier keys stay readable.
"""
JWT_SECRET: Final = StackKey("AUTH_JWT_SECRET", "jwt.key", frozenset({"api"}))
"""Tokens of the API are signed with it. A secret that the environment names replaces it, and its tokens."""

STACK_KEYS: Final = (OWNER_KEY, HEADERS_KEY, JWT_SECRET)


def configured_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that the environment names, by variable, empty where it names none.

    Raises SettingsError for an invalid one.
    """
    from strider.runtime.settings.base import (  # noqa: PLC0415  # `strider status` needs none
        AuthSettings,
        HeadersSettings,
        OwnerSettings,
        ServiceSettings,
    )
    from strider.runtime.settings.loader import load_settings  # noqa: PLC0415

    from .services import STACK_VARIABLES  # noqa: PLC0415  # it imports this module

    class KeySettings(ServiceSettings):
        """Common settings, and the keys."""

        PREFIX: ClassVar[str] = ""
        owner: OwnerSettings = OwnerSettings()
        headers: HeadersSettings = HeadersSettings()
        auth: AuthSettings = AuthSettings()

    known = {name: value for name, value in environment.items() if name not in STACK_VARIABLES}
    settings = load_settings(KeySettings, known).settings
    return {
        OWNER_KEY.variable: settings.owner.key.get_secret_value(),
        HEADERS_KEY.variable: settings.headers.key.get_secret_value(),
        JWT_SECRET.variable: settings.auth.jwt_secret.get_secret_value(),
    }
