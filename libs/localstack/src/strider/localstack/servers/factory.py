"""Construction of servers from this machine's programs, jars, user and free ports."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from strider.localstack.errors import SetupFailure
from strider.localstack.process.monitor import ManagedProcess
from strider.localstack.process.os_user import (
    OsUser,
    accessible_programs,
    can_access,
    choose_os_user,
    give_directory,
    shared_directory,
)

from .binaries import find_java, find_postgres, find_valkey
from .java_cds import ensure_archive, find_archive
from .kafka import KafkaServer
from .kafka_jars import cache_directory, ensure_jars
from .postgres import PostgresServer
from .valkey import ValkeyServer


class StackServer(ManagedProcess, Protocol):
    """One server: `kafka`, `postgres` or `redis`. Only `prepare` writes; it is idempotent."""

    @property
    def directory(self) -> Path:
        """Directory of all its data."""


PORT_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "kafka": ("kafka", "kafka-controller"),
    "postgres": ("postgres",),
    "redis": ("redis",),
}
"""Names of the ports of each server."""

REDIS_MEMORY_VARIABLE: Final = "STRIDER_REDIS_MEMORY_MB"
REDIS_MEMORY_MB: Final = 1024
LEAST_REDIS_MEMORY_MB: Final = 64

TopicApplyReport = Callable[[str], None]


def build_kafka(
    directory: Path,
    *,
    ports: Mapping[str, int],
    environment: Mapping[str, str],
    fast_start: bool = False,
    extra: Mapping[str, str] | None = None,
) -> KafkaServer:
    """Return the broker, with its jars downloaded where they are missing.

    A fast start needs a class archive, which takes as long as two starts to create once.
    """
    java, cache = find_java(), cache_directory(environment)
    part = KafkaServer(
        directory=directory,
        port=ports["kafka"],
        controller_port=ports["kafka-controller"],
        java=java,
        jars=ensure_jars(cache, environment=environment),
        fast_start=fast_start,
    )
    archive = ensure_archive(part, cache=cache) if fast_start else find_archive(java, cache=cache)
    return replace(part, archive=archive, extra=extra or {})


def build_postgres(
    directory: Path, *, ports: Mapping[str, int], password: str = "", durable: bool = True
) -> PostgresServer:
    """Return the database server; as root, in a directory that its user can access."""
    programs = find_postgres()
    account = choose_os_user()
    if account:
        programs = accessible_programs(programs, account, probe=Path("bin/initdb"))
        directory = _accessible_directory(directory, account)
    return PostgresServer(
        directory=directory,
        port=ports["postgres"],
        programs=programs,
        os_user=account,
        password=password,
        durable=durable,
    )


def build_valkey(
    directory: Path, *, ports: Mapping[str, int], password: str = "", memory_mb: int = 0
) -> ValkeyServer:
    """Return the server of the working set."""
    return ValkeyServer(
        directory=directory,
        port=ports["redis"],
        program=find_valkey(),
        password=password,
        memory_mb=memory_mb,
    )


def redis_memory_mb(environment: Mapping[str, str]) -> int:
    """Return the `maxmemory` of Valkey in MB; raises SetupFailure where the variable is no such number."""
    text = environment.get(REDIS_MEMORY_VARIABLE, "") or str(REDIS_MEMORY_MB)
    if not (text.isascii() and text.isdecimal()) or int(text) < LEAST_REDIS_MEMORY_MB:
        raise SetupFailure(
            f"{REDIS_MEMORY_VARIABLE} is {text!r}, which is no number of megabytes from "
            f"{LEAST_REDIS_MEMORY_MB} on",
            remedy=f"set it to a number such as {REDIS_MEMORY_MB}, or unset it",
        )
    return int(text)


def _accessible_directory(directory: Path, account: OsUser) -> Path:
    """Return the directory, or an accessible one that it then links to."""
    if directory.is_symlink():
        return directory.resolve()
    give_directory(directory, account)
    if can_access(account, directory, writing=True):
        return directory
    name = hashlib.sha256(str(directory.absolute()).encode()).hexdigest()[:16]
    elsewhere = shared_directory("data") / name
    elsewhere.mkdir(exist_ok=True)
    if any(elsewhere.iterdir()):
        # Left over from a removed directory of this name: nothing links there any more.
        kept = elsewhere.with_name(f"{name}.old")
        shutil.rmtree(kept, ignore_errors=True)
        elsewhere = elsewhere.rename(kept).parent / name
    give_directory(elsewhere, account)
    directory.rmdir()
    directory.symlink_to(elsewhere)
    return elsewhere
