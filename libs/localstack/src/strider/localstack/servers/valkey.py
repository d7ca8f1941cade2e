"""A Valkey that appends every write to a file and reads it again after kill -9."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from strider.localstack.process.child import LaunchSpec
from strider.localstack.servers.ports import LOOPBACK
from strider.localstack.servers.probes import probe_redis


@dataclass(frozen=True, slots=True)
class ValkeyServer:
    """The working set's server; its part is called `redis`, as its variable is."""

    directory: Path
    port: int
    program: Path
    name: str = "redis"

    @property
    def address(self) -> str:
        """Its URL."""
        return f"redis://{LOOPBACK}:{self.port}/0"

    def prepare(self) -> None:
        """Make its directory; a torn end of the append-only file is cut off by Valkey itself."""
        self.directory.mkdir(parents=True, exist_ok=True)

    def launch(self, *, log: Path, pid_file: Path) -> LaunchSpec:
        """Without a configuration file: all of it is in the words of the command."""
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
        """PING, which it answers only when its file is read."""
        await probe_redis(self.address)
