"""The Valkey server: appends every write to a file and reads it again after kill -9."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from strider.localstack.process.child import LaunchSpec, make_private_directory, open_private
from strider.localstack.servers.ports import LOOPBACK
from strider.localstack.servers.probes import probe_redis

SETTINGS: Final = "valkey.conf"
_REFUSED: Final = (
    *("flushall", "flushdb", "swapdb", "shutdown", "replicaof", "slaveof", "debug", "module"),
    *("config|set", "config|rewrite", "acl|setuser", "acl|deluser", "acl|load"),
)
"""Commands that lose or redirect the data, or switch off its file; no service sends one."""


@dataclass(frozen=True, slots=True)
class ValkeyServer:
    """The server of the working set; named `redis`, like its variable."""

    directory: Path
    port: int
    program: Path
    password: str = ""
    """Empty: every client may do everything (tests only)."""
    memory_mb: int = 0
    """Its `maxmemory`, from which on it refuses writes; 0: no limit (tests only)."""
    name: str = "redis"

    @property
    def address(self) -> str:
        """Its URL."""
        account = f":{self.password}@" if self.password else ""
        return f"redis://{account}{LOOPBACK}:{self.port}/0"

    def prepare(self) -> None:
        """Create its directory and settings; Valkey itself truncates a torn append-only file."""
        make_private_directory(self.directory)
        with open_private(self.directory / SETTINGS) as file:
            file.write(self._settings().encode("ascii"))

    def launch(self, *, log: Path, pid_file: Path) -> LaunchSpec:
        """Return the command; the password is in a file, because a command line is readable for all."""
        listen = ("--bind", LOOPBACK, "--port", str(self.port))
        keep = (
            "--dir",
            str(self.directory),
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "everysec",
            "--maxmemory",
            f"{self.memory_mb}mb",
            "--maxmemory-policy",
            "noeviction",
        )
        return LaunchSpec(
            name=self.name,
            command=(str(self.program), str(self.directory / SETTINGS), *listen, *keep),
            directory=self.directory,
            log=log,
            pid_file=pid_file,
            stop_signal=signal.SIGTERM,
            stop_timeout_seconds=10,
        )

    def _settings(self) -> str:
        if not self.password:
            return ""
        refused = " ".join(f"-{command}" for command in _REFUSED)
        return f"user default on >{self.password} ~* &* +@all {refused}\n"

    async def probe(self) -> None:
        """Send PING, which succeeds only when its file is loaded."""
        await probe_redis(self.address)
