"""Java class data sharing: an archive of loaded classes that speeds up Kafka's start.

Loading classes is most of a broker's start, and the Java runtime comes without an archive. One is made beside
the jars by starting and stopping a broker once. It belongs to one Java runtime and one set of jars; Java
ignores an invalid one and starts slowly. So no failure here is fatal.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Final

from strider.localstack.errors import StackFailure
from strider.localstack.process.child import start_process

from .kafka import KafkaServer
from .kafka_jars import KAFKA_VERSION, cache_lock
from .probes import run_sync, wait_until

FOLDER: Final = "classes"
ARCHIVE: Final = "kafka.jsa"
OWNER: Final = "java"
"""File with the path of the Java runtime: the archive is removed when the runtime is gone."""
DUMP_SECONDS: Final = 60.0
READY_SECONDS: Final = 60.0
STOP_SECONDS: Final = 120.0


def find_archive(java: Path, *, cache: Path) -> Path | None:
    """Return the archive for this Java runtime, if there is one."""
    archive = _archive_directory(java, cache) / ARCHIVE
    return archive if archive.exists() else None


def ensure_archive(server: KafkaServer, *, cache: Path) -> Path | None:
    """Return the archive for this broker's Java runtime, created if missing; None where that fails.

    The broker must not run yet: one at its ports creates the archive.
    """
    place = _archive_directory(server.java, cache)
    try:
        if not (place / ARCHIVE).exists():
            place.mkdir(parents=True, exist_ok=True)
            with cache_lock(place):
                # Another test run may have created it meanwhile.
                if not (place / ARCHIVE).exists():
                    _clear_orphans(cache / FOLDER)
                    _create_archive(server, place)
    except (OSError, StackFailure, subprocess.SubprocessError):
        return None
    return find_archive(server.java, cache=cache)


def _archive_directory(java: Path, cache: Path) -> Path:
    """Return the archive's directory, by path, time and size of Java's own classes, as Java checks them."""
    modules = java.parent.parent / "lib" / "modules"
    found = modules.stat() if modules.exists() else java.stat()
    key = f"{java}:{found.st_size}:{found.st_mtime_ns}:{KAFKA_VERSION}"
    return cache / FOLDER / hashlib.sha256(key.encode()).hexdigest()[:16]


def _clear_orphans(folder: Path) -> None:
    for owner in folder.glob(f"*/{OWNER}"):
        if not Path(owner.read_text()).exists():
            shutil.rmtree(owner.parent, ignore_errors=True)


def _create_archive(part: KafkaServer, place: Path) -> None:
    (place / OWNER).write_text(str(part.java))
    base, whole, training = place / "java.jsa", place / "making.jsa", place / "training"
    subprocess.run(  # noqa: S603  # a program of the Java wheel and words of ours
        (str(part.java), "-Xshare:dump", f"-XX:SharedArchiveFile={base}"),
        check=True,
        capture_output=True,
        timeout=DUMP_SECONDS,
    )
    shutil.rmtree(training, ignore_errors=True)
    try:
        _run_broker_once(
            replace(part, directory=training),
            (f"-XX:SharedArchiveFile={base}", f"-XX:ArchiveClassesAtExit={whole}"),
        )
        whole.replace(place / ARCHIVE)
    finally:
        shutil.rmtree(training, ignore_errors=True)


def _run_broker_once(part: KafkaServer, options: tuple[str, ...]) -> None:
    """Run a broker once; at its orderly end Java archives the classes that were loaded."""
    part.prepare()
    launch = part.launch(log=part.directory / "server.log", pid_file=part.directory / "server.pid")
    java, *words = launch.command
    child = start_process(replace(launch, command=(java, *options, *words)))
    try:
        run_sync(wait_until(part.probe, seconds=READY_SECONDS))
    finally:
        child.stop(launch.stop_signal, timeout_seconds=STOP_SECONDS)
