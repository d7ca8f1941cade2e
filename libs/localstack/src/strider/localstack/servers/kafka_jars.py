"""Kafka's jars: downloaded into a shared cache and checked against the lock file.

One cache serves all checkouts of a user. A jar is downloaded into a private directory, compared with the lock
and only then moved to its place, so that the cache never holds half a file; cached files are compared again
at every start, because disks and people change files.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from strider.localstack.errors import SetupFailure

from .binaries import INSTALL

KAFKA_VERSION: Final = "4.3.1"
MAX_DOWNLOADS: Final = 8
DEADLINE_SECONDS: Final = 120.0
"""Timeout for all jars together: they are 45 MB, which takes 3 to 10 s on an ordinary line."""
HTTP_TIMEOUT_SECONDS: Final = 15
SOURCE_VARIABLE: Final = "STRIDER_JARS_URL"
NETWORK_REMEDY: Final = (
    "connect this machine to the network once, or name a mirror of Maven artifacts by STRIDER_JARS_URL, "
    "or a broker of yours by KAFKA_BOOTSTRAP_SERVERS"
)


@dataclass(frozen=True, slots=True)
class KafkaJar:
    """One line of the lock."""

    group: str
    artifact: str
    version: str
    sha256: str
    size_bytes: int

    @property
    def file_name(self) -> str:
        """Its name in the cache and on the class path."""
        return f"{self.artifact}-{self.version}.jar"


def read_lock() -> tuple[KafkaJar, ...]:
    """Return every locked jar of the broker."""
    text = files("strider.localstack").joinpath(f"data/kafka-{KAFKA_VERSION}.lock").read_text("utf-8")
    lines = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(_parse_lock_line(*line) for line in lines)


def _parse_lock_line(name: str, digest: str, size: str) -> KafkaJar:
    group, artifact, version = name.split(":")
    return KafkaJar(group, artifact, version, sha256=digest, size_bytes=int(size))


def ensure_jars(
    cache: Path,
    *,
    environment: Mapping[str, str],
    jars: Sequence[KafkaJar] | None = None,
    report: Callable[[str], None] = lambda _line: None,
) -> Path:
    """Return the directory of the locked jars, downloaded where they are missing or broken."""
    wanted = read_lock() if jars is None else jars
    place = cache / f"kafka-{KAFKA_VERSION}"
    with _disk_errors_explained(place):
        place.mkdir(parents=True, exist_ok=True)
        if missing := _missing_or_broken(wanted, place):
            with cache_lock(place):
                # Another checkout may have downloaded them meanwhile.
                if missing := _missing_or_broken(missing, place):
                    megabytes = sum(jar.size_bytes for jar in missing) / 1e6
                    report(f"fetching {len(missing)} jars of Kafka ({megabytes:.0f} MB) to {place}")
                    _fetch(missing, place, source=environment.get(SOURCE_VARIABLE))
    return place


def is_intact(jar: KafkaJar, place: Path) -> bool:
    """Whether the cached file is the locked one."""
    path = place / jar.file_name
    try:
        if path.stat().st_size != jar.size_bytes:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256
    except FileNotFoundError:
        return False


def _missing_or_broken(jars: Sequence[KafkaJar], place: Path) -> list[KafkaJar]:
    return [jar for jar in jars if not is_intact(jar, place)]


def _fetch(jars: Sequence[KafkaJar], place: Path, *, source: str | None) -> None:
    waiting: SimpleQueue[KafkaJar | None] = SimpleQueue()
    done: SimpleQueue[tuple[KafkaJar, Exception | None]] = SimpleQueue()
    with tempfile.TemporaryDirectory(dir=place, prefix="fetching-", ignore_cleanup_errors=True) as private:
        for jar in jars:
            waiting.put(jar)
        for _ in range(MAX_DOWNLOADS):
            waiting.put(None)
            # Daemons: a download that hangs must not keep the command from ending with its message.
            work = (waiting, done, Path(private), place, source)
            threading.Thread(target=_download_all, args=work, daemon=True).start()
        _await(done, len(jars))


def _await(done: SimpleQueue[tuple[KafkaJar, Exception | None]], count: int) -> None:
    until = time.monotonic() + DEADLINE_SECONDS
    for number in range(count):
        try:
            jar, failure = done.get(timeout=max(until - time.monotonic(), 0.001))
        except Exception as late:
            raise SetupFailure(
                f"Kafka's jars did not arrive within {DEADLINE_SECONDS:.0f} s ({number} of {count} are here)",
                remedy=NETWORK_REMEDY,
            ) from late
        if isinstance(failure, OSError) and failure.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES):
            raise failure
        if isinstance(failure, SetupFailure):
            raise failure
        if failure is not None:
            raise SetupFailure(
                f"Kafka's jar {jar.file_name} could not be fetched ({_short_reason(failure)})",
                remedy=NETWORK_REMEDY,
            ) from failure


def _download_all(
    waiting: SimpleQueue[KafkaJar | None],
    done: SimpleQueue[tuple[KafkaJar, Exception | None]],
    private: Path,
    place: Path,
    source: str | None,
) -> None:
    while (jar := waiting.get()) is not None:
        try:
            _download(jar, private, place, source=source)
        except Exception as failure:  # noqa: BLE001  # a thread hands every failure to the one the waiting task
            done.put((jar, failure))
        else:
            done.put((jar, None))


def _download(jar: KafkaJar, private: Path, place: Path, *, source: str | None) -> None:
    try:
        from jgo.maven import MavenContext  # noqa: PLC0415  # comes with an extra, and slow to import
    except ImportError:
        raise SetupFailure(
            "Kafka's jars are missing and so is the Python package jgo that fetches them", remedy=INSTALL
        ) from None
    remote = {"named": source.rstrip("/")} if source else None
    context = MavenContext(repo_cache=private, remote_repos=remote, timeout=HTTP_TIMEOUT_SECONDS)
    component = context.project(jar.group, jar.artifact).at_version(jar.version)
    fetched = Path(component.artifact().resolve())
    with fetched.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != jar.sha256:
        raise SetupFailure(
            f"what was fetched as {jar.file_name} is not the jar that was locked "
            f"(SHA-256 {digest[:12]}…, expected {jar.sha256[:12]}…)",
            remedy="try again; if it stays, a proxy or mirror changes it: name another by STRIDER_JARS_URL",
        )
    fetched.replace(place / jar.file_name)


@contextmanager
def cache_lock(place: Path) -> Iterator[None]:
    """Wait for exclusive access to that directory of the cache on this machine."""
    with (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _disk_errors_explained(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        if failure.errno in (errno.ENOSPC, errno.EDQUOT):
            free_mb = shutil.disk_usage(place.parent if not place.exists() else place).free // 1_000_000
            raise SetupFailure(
                f"no room for Kafka's jars in {place} ({free_mb} MB free, 50 needed)",
                remedy="make room, or name another place by STRIDER_CACHE",
            ) from failure
        raise SetupFailure(
            f"the cache {place} cannot be written ({failure.strerror or failure})",
            remedy="give yourself the right to, or name another place by STRIDER_CACHE",
        ) from failure


_NETWORK_REASONS: Final = {
    "Name or service not known": "no network: names are not resolved",
    "Temporary failure in name resolution": "no network: names are not resolved",
    "nodename nor servname": "no network: names are not resolved",
    "Failed to resolve": "no network: names are not resolved",
    "Connection refused": "no network: the connection was refused",
    "Network is unreachable": "no network",
    "timed out": "no answer in time",
    "IncompleteRead": "the download broke off",
    "certificate": "the server's certificate is not trusted here",
}
"""Parts of messages of the network libraries, and short reasons; the first match wins."""


def _short_reason(failure: Exception) -> str:
    """Return a library's failure without its nested wrappers and addresses."""
    name = type(failure).__name__
    text = str(failure)
    if "not found in remote repositories" in text:
        return "no server has it"
    for sign, words in _NETWORK_REASONS.items():
        if sign in text:
            return words
    return name


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Return STRIDER_CACHE, else the user's cache directory by the XDG rules."""
    if own := environment.get("STRIDER_CACHE"):
        return Path(own).expanduser()
    if shared := environment.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "strider"
    return Path.home() / ".cache" / "strider"
