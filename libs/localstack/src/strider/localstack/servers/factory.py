"""Puts the parts together from what is on this machine: programs, jars, an account, free ports."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from strider.localstack.process.os_user import (
    OsUser,
    accessible_programs,
    can_access,
    choose_os_user,
    give_directory,
    shared_directory,
)

from . import KafkaServer, PostgresServer, ValkeyServer
from .binaries import find_java, find_postgres, find_valkey
from .cache import cache_directory
from .java_cds import ensure_archive, find_archive
from .kafka_jars import ensure_jars

PORT_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "kafka": ("kafka", "kafka-controller"),
    "postgres": ("postgres",),
    "redis": ("redis",),
}
"""Which ports each part needs."""

Report = Callable[[str], None]


def build_kafka(
    directory: Path,
    *,
    ports: Mapping[str, int],
    environment: Mapping[str, str],
    fast_start: bool = False,
    extra: Mapping[str, str] | None = None,
) -> KafkaServer:
    """Put the broker together, its jars fetched where they are not here yet.

    Who has brokers start fast has Java read their classes once before, which takes as long as two starts.
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
    """Put the database server together; as root, on ground that its account can reach."""
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


def build_valkey(directory: Path, *, ports: Mapping[str, int]) -> ValkeyServer:
    """Put the working set's server together."""
    return ValkeyServer(directory=directory, port=ports["redis"], program=find_valkey())


def _accessible_directory(directory: Path, account: OsUser) -> Path:
    """Return the directory, or one on open ground that it then links to, if its own place is closed."""
    if directory.is_symlink():
        return directory.resolve()
    give_directory(directory, account)
    if can_access(account, directory, writing=True):
        return directory
    name = hashlib.sha256(str(directory.absolute()).encode()).hexdigest()[:16]
    elsewhere = shared_directory("data") / name
    elsewhere.mkdir(exist_ok=True)
    if any(elsewhere.iterdir()):
        # Nothing leads there any more: it belonged to a directory of this name that was removed.
        kept = elsewhere.with_name(f"{name}.old")
        shutil.rmtree(kept, ignore_errors=True)
        elsewhere = elsewhere.rename(kept).parent / name
    give_directory(elsewhere, account)
    directory.rmdir()
    directory.symlink_to(elsewhere)
    return elsewhere
