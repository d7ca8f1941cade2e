"""The PostgreSQL server, on a data directory of its own.

A cluster is created beside its place and moved there when it is complete, so that an interrupted start leaves
no half cluster. Root gives all files here to an unprivileged user (see `os_user`).
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from strider.localstack.errors import SetupFailure
from strider.localstack.process.child import (
    PRIVATE_UMASK,
    START_TIME_TOLERANCE_SECONDS,
    ChildProcess,
    LaunchSpec,
    make_private_directory,
)
from strider.localstack.process.identity import identify, start_time_seconds
from strider.localstack.process.os_user import OsUser, give_directory
from strider.localstack.servers.ports import LOOPBACK
from strider.localstack.servers.probes import probe_postgres

MAJOR: Final = "18"
USER: Final = "strider"
DATABASE: Final = "strider"
INITDB_TIMEOUT_SECONDS: Final = 60
STOP_SECONDS: Final = 20.0
TEST_SETTINGS: Final = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """The database server."""

    directory: Path
    port: int
    programs: Path
    os_user: OsUser | None = None
    password: str = ""
    """Empty: every connection on the loopback address is trusted (tests only)."""
    durable: bool = True
    name: str = "postgres"

    @property
    def address(self) -> str:
        """Its DSN."""
        word = f":{self.password}" if self.password else ""
        return f"postgresql://{USER}{word}@{LOOPBACK}:{self.port}/{DATABASE}"

    @property
    def cluster(self) -> Path:
        """PostgreSQL's data directory."""
        return self.directory / "cluster"

    def prepare(self) -> None:
        """Create the cluster once; later, remove a stale lock of a killed server."""
        if self.os_user:
            give_directory(self.directory, self.os_user)
        else:
            make_private_directory(self.directory)
        if self.cluster.exists():
            self._check_version()
            self._clear_stale_lock()
        else:
            self._create_cluster()

    def launch(self, *, log: Path, pid_file: Path) -> LaunchSpec:
        """Return the command. No Unix socket: its path is limited to 107 bytes, and loopback is enough."""
        settings = [
            f"listen_addresses={LOOPBACK}",
            f"port={self.port}",
            "unix_socket_directories=",
            "max_connections=200",
            "timezone=UTC",
            "log_timezone=UTC",
            *(() if self.durable else TEST_SETTINGS),
        ]
        options = [word for setting in settings for word in ("-c", setting)]
        return LaunchSpec(
            name=self.name,
            command=(str(self.programs / "bin/postgres"), "-D", str(self.cluster), *options),
            directory=self.cluster,
            log=log,
            pid_file=pid_file,
            environment=self._environment(),
            os_user=self.os_user,
            # The "fast" shutdown: sessions are disconnected, committed data is written.
            stop_signal=signal.SIGINT,
            stop_timeout_seconds=STOP_SECONDS,
        )

    async def probe(self) -> None:
        """Run SELECT 1 in Strider's database."""
        await probe_postgres(self.address)

    def _create_cluster(self) -> None:
        unfinished = self.directory / "cluster.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        secret = self.directory / "password"
        access = ["-A", "trust"]
        if self.password:
            secret.touch(0o600)
            secret.write_text(self.password)
            if self.os_user:
                # Root may write it, but the user must read it.
                shutil.chown(secret, self.os_user.uid, self.os_user.gid)
            access = ["-A", "scram-sha-256", f"--pwfile={secret}"]
        # The built-in locale is the same on every system, where the system's own C.UTF-8 is not.
        words = ["-E", "UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        sync = [] if self.durable else ["--no-sync"]
        try:
            self._run("initdb", "-D", str(unfinished), "-U", USER, *access, *words, *sync)
            statement = f"CREATE DATABASE {DATABASE};\n"
            self._run("postgres", "--single", "-D", str(unfinished), "postgres", stdin=statement)
        finally:
            secret.unlink(missing_ok=True)
        unfinished.rename(self.cluster)

    def _run(self, program: str, *words: str, stdin: str = "") -> None:
        account = self.os_user.subprocess_options() if self.os_user else {}
        done = subprocess.run(  # noqa: S603  # a program of the PostgreSQL wheel and words of ours
            (str(self.programs / "bin" / program), *words),
            cwd=self.directory,
            env=self._environment(),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=INITDB_TIMEOUT_SECONDS,
            umask=PRIVATE_UMASK,
            **account,
        )
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
            raise SetupFailure(
                f"PostgreSQL cannot make its data directory {self.directory} (it said: {last})",
                remedy="see that the directory is yours and that there is room on its disk",
            )

    def _environment(self) -> dict[str, str]:
        return {"LC_ALL": "C", "HOME": str(self.directory), "PATH": "/usr/bin:/bin"}

    def _check_version(self) -> None:
        found = (self.cluster / "PG_VERSION").read_text().strip()
        if found != MAJOR:
            raise SetupFailure(
                f"{self.cluster} was written by PostgreSQL {found} and this is {MAJOR}",
                remedy="dump it with the old one, or start again by: strider down --wipe",
            )

    def _clear_stale_lock(self) -> None:
        """Remove the lock of a dead server: PostgreSQL takes any process with its pid for it."""
        lock = self.cluster / "postmaster.pid"
        with suppress(FileNotFoundError, ValueError, IndexError):
            lines = lock.read_text().splitlines()
            pid, began = int(lines[0]), float(lines[2])
            identity, started = identify(pid), start_time_seconds(pid)
            if identity is None or (started and abs(started - began) > START_TIME_TOLERANCE_SECONDS):
                lock.unlink()
            elif started:
                ChildProcess(identity).stop(signal.SIGINT, timeout_seconds=STOP_SECONDS)
