"""Access control lists of the declared topics, and their difference to those of a broker.

Pure. Each service logs in as a user of its own, `User:strider-<service>`, and gets what its rows under
`writers` and `readers` of `schemas/topics` need; planned rows give nothing. `anyone` is every user that the
broker lets in. What was granted to other users is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from strider.contracts import Topic
from strider.contracts.generated.topics import EXAMPLE_SERVICES, SERVICES, TOPICS
from strider.contracts.topic import ANYONE

PERSON: Final = "person"
_RUNTIME: Final = "runtime"
"""Writer of dead letters, in the name of each service."""
_LAG_READERS: Final = {"release": "scheduler", "shard": "scheduler", "raw_seeds": "link-ingestion"}
"""The service that is held back by the lag of a group, by what the group gates."""
_COMMON_TOPICS: Final = frozenset({"schemas"})
"""Topics of every service: a service that has no other is not written yet."""

USER_PREFIX: Final = "User:strider-"
EVERY_USER: Final = "User:*"

PRIVATE_TOPICS: Final = {"insights": "insights-outcomes-by-host-changelog"}
"""Topics in which a service keeps a table for itself, and which it creates where they are missing."""


class AclResource(IntEnum):
    """Type of a resource, by its code in Kafka's protocol."""

    TOPIC = 2
    GROUP = 3
    TRANSACTIONAL_ID = 5


class AclPattern(IntEnum):
    """Way to compare the name of a resource, by its code in Kafka's protocol."""

    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """Operation that is allowed, by its code in Kafka's protocol. Reading and writing include describing."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


@dataclass(frozen=True, slots=True, order=True)
class Acl:
    """One permission to do one thing with one resource, from any host."""

    principal: str
    resource: AclResource
    name: str
    operation: AclOperation
    pattern: AclPattern = AclPattern.LITERAL

    def __str__(self) -> str:
        """Return it as it is printed: `User:strider-fetcher may write topic pages-fetched`."""
        kind = self.resource.name.lower().replace("_", " ")
        star = "*" if self.pattern is AclPattern.PREFIXED else ""
        return f"{self.principal} may {self.operation.name.lower()} {kind} {self.name}{star}"


@dataclass(frozen=True, slots=True)
class AclPlan:
    """Difference between the declared permissions and those of a broker."""

    add: tuple[Acl, ...] = ()
    undeclared: tuple[Acl, ...] = ()
    """Permissions of our own users, and of every user on our topics, that are not declared."""

    @property
    def has_drift(self) -> bool:
        """Whether the broker differs from the declarations."""
        return bool(self.add or self.undeclared)


def principal_of(name: str) -> str:
    """Return the user of a service, of `person` or of `anyone`."""
    return EVERY_USER if name == ANYONE else f"{USER_PREFIX}{name}"


def declared_principals(topics: Iterable[Topic[Any]]) -> tuple[str, ...]:
    """Return our own users, each of which has some permission."""
    return tuple(sorted({acl.principal for acl in declared_acls(topics)} - {EVERY_USER}))


def declared_acls(topics: Iterable[Topic[Any]]) -> tuple[Acl, ...]:
    """Return the permissions that the declared topics need, sorted."""
    chosen = tuple(topics)
    existing = _existing(chosen)
    wanted = {acl for topic in chosen for acl in _acls_of(topic)}
    wanted |= {acl for name in existing & PRIVATE_TOPICS.keys() for acl in _private_acls(name)}
    allowed = {EVERY_USER, *map(principal_of, existing)}
    held = {(acl.principal, acl.resource, acl.name) for acl in wanted if not _only_describes(acl)}
    return tuple(
        sorted(
            acl
            for acl in wanted
            if acl.principal in allowed
            and not (_only_describes(acl) and (acl.principal, acl.resource, acl.name) in held)
        )
    )


def diff_acls(declared: Sequence[Acl], found: Iterable[Acl]) -> AclPlan:
    """Compare the declared permissions with those of a broker."""
    wanted, there = set(declared), set(found)
    return AclPlan(
        add=tuple(sorted(wanted - there)),
        undeclared=tuple(sorted(acl for acl in there - wanted if _is_ours(acl))),
    )


def access_table(topics: Iterable[Topic[Any]]) -> str:
    """Render a Markdown table of what each user may do."""
    acls = declared_acls(topics)
    lines = ["| user | writes | reads, in groups | further |", "|---|---|---|---|"]
    for principal in sorted({acl.principal for acl in acls}):
        mine = [acl for acl in acls if acl.principal == principal]
        writes = _names(mine, AclResource.TOPIC, AclOperation.WRITE)
        reads = _names(mine, AclResource.TOPIC, AclOperation.READ)
        groups = _names(mine, AclResource.GROUP, AclOperation.READ)
        inputs = f"{reads} ({groups})" if groups else reads
        lines.append(f"| `{principal}` | {writes} | {inputs} | {_further(mine)} |")
    return "\n".join(lines)


def _existing(topics: Iterable[Topic[Any]]) -> frozenset[str]:
    """Return the services that have code, and `person`: those with a topic of their own."""
    named = {
        name
        for topic in topics
        if topic.name not in _COMMON_TOPICS
        for name in (*topic.writers, *topic.readers)
    }
    return frozenset(named & {*SERVICES, *EXAMPLE_SERVICES, PERSON})


def _acls_of(topic: Topic[Any]) -> Iterator[Acl]:
    kind, name = AclResource.TOPIC, topic.name
    for writer in topic.writers:
        service = name.removesuffix("-dlq") if writer == _RUNTIME else writer
        principal = principal_of(service)
        yield Acl(principal, kind, name, AclOperation.WRITE)
        if topic.transactional:
            # The runtime's transactional ids are `<service>-<shard>`.
            resource, prefix = AclResource.TRANSACTIONAL_ID, f"{service}-"
            yield Acl(principal, resource, prefix, AclOperation.WRITE, AclPattern.PREFIXED)
    for reader in topic.read_by:
        if reader.planned:
            continue
        principal = principal_of(reader.service)
        yield Acl(principal, kind, name, AclOperation.READ)
        if reader.group is None:
            continue
        yield Acl(principal, AclResource.GROUP, reader.group, AclOperation.READ)
        if reader.gates in _LAG_READERS:
            observer = principal_of(_LAG_READERS[reader.gates])
            yield Acl(observer, kind, name, AclOperation.DESCRIBE)
            yield Acl(observer, AclResource.GROUP, reader.group, AclOperation.DESCRIBE)


def _private_acls(service: str) -> Iterator[Acl]:
    for operation in (AclOperation.CREATE, AclOperation.READ, AclOperation.WRITE):
        yield Acl(principal_of(service), AclResource.TOPIC, PRIVATE_TOPICS[service], operation)


def _only_describes(acl: Acl) -> bool:
    return acl.operation is AclOperation.DESCRIBE


def _is_ours(acl: Acl) -> bool:
    if acl.principal == EVERY_USER:
        return acl.resource is AclResource.TOPIC and acl.name in (*TOPICS, *PRIVATE_TOPICS.values())
    return acl.principal.startswith(USER_PREFIX)


def _names(acls: Iterable[Acl], resource: AclResource, operation: AclOperation) -> str:
    return ", ".join(acl.name for acl in acls if acl.resource is resource and acl.operation is operation)


def _further(acls: Sequence[Acl]) -> str:
    shown = {
        (AclResource.TOPIC, AclOperation.CREATE): "creates",
        (AclResource.TOPIC, AclOperation.DESCRIBE): "sees offsets of",
        (AclResource.GROUP, AclOperation.DESCRIBE): "sees commits of",
        (AclResource.TRANSACTIONAL_ID, AclOperation.WRITE): "transactional ids",
    }
    parts = []
    for (resource, operation), words in shown.items():
        if names := _names(acls, resource, operation):
            star = "*" if resource is AclResource.TRANSACTIONAL_ID else ""
            parts.append(f"{words} {names}{star}")
    return "; ".join(parts)
