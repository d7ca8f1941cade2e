"""What the stack knows of a server: its name, its address, and three things that it can do."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from strider.localstack.process.child import LaunchSpec


class StackServer(Protocol):
    """One server. Only `prepare` writes; it may be called as often as one likes."""

    @property
    def name(self) -> str:
        """One of `kafka`, `postgres`, `redis`."""

    @property
    def directory(self) -> Path:
        """Where all of its data is."""

    @property
    def address(self) -> str:
        """What goes into the environment variable of this part."""

    def prepare(self) -> None:
        """Bring its directory into a state from which it can start, whatever was interrupted before."""

    def launch(self, *, log: Path, pid_file: Path) -> LaunchSpec:
        """How its process is started."""

    async def probe(self) -> None:
        """Ask whether it answers; NotReady says why not."""
