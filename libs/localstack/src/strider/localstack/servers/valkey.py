"""The Valkey server: appends every write to a file and reads it again after kill -9."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from strider.localstack.process.child import LaunchSpec
from strider.localstack.servers.ports import LOOPBACK
from strider.localstack.servers.probes import probe_redis


@dataclass(frozen=True, slots=True)
class ValkeyServer:
    """The server of the working set; named `redis`, like its variable."""

    directory: Path
    port: int
    program: Path
    name: str = "redis"

    @property
    def address(self) -> str:
        """Its URL."""
        return f"redis://{LOOPBACK}:{self.port}/0"

    def prepare(self) -> None:
        """Create its directory; Valkey itself truncates a torn append-only file."""
        self.directory.mkdir(parents=True, exist_ok=True)

    def launch(self, *, log: Path, pid_file: Path) -> LaunchSpec:
        """Return the command, without a configuration file."""
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
        )
        return LaunchSpec(
            name=self.name,
            command=(str(self.program), *listen, *keep),
            directory=self.directory,
            log=log,
            pid_file=pid_file,
            stop_signal=signal.SIGTERM,
            stop_timeout_seconds=10,
        )

    async def probe(self) -> None:
        """Send PING, which succeeds only when its file is loaded."""
        await probe_redis(self.address)
