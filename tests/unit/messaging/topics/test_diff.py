"""What must change on a broker is decided without one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts import TOPICS, Topic, TopicReader
from strider.contracts.generated.topics import ECHOES
from strider.messaging.topics import (
    DeclaredTopic,
    ExistingTopic,
    RefusedTopicChange,
    TopicAlteration,
    TopicPlan,
    declared_topics,
    diff_topics,
    select_topics,
)
from strider.messaging.topics.diff import limit_page_bytes

CONFIG = {"cleanup.policy": "delete", "retention.ms": "1000"}
ALL = declared_topics(TOPICS.values(), shards=12)
WANTED = DeclaredTopic("echoes", 12, CONFIG, ("tally",))


def found(
    name: str = "echoes", partitions: int = 12, *, own: dict[str, str] | None = None, **config: str
) -> ExistingTopic:
    """Make a topic as a broker would have it; dots in settings are underscores here."""
    told = {setting.replace("_", "."): value for setting, value in config.items()}
    return ExistingTopic(
        name,
        partitions,
        {**CONFIG, "max.message.bytes": "1048588", **told},
        own if own is not None else CONFIG,
    )


@pytest.mark.parametrize(
    ("there", "plan"),
    [
        pytest.param([], TopicPlan(create=(WANTED,)), id="missing"),
        pytest.param([found()], TopicPlan(), id="equal"),
        pytest.param(
            [found(retention_ms="5")],
            TopicPlan(alter=(TopicAlteration("echoes", (("retention.ms", "5", "1000"),), CONFIG),)),
            id="setting differs",
        ),
        pytest.param(
            [found(retention_ms="5", own={"retention.ms": "5", "follower.limit": "9"})],
            TopicPlan(
                alter=(
                    TopicAlteration(
                        "echoes", (("retention.ms", "5", "1000"),), {**CONFIG, "follower.limit": "9"}
                    ),
                )
            ),
            id="settings of others are kept",
        ),
        pytest.param([found(), found("elsewhere")], TopicPlan(undeclared=("elsewhere",)), id="not declared"),
        pytest.param(
            [found(), found("insights-outcomes-by-host-changelog"), found("theirs-changelog")],
            TopicPlan(undeclared=("theirs-changelog",), private=("insights-outcomes-by-host-changelog",)),
            id="a service's own table",
        ),
        pytest.param([found(), found("__consumer_offsets")], TopicPlan(), id="the broker's own"),
    ],
)
def test_differences_become_a_plan(there: list[ExistingTopic], plan: TopicPlan) -> None:
    assert diff_topics([WANTED], there) == plan


@pytest.mark.parametrize("partitions", [6, 24])
def test_a_partition_count_is_never_changed(partitions: int) -> None:
    """Keys and shards are bound to it: with another count each host would get a second owner."""
    plan = diff_topics([WANTED], [found(partitions=partitions, retention_ms="5")])

    assert [(each.topic, f"partition count {partitions}," in each.why) for each in plan.refused] == [
        ("echoes", True)
    ]
    assert plan.has_drift
    # What can be repaired is repaired all the same.
    assert plan.alter


@pytest.mark.parametrize(
    ("plan", "answer"),
    [
        pytest.param(TopicPlan(), False, id="nothing"),
        pytest.param(TopicPlan(undeclared=("elsewhere",)), False, id="topics of others"),
        pytest.param(TopicPlan(create=(WANTED,)), True, id="missing"),
        pytest.param(TopicPlan(alter=(TopicAlteration("echoes", (), {}),)), True, id="setting"),
        pytest.param(TopicPlan(refused=(RefusedTopicChange("echoes", ""),)), True, id="refused"),
    ],
)
def test_drift_is_what_needs_an_action(plan: TopicPlan, answer: bool) -> None:
    assert plan.has_drift is answer


def test_a_topic_has_as_many_partitions_as_shards_unless_declared() -> None:
    free, own = declared_topics([ECHOES, replace(ECHOES, name="other", partitions=1)], shards=96)

    assert (free.partitions, own.partitions) == (96, 1)


def test_groups_are_those_that_read_with_one() -> None:
    """Tables and whole reads have no group and no offsets."""
    readers = (
        TopicReader("a", "a-one"),
        TopicReader("a", "a-two"),
        TopicReader("b", "a-one"),
        TopicReader("c", None, mode="table"),
    )
    (declared,) = declared_topics([replace(ECHOES, read_by=readers)], shards=1)

    assert declared.groups == ("a-one", "a-two")


def test_brokers_take_the_largest_message_that_a_topic_allows() -> None:
    """With room for key, headers and the batch around it; else it would be encoded and never sent."""
    for topic, declared in zip(sorted(TOPICS.values(), key=lambda each: each.name), ALL, strict=True):
        assert int(declared.config["max.message.bytes"]) >= topic.max_bytes + 16 * 1024, topic.name


def test_the_cleanup_policy_is_part_of_the_settings() -> None:
    by_name = {declared.name: declared for declared in ALL}

    assert {name: declared.config["cleanup.policy"] for name, declared in by_name.items()} == {
        name: topic.cleanup for name, topic in TOPICS.items()
    }


def test_example_topics_are_only_there_on_request() -> None:
    def names(topics: tuple[Topic[Any], ...]) -> set[str]:
        return {topic.name for topic in topics}

    assert names(select_topics(examples=True)) - names(select_topics(examples=False)) >= {"echoes", "tallies"}
    assert names(select_topics(examples=True)) == set(TOPICS)


@pytest.mark.fault("B5", part="pages on Kafka of the local stack")
@pytest.mark.parametrize("gib", [2, 12, 100])
def test_topics_of_pages_share_the_bytes_that_are_set(gib: int) -> None:
    """A partition takes its retention and the segment that is written: together no more than is set."""
    declared = declared_topics(TOPICS.values(), shards=12)

    limited = {topic.name: topic for topic in limit_page_bytes(declared, gib * 1024**3)}

    bounded = [topic for topic in limited.values() if "retention.bytes" in topic.config]
    taken = sum(
        topic.partitions * (int(topic.config["retention.bytes"]) + int(topic.config["segment.bytes"]))
        for topic in bounded
    )
    assert 0.7 * gib * 1024**3 < taken <= gib * 1024**3
    assert all(int(topic.config["segment.bytes"]) >= 1024**2 for topic in bounded)
    assert [topic for topic in declared if topic.name not in {each.name for each in bounded}] == [
        topic for name, topic in limited.items() if topic not in bounded
    ]


@pytest.mark.parametrize("total", [0, 10**15])
def test_no_topic_becomes_larger_than_declared(total: int) -> None:
    declared = declared_topics(TOPICS.values(), shards=12)

    assert limit_page_bytes(declared, total) == declared
