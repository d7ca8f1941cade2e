"""Permissions from declarations, without a broker."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.contracts.generated.topics import (
    FRONTIER,
    LINKS_DISCOVERED,
    PAGES_FETCHED,
    SEEDS_OWNED,
    SEEDS_SUBMITTED,
    TALLIES,
    TOPICS,
)
from strider.contracts.topic import TopicReader
from strider.insights.adapters.host_table import CHANGELOG_TOPIC
from strider.messaging.topics.acls import (
    EVERY_USER,
    PRIVATE_TOPICS,
    Acl,
    AclOperation,
    AclPattern,
    AclResource,
    access_table,
    declared_acls,
    diff_acls,
)
from strider.messaging.topics.diff import select_topics
from strider.scheduler.adapters.frontier_log.writer import NAMESPACE as SCHEDULER_NAMESPACE
from strider.scheduler.adapters.offsets import GATING_GROUPS, PIPELINE_TOPICS
from strider.scheduler.core.runs.lost_pages import PIPELINE
from strider.tally.adapters import NAMESPACE as TALLY_NAMESPACE

CORE = select_topics(examples=False)
ADMIN_OPERATIONS = {AclOperation.ALL, AclOperation.ALTER, AclOperation.DELETE, AclOperation.ALTER_CONFIGS}


def names_of(principal: str, resource: AclResource) -> set[str]:
    return {acl.name for acl in declared_acls(CORE) if (acl.principal, acl.resource) == (principal, resource)}


def test_everyone_may_write_seeds_and_nothing_else() -> None:
    found = [acl for acl in declared_acls(CORE) if acl.principal == EVERY_USER]

    assert found == [Acl(EVERY_USER, AclResource.TOPIC, SEEDS_SUBMITTED.name, AclOperation.WRITE)]


def test_no_user_may_change_topics() -> None:
    assert {acl.operation for acl in declared_acls(TOPICS.values())} & ADMIN_OPERATIONS == set()


def test_a_planned_reader_has_no_permission() -> None:
    """Neither has a service of which no code exists."""
    planned = replace(
        PAGES_FETCHED, read_by=(*PAGES_FETCHED.read_by, TopicReader("indexer", group="other", planned=True))
    )

    assert declared_acls([planned]) == declared_acls([PAGES_FETCHED])
    assert "other" not in {acl.name for acl in declared_acls([planned])}
    assert not [acl for acl in declared_acls(TOPICS.values()) if acl.principal == "User:strider-renderer"]


def test_shards_are_written_under_ids_of_their_service() -> None:
    """The prefix is the namespace that the service takes its shards in."""
    found = {
        acl for acl in declared_acls([FRONTIER, TALLIES]) if acl.resource is AclResource.TRANSACTIONAL_ID
    }

    assert {(acl.principal, acl.name) for acl in found} == {
        (f"User:strider-{SCHEDULER_NAMESPACE}", f"{SCHEDULER_NAMESPACE}-"),
        (f"User:strider-{TALLY_NAMESPACE}", f"{TALLY_NAMESPACE}-"),
    }
    assert {acl.pattern for acl in found} == {AclPattern.PREFIXED}


def test_the_scheduler_sees_every_offset_that_it_looks_at() -> None:
    groups = names_of("User:strider-scheduler", AclResource.GROUP)

    assert groups >= {*GATING_GROUPS, *(stage.group for stage in PIPELINE)}
    assert names_of("User:strider-scheduler", AclResource.TOPIC) >= set(PIPELINE_TOPICS)


def test_link_ingestion_sees_the_commits_that_hold_back_raw_seeds() -> None:
    """The ends of links it sees as their writer; of the group it may read nothing and commit nothing."""
    found = {acl for acl in declared_acls(CORE) if acl.principal == "User:strider-link-ingestion"}
    of_group = {
        acl.operation for acl in found if (acl.resource, acl.name) == (AclResource.GROUP, "scheduler")
    }

    assert of_group == {AclOperation.DESCRIBE}
    assert (
        Acl("User:strider-link-ingestion", AclResource.TOPIC, LINKS_DISCOVERED.name, AclOperation.WRITE)
        in found
    )


def test_only_owners_of_the_key_may_write_seeds_of_owners() -> None:
    found = {
        acl.principal
        for acl in declared_acls(CORE)
        if (acl.name, acl.operation) == (SEEDS_OWNED.name, AclOperation.WRITE)
    }

    assert found == {"User:strider-person", "User:strider-api", "User:strider-scheduler"}


def test_insights_has_the_topic_of_its_table() -> None:
    assert PRIVATE_TOPICS["insights"] == CHANGELOG_TOPIC
    assert CHANGELOG_TOPIC in names_of("User:strider-insights", AclResource.TOPIC)


@pytest.mark.parametrize(
    ("principal", "name", "is_ours"),
    [
        ("User:strider-fetcher", "frontier", True),
        ("User:strider-gone", "elsewhere", True),
        (EVERY_USER, "frontier", True),
        (EVERY_USER, "elsewhere", False),
        ("User:analytics", "frontier", False),
    ],
)
def test_only_our_own_permissions_are_undeclared(principal: str, name: str, *, is_ours: bool) -> None:
    declared = declared_acls(CORE)
    extra = Acl(principal, AclResource.TOPIC, name, AclOperation.READ)

    plan = diff_acls(declared, [*declared, extra])

    assert plan.add == ()
    assert plan.undeclared == ((extra,) if is_ours else ())
    assert plan.has_drift is is_ours


def test_what_is_missing_is_added_once() -> None:
    declared = declared_acls(CORE)

    assert diff_acls(declared, declared[1:]).add == declared[:1]
    assert len(set(declared)) == len(declared)


def test_the_table_has_a_row_for_each_user() -> None:
    rows = access_table(CORE).splitlines()[2:]

    assert [row.split("|")[1].strip().strip("`") for row in rows] == sorted(
        {acl.principal for acl in declared_acls(CORE)}
    )
