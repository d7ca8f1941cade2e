"""The Kafka server: a single node, broker and controller in one (KRaft).

All paths are relative to the node's directory, because Kafka reads its settings as Latin-1 and ends a path at
a comma.
"""

from __future__ import annotations

import base64
import shutil
import signal
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final

from strider.localstack.errors import SetupFailure
from strider.localstack.process.child import PRIVATE_UMASK, LaunchSpec, make_private_directory
from strider.localstack.servers.ports import LOOPBACK
from strider.localstack.servers.probes import probe_kafka

SETTINGS: Final = "server.properties"
FORMATTED: Final = "formatted"
"""Written after the log directory was formatted completely; without it, formatting is repeated."""
HEAP_OPTIONS: Final = ("-Xms256m", "-Xmx512m")
FORMAT_SECONDS: Final = 60
JAVA_OPTIONS: Final = (
    "-XX:+UseSerialGC",
    "-XX:+ExitOnOutOfMemoryError",
    # Its shared file lies in /tmp under the user's name and outlives every kill -9.
    "-XX:-UsePerfData",
    # Native parts of the compression codecs are unpacked there, and /tmp may forbid programs.
    "-Djava.io.tmpdir=tmp",
    "-Djava.awt.headless=true",
    "-Dlog4j2.configurationFile=log4j2.properties",
)
ENVIRONMENT: Final = {"LC_ALL": "C.UTF-8"}
"""Without a locale Java cannot read a directory with an umlaut, its own included."""
FAST_START: Final = "-XX:TieredStopAtLevel=1"
"""Half the CPU at start, a little less throughput later: right for tests, wrong for measuring."""


SINGLE_NODE_SETTINGS: Final = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "BROKER",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "log",
    "auto.create.topics.enable": "false",
    # After kill -9 the new process waits for the session of the old one to end: 9 s by default.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "16777216",
    "num.network.threads": "2",
    "num.io.threads": "4",
    # One replica of everything, and few partitions of Kafka's internal topics.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    # How long a client may leave a transaction open, behind which nothing is read: 15 min by default.
    "transaction.max.timeout.ms": "60000",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}


@dataclass(frozen=True, slots=True)
class KafkaServer:
    """The broker."""

    directory: Path
    port: int
    controller_port: int
    java: Path
    jars: Path
    fast_start: bool = False
    archive: Path | None = None
    """Class archive for a fast start."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Broker settings that override the defaults here."""
    cluster: str = ""
    """Cluster id of its log directory; empty for a new one."""
    name: str = "kafka"

    @property
    def address(self) -> str:
        """Its bootstrap server."""
        return f"{LOOPBACK}:{self.port}"

    def prepare(self) -> None:
        """Write its settings, and format its log directory once."""
        make_private_directory(self.directory)
        # A killed broker leaves unpacked codecs behind; the next one unpacks its own.
        shutil.rmtree(self.directory / "tmp", ignore_errors=True)
        make_private_directory(self.directory / "tmp")
        (self.directory / SETTINGS).write_text(self._settings(), "ascii")
        logging = files("strider.localstack").joinpath("data/log4j2.properties").read_text("ascii")
        (self.directory / "log4j2.properties").write_text(logging, "ascii")
        if not (self.directory / FORMATTED).exists():
            self._format()
            (self.directory / FORMATTED).touch()

    def launch(self, *, log: Path, pid_file: Path) -> LaunchSpec:
        """Return the command: the broker's class in a small Java machine."""
        speed = (FAST_START,) if self.fast_start else ()
        return LaunchSpec(
            name=self.name,
            command=(*self._java(*HEAP_OPTIONS, *speed), "kafka.Kafka", SETTINGS),
            directory=self.directory,
            log=log,
            pid_file=pid_file,
            environment=ENVIRONMENT,
            stop_signal=signal.SIGTERM,
            stop_timeout_seconds=20,
        )

    async def probe(self) -> None:
        """Request metadata and expect a living broker in it."""
        await probe_kafka(self.address)

    def _java(self, *options: str) -> tuple[str, ...]:
        archive = (f"-XX:SharedArchiveFile={self.archive}",) if self.archive else ()
        return (str(self.java), *options, *archive, *JAVA_OPTIONS, "-cp", f"{self.jars}/*")

    def _format(self) -> None:
        cluster = self.cluster or new_cluster_id()
        ask = ("kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", cluster, "-c", SETTINGS)
        formatted = subprocess.run(  # noqa: S603  # a program of the Java wheel and words of ours
            (*self._java("-Xmx128m", FAST_START), *ask),
            cwd=self.directory,
            env=dict(ENVIRONMENT),
            capture_output=True,
            text=True,
            check=False,
            timeout=FORMAT_SECONDS,
            umask=PRIVATE_UMASK,
        )
        if formatted.returncode:
            said = (formatted.stderr.strip() or formatted.stdout.strip() or "nothing").splitlines()[-1]
            raise SetupFailure(
                f"Kafka cannot format {self.directory} (it said: {said})",
                remedy="see that the directory is yours and that there is room on its disk",
            )

    def _settings(self) -> str:
        broker, controller = f"{LOOPBACK}:{self.port}", f"{LOOPBACK}:{self.controller_port}"
        settings = {
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"BROKER://{broker},CONTROLLER://{controller}",
            "advertised.listeners": f"BROKER://{broker}",
            **SINGLE_NODE_SETTINGS,
            **self.extra,
        }
        return "".join(f"{name}={value}\n" for name, value in settings.items())


def new_cluster_id() -> str:
    """Return a new cluster id in Kafka's form."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "_")
