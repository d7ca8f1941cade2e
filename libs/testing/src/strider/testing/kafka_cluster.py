"""A Kafka cluster of several nodes for tests, which kill one node after the other.

Each node is broker and controller. Every record is on all of them, and acknowledged by all but one: with
three nodes one may be missing and nothing stops, as in production.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from strider.localstack.servers.factory import PORT_NAMES, build_kafka
from strider.localstack.servers.kafka import new_cluster_id
from strider.localstack.servers.ports import LOOPBACK, choose_ports

from .stack import RunningServer


@dataclass(frozen=True, slots=True)
class KafkaCluster:
    """Nodes, each of which a test may kill and start again."""

    nodes: Sequence[RunningServer]

    @property
    def address(self) -> str:
        """Its bootstrap servers: all of them, as any may be down."""
        return ",".join(node.address for node in self.nodes)

    def start(self) -> None:
        """Start the nodes that do not run; a node is ready when it has found enough of the others."""
        with ThreadPoolExecutor(len(self.nodes)) as threads:
            list(threads.map(RunningServer.start, self.nodes))

    def close(self) -> None:
        """Stop all of them for good."""
        with ThreadPoolExecutor(len(self.nodes)) as threads:
            list(threads.map(RunningServer.close, self.nodes))


def start_cluster(directory: Path, *, nodes: int = 3) -> KafkaCluster:
    """Start a cluster in that directory. Close it at the end."""
    homes = [directory / f"kafka-{number}" for number in range(1, nodes + 1)]
    ports = [choose_ports(PORT_NAMES["kafka"], home, remembered={}) for home in homes]
    first = build_kafka(homes[0], ports=ports[0], environment=os.environ, fast_start=True)
    voters = ",".join(
        f"{number}@{LOOPBACK}:{each['kafka-controller']}" for number, each in enumerate(ports, start=1)
    )
    cluster = new_cluster_id()
    parts = [
        replace(
            first,
            directory=home,
            port=each["kafka"],
            controller_port=each["kafka-controller"],
            extra=_settings(number, voters=voters, copies=nodes),
            cluster=cluster,
            name=f"kafka-{number}",
        )
        for number, (home, each) in enumerate(zip(homes, ports, strict=True), start=1)
    ]
    running = KafkaCluster([RunningServer.from_server(part) for part in parts])
    try:
        running.start()
    except BaseException:
        running.close()
        raise
    return running


def _settings(number: int, *, voters: str, copies: int) -> dict[str, str]:
    written = str(copies - 1)
    return {
        "node.id": str(number),
        "controller.quorum.voters": voters,
        "default.replication.factor": str(copies),
        "min.insync.replicas": written,
        "offsets.topic.replication.factor": str(copies),
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": written,
        "replica.lag.time.max.ms": "5000",
        "controller.quorum.election.timeout.ms": "500",
        "controller.quorum.fetch.timeout.ms": "1000",
    }
