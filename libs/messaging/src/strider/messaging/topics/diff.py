"""Difference between the declared topics and those of a broker, as a plan.

Pure. A partition count is never changed, because keys and shards are bound to it; an undeclared topic is
named and left alone; settings that others put on a topic are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from strider.contracts import Topic
from strider.contracts.generated.topics import SERVICES, TOPICS

_INTERNAL: Final = "__"
_RETENTION: Final = "retention.bytes"
_SEGMENT: Final = "segment.bytes"
_MESSAGE: Final = "max.message.bytes"
_PARTS_OF_SEGMENT: Final = 5
"""This part of a partition's bytes is its active segment, which retention does not delete."""
_CHANGELOG_TOPIC: Final = re.compile(rf"(?:{'|'.join(map(re.escape, SERVICES))})-.+-changelog")
"""Topics in which a service keeps a table for itself; it creates the topic, and no other service reads it."""


@dataclass(frozen=True, slots=True)
class DeclaredTopic:
    """A topic as it is declared."""

    name: str
    partitions: int
    config: Mapping[str, str]
    groups: tuple[str, ...]
    """Consumer groups that read it, and therefore need an initial offset."""


@dataclass(frozen=True, slots=True)
class ExistingTopic:
    """A topic as a broker has it."""

    name: str
    partitions: int
    config: Mapping[str, str]
    """Effective settings, defaults of the broker included."""
    overrides: Mapping[str, str]
    """Settings of the topic itself."""


@dataclass(frozen=True, slots=True)
class TopicAlteration:
    """Settings of one topic that differ, and the whole set that it gets."""

    topic: str
    changes: tuple[tuple[str, str, str], ...]
    """Setting, current value, declared value."""
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RefusedTopicChange:
    """A difference that no command repairs."""

    topic: str
    why: str


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """All differences between the declared and the existing topics."""

    create: tuple[DeclaredTopic, ...] = ()
    alter: tuple[TopicAlteration, ...] = ()
    refused: tuple[RefusedTopicChange, ...] = ()
    undeclared: tuple[str, ...] = ()
    """Topics that are not declared. No drift: other systems may use the same broker."""
    private: tuple[str, ...] = ()
    """Topics in which services of ours keep their tables."""

    @property
    def has_drift(self) -> bool:
        """Whether the broker differs from the declarations."""
        return bool(self.create or self.alter or self.refused)


def select_topics(*, examples: bool) -> tuple[Topic[Any], ...]:
    """Return the declared topics of a deployment: all, or all but those of the examples."""
    return tuple(topic for topic in TOPICS.values() if examples or topic.profile == "core")


def declared_topics(topics: Iterable[Topic[Any]], *, shards: int) -> tuple[DeclaredTopic, ...]:
    """Return what the declared topics look like on a broker with so many shards."""
    return tuple(
        DeclaredTopic(
            name=topic.name,
            partitions=topic.partitions or shards,
            config=topic.config,
            groups=tuple(sorted({reader.group for reader in topic.read_by if reader.group})),
        )
        for topic in sorted(topics, key=lambda topic: topic.name)
    )


def limit_page_bytes(declared: Sequence[DeclaredTopic], total_bytes: int) -> tuple[DeclaredTopic, ...]:
    """Bound the disk that topics with a declared number of bytes take together, without replicas.

    Each keeps its part of the declared sum. A partition takes one segment more than its retention, so a fifth
    of its part is the segment. 0 bytes change nothing, and nothing becomes larger than declared.
    """
    wanted = sum(int(topic.config.get(_RETENTION, 0)) * topic.partitions for topic in declared)
    if not total_bytes or total_bytes >= wanted:
        return tuple(declared)
    return tuple(
        replace(topic, config=_limited(topic.config, total_bytes / wanted))
        if _RETENTION in topic.config
        else topic
        for topic in declared
    )


def _limited(config: Mapping[str, str], share: float) -> Mapping[str, str]:
    part = int(int(config[_RETENTION]) * share)
    segment = max(part // _PARTS_OF_SEGMENT, int(config[_MESSAGE]))
    return {
        **config,
        _RETENTION: str(max(part - segment, segment)),
        _SEGMENT: str(min(segment, int(config.get(_SEGMENT, segment)))),
    }


def diff_topics(declared: Sequence[DeclaredTopic], found: Iterable[ExistingTopic]) -> TopicPlan:
    """Compare the declared topics with the existing ones."""
    there = {topic.name: topic for topic in found}
    wanted = {topic.name for topic in declared}
    pairs = [(topic, there[topic.name]) for topic in declared if topic.name in there]
    others = sorted(name for name in there.keys() - wanted if not name.startswith(_INTERNAL))
    altered = (_alteration(topic, present) for topic, present in pairs)
    refused = (_refusal(topic, present) for topic, present in pairs)
    return TopicPlan(
        create=tuple(topic for topic in declared if topic.name not in there),
        alter=tuple(change for change in altered if change is not None),
        refused=tuple(refusal for refusal in refused if refusal is not None),
        undeclared=tuple(name for name in others if not _CHANGELOG_TOPIC.fullmatch(name)),
        private=tuple(name for name in others if _CHANGELOG_TOPIC.fullmatch(name)),
    )


def _alteration(wanted: DeclaredTopic, found: ExistingTopic) -> TopicAlteration | None:
    changes = tuple(
        (name, found.config.get(name, ""), value)
        for name, value in sorted(wanted.config.items())
        if found.config.get(name) != value
    )
    if not changes:
        return None
    # Brokers replace the whole set, so that the settings of others must be sent along.
    return TopicAlteration(wanted.name, changes, {**found.overrides, **wanted.config})


def _refusal(wanted: DeclaredTopic, found: ExistingTopic) -> RefusedTopicChange | None:
    if wanted.partitions == found.partitions:
        return None
    return RefusedTopicChange(
        wanted.name,
        f"has partition count {found.partitions}, declared is {wanted.partitions}; the count is fixed "
        "for the life of a topic (set STRIDER_SHARDS to what it has, where it has one for each shard; else "
        "move to a new topic)",
    )
