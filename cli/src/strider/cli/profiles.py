"""Connection profiles: named sets of variables in a TOML file.

    [staging]
    KAFKA_BOOTSTRAP_SERVERS = "kafka.staging.example:9092"
    POSTGRES_DSN = "postgresql://strider@db.staging.example/strider"
    REDIS_URL = "rediss://redis.staging.example:6380/0"

The file is the first of: profiles.toml in STRIDER_HOME, .strider/profiles.toml of this folder or of a
folder above it, strider/profiles.toml in the user's configuration folder. Reads files only.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from .arguments import file_error, unknown_name

FILE_NAME: Final = "profiles.toml"
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]*")


class ProfileError(ValueError):
    """A profile that cannot be used; the message is one line."""


def find_profiles(environment: Mapping[str, str], directory: Path) -> Path | None:
    """Return the file of profiles that applies in a folder; None where there is none."""
    return next((path for path in candidate_paths(environment, directory) if path.is_file()), None)


def candidate_paths(environment: Mapping[str, str], directory: Path) -> Iterator[Path]:
    """Return the places of a file of profiles, the first one that exists applies."""
    if home := environment.get("STRIDER_HOME"):
        yield Path(home).expanduser() / FILE_NAME
    yield from (place / ".strider" / FILE_NAME for place in (directory, *directory.parents))
    configuration = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    yield Path(configuration) / "strider" / FILE_NAME


def load_profile(name: str, environment: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Return the variables of a profile. Raises ProfileError."""
    path = find_profiles(environment, directory)
    if path is None:
        raise ProfileError(f"--profile {name}: there is no profiles file; write .strider/{FILE_NAME}")
    profiles = read_profiles(path)
    if name not in profiles:
        raise ProfileError(f"--profile: {unknown_name('profile', name, profiles)} ({path})")
    return profiles[name]


def read_profiles(path: Path) -> dict[str, dict[str, str]]:
    """Return all profiles of a file, by name. Raises ProfileError."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise ProfileError(file_error(path, failure)) from failure
    except ValueError as failure:
        raise ProfileError(f"{path}: invalid TOML: {failure}") from failure
    return {name: dict(_variables(path, name, table)) for name, table in tables.items()}


def _variables(path: Path, name: str, table: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(table, dict):
        raise ProfileError(f"{path}: {name} is not a table; write [{name}] and one variable a line")
    for variable, value in table.items():
        if not _VARIABLE.fullmatch(variable):
            raise ProfileError(f"{path}: [{name}] {variable}: expected a variable such as REDIS_URL")
        if isinstance(value, bool):
            yield variable, str(value).lower()
        elif isinstance(value, str | int | float):
            yield variable, str(value)
        else:
            raise ProfileError(f"{path}: [{name}] {variable}: expected a string, a number or true/false")
