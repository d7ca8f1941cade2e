"""Render topics as Strimzi KafkaTopic resources, for clusters whose operator creates topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from strider.contracts.generated.topics import TOPICS
from strider.contracts.topic import Topic

from .layout import yaml_text

API_VERSION: Final = "kafka.strimzi.io/v1"
"""The only API version since Strimzi 1.0."""

CHART_SHARDS: Final = 96
"""Number of shards of a cluster; it never changes during the life of the topics."""

CHART_REPLICAS: Final = 3

MIN_IN_SYNC: Final = "2"
"""With acks=all: one broker may be down, and every acknowledged message is on two disks."""


def render_strimzi(
    topics: Iterable[Topic[Any]] | None = None,
    *,
    shards: int = CHART_SHARDS,
    replicas: int = CHART_REPLICAS,
    cluster: str = "strider",
) -> str:
    """Render topics (by default the core ones) as a file of KafkaTopic resources."""
    chosen = [topic for topic in TOPICS.values() if topic.profile == "core"] if topics is None else topics
    return yaml_text(_resource(topic, shards, replicas, cluster) for topic in chosen)


def _resource(topic: Topic[Any], shards: int, replicas: int, cluster: str) -> Mapping[str, Any]:
    config: dict[str, Any] = {name: _number(value) for name, value in topic.config.items()}
    if replicas > 1:
        config["min.insync.replicas"] = int(MIN_IN_SYNC)
    return {
        "apiVersion": API_VERSION,
        "kind": "KafkaTopic",
        "metadata": {
            "name": topic.name,
            "labels": {"strimzi.io/cluster": cluster, "app.kubernetes.io/part-of": "strider"},
            "annotations": {"strider/description": topic.description, "strider/value": topic.schema_name},
        },
        "spec": {
            "partitions": topic.partitions or shards,
            "replicas": replicas,
            "config": dict(sorted(config.items())),
        },
    }


def _number(value: str) -> int | str:
    """Return whole numbers as int; fractions stay text, as Kafka expects."""
    return int(value) if value.lstrip("-").isdigit() else value
