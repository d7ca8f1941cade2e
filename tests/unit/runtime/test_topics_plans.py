"""What must change on a broker is decided without one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts import TOPICS, Topic, TopicReader
from strider.contracts.generated.topics import ECHOES
from strider.runtime.topics import (
    Alteration,
    Declared,
    Found,
    Plan,
    RefusedChange,
    choose_topics,
    declare,
    make_plan,
)

CONFIG = {"cleanup.policy": "delete", "retention.ms": "1000"}
ALL = declare(TOPICS.values(), shards=12)
WANTED = Declared("echoes", 12, CONFIG, ("tally",))


def found(
    name: str = "echoes", partitions: int = 12, *, own: dict[str, str] | None = None, **config: str
) -> Found:
    """Make a topic as a broker would have it; dots in settings are underscores here."""
    told = {setting.replace("_", "."): value for setting, value in config.items()}
    return Found(
        name,
        partitions,
        {**CONFIG, "max.message.bytes": "1048588", **told},
        own if own is not None else CONFIG,
    )


@pytest.mark.parametrize(
    ("there", "plan"),
    [
        pytest.param([], Plan(create=(WANTED,)), id="missing"),
        pytest.param([found()], Plan(), id="equal"),
        pytest.param(
            [found(retention_ms="5")],
            Plan(alter=(Alteration("echoes", (("retention.ms", "5", "1000"),), CONFIG),)),
            id="setting differs",
        ),
        pytest.param(
            [found(retention_ms="5", own={"retention.ms": "5", "follower.limit": "9"})],
            Plan(
                alter=(
                    Alteration("echoes", (("retention.ms", "5", "1000"),), {**CONFIG, "follower.limit": "9"}),
                )
            ),
            id="settings of others are kept",
        ),
        pytest.param([found(), found("elsewhere")], Plan(unknown=("elsewhere",)), id="not declared"),
        pytest.param(
            [found(), found("insights-outcomes-by-host-changelog"), found("theirs-changelog")],
            Plan(unknown=("theirs-changelog",), private=("insights-outcomes-by-host-changelog",)),
            id="a service's own table",
        ),
        pytest.param([found(), found("__consumer_offsets")], Plan(), id="the broker's own"),
    ],
)
def test_differences_become_a_plan(there: list[Found], plan: Plan) -> None:
    assert make_plan([WANTED], there) == plan


@pytest.mark.parametrize("partitions", [6, 24])
def test_a_partition_count_is_never_changed(partitions: int) -> None:
    """Keys and shards are bound to it: with another count each host would get a second owner."""
    plan = make_plan([WANTED], [found(partitions=partitions, retention_ms="5")])

    assert [(each.topic, f"has {partitions} partitions" in each.why) for each in plan.refused] == [
        ("echoes", True)
    ]
    assert plan.has_drift
    # What can be repaired is repaired all the same.
    assert plan.alter


@pytest.mark.parametrize(
    ("plan", "answer"),
    [
        pytest.param(Plan(), False, id="nothing"),
        pytest.param(Plan(unknown=("elsewhere",)), False, id="topics of others"),
        pytest.param(Plan(create=(WANTED,)), True, id="missing"),
        pytest.param(Plan(alter=(Alteration("echoes", (), {}),)), True, id="setting"),
        pytest.param(Plan(refused=(RefusedChange("echoes", ""),)), True, id="refused"),
    ],
)
def test_drift_is_what_somebody_must_act_on(plan: Plan, answer: bool) -> None:
    assert plan.has_drift is answer


def test_a_topic_has_as_many_partitions_as_there_are_shards_unless_it_says_so() -> None:
    free, own = declare([ECHOES, replace(ECHOES, name="other", partitions=1)], shards=96)

    assert (free.partitions, own.partitions) == (96, 1)


def test_groups_are_those_that_read_with_one() -> None:
    """Tables and whole reads have no group and no offsets."""
    readers = (
        TopicReader("a", "a-one"),
        TopicReader("a", "a-two"),
        TopicReader("b", "a-one"),
        TopicReader("c", None, mode="table"),
    )
    (declared,) = declare([replace(ECHOES, read_by=readers)], shards=1)

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

    assert names(choose_topics(examples=True)) - names(choose_topics(examples=False)) >= {"echoes", "tallies"}
    assert names(choose_topics(examples=True)) == set(TOPICS)
