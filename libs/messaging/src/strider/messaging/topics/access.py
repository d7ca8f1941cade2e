"""Permissions and quotas of users on a broker: compared with the declared ones, and applied.

Needs a user who may alter the cluster, and a broker with an authorizer. Safe to repeat: what exists is not
created again. Nothing is removed unless it is asked for, and then only what belongs to our own users, or to
every user on one of our topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aiokafka.protocol.admin import DescribeAclsRequest, DescribeClientQuotasRequest

from strider.contracts import Topic
from strider.messaging.errors import StartRefused
from strider.messaging.kafka.connection import KafkaConnection
from strider.messaging.kafka.patches.access_requests import AlterUserQuotas, CreateAcls, DeleteAcls

from .acls import (
    EVERY_USER,
    Acl,
    AclOperation,
    AclPattern,
    AclPlan,
    AclResource,
    declared_acls,
    declared_principals,
    diff_acls,
)
from .admin import TopicAdmin, raise_for_refusal

PRODUCER_RATE: Final = "producer_byte_rate"
UNLIMITED: Final = float(2**53)
"""Bytes a second of our own services: a user without a quota of its own would have that of all others."""

_ANY: Final = 1
_ALLOW: Final = 3
_EVERY_HOST: Final = "*"
_NO_AUTHORIZER: Final = 54
_EXACT_OR_DEFAULT: Final = 2
_USER: Final = "user"


@dataclass(frozen=True, slots=True)
class AccessOptions:
    """Selection of what to apply."""

    acls: bool = False
    """Create the declared permissions that are missing."""
    prunes: bool = False
    """Remove what is not declared from our own users, and from every user on our topics."""
    producer_quota: int | None = None
    """Bytes a second that users who are none of ours may write; None leaves quotas as they are."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to apply."""
        return not self.acls and self.producer_quota is None


@dataclass(frozen=True, slots=True)
class AccessReport:
    """Differences between the broker and the declarations, and whether extra permissions went."""

    acls: AclPlan = field(default_factory=AclPlan)
    is_pruned: bool = False
    """Whether undeclared permissions of our users were removed, or would be."""
    quotas: Mapping[str, float] = field(default_factory=dict)
    """Bytes a second that users may write and that were not set so, by user; `User:*` is all others."""

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to do and there is nothing to report."""
        return not self.acls.has_drift and not self.quotas


async def apply_access(
    connection: KafkaConnection, topics: Iterable[Topic[Any]], wanted: AccessOptions, *, dry_run: bool = False
) -> AccessReport:
    """Create the declared permissions and quotas that are missing; return what was, or would be, done.

    Raises StartRefused where the broker has no authorizer, or where this user may not alter them.
    """
    chosen, quota = tuple(topics), wanted.producer_quota
    if quota is not None and not (connection.uses_sasl or connection.ssl_cert_file):
        raise StartRefused(
            "quotas are by user, and without a login every service is the same user: "
            "set KAFKA_SECURITY_PROTOCOL and credentials"
        )
    async with TopicAdmin.open(connection) as broker:
        plan, quotas = AclPlan(), dict[str, float]()
        if wanted.acls:
            plan = diff_acls(declared_acls(chosen), await _describe_acls(broker))
        if quota is not None:
            quotas = await _missing_quotas(broker, chosen, quota)
        if not dry_run:
            await _create(broker, plan.add)
            await _delete(broker, plan.undeclared if wanted.prunes else ())
            await _set_quotas(broker, quotas)
    return AccessReport(plan, wanted.prunes, quotas)


async def _describe_acls(broker: TopicAdmin) -> list[Acl]:
    """Return the permissions that can be declared: denials, and those for single hosts, are left out."""
    answer = await broker.send(DescribeAclsRequest(_ANY, None, _ANY, None, None, _ANY, _ANY))  # type: ignore[arg-type]
    _check(answer.error_code, answer.error_message, "describing permissions")
    found = []
    for resource, name, pattern, acls in answer.resources:
        for principal, host, operation, permission in acls:
            if permission != _ALLOW or host != _EVERY_HOST or resource not in set(AclResource):
                continue
            found.append(
                Acl(principal, AclResource(resource), name, AclOperation(operation), AclPattern(pattern))
            )
    return found


async def _create(broker: TopicAdmin, acls: Sequence[Acl]) -> None:
    if not acls:
        return
    answer = await broker.send(CreateAcls([_frame(acl) for acl in acls]))
    for (code, message), acl in zip(answer.creation_responses, acls, strict=True):
        _check(code, message, f"allowing that {acl}")


async def _delete(broker: TopicAdmin, acls: Sequence[Acl]) -> None:
    if not acls:
        return
    answer = await broker.send(DeleteAcls([_frame(acl) for acl in acls]))
    for (code, message, _matching), acl in zip(answer.filter_responses, acls, strict=True):
        _check(code, message, f"no longer allowing that {acl}")


async def _missing_quotas(
    broker: TopicAdmin, topics: Iterable[Topic[Any]], producer_quota: int
) -> dict[str, float]:
    answer = await broker.send(
        DescribeClientQuotasRequest([(_USER, _EXACT_OR_DEFAULT, None)], strict=True)  # type: ignore[list-item]
    )
    _check(answer.error_code, answer.error_message, "describing quotas")
    found = {
        _principal(entity[0][1]): dict(values).get(PRODUCER_RATE) for entity, values in answer.entries or ()
    }
    wanted = dict.fromkeys(declared_principals(topics), UNLIMITED) | {EVERY_USER: float(producer_quota)}
    return {principal: rate for principal, rate in wanted.items() if found.get(principal) != rate}


async def _set_quotas(broker: TopicAdmin, quotas: Mapping[str, float]) -> None:
    if not quotas:
        return
    changes = [(_user_of(principal), PRODUCER_RATE, rate) for principal, rate in quotas.items()]
    answer = await broker.send(AlterUserQuotas(changes))
    for (code, message, _entity), principal in zip(answer.entries, quotas, strict=True):
        _check(code, message, f"setting the quota of {principal}")


def _principal(user: str | None) -> str:
    return f"User:{'*' if user is None else user}"


def _user_of(principal: str) -> str | None:
    user = principal.removeprefix("User:")
    return None if user == "*" else user


def _frame(acl: Acl) -> tuple[int, str, int, str, str, int, int]:
    return (acl.resource, acl.name, acl.pattern, acl.principal, _EVERY_HOST, acl.operation, _ALLOW)


def _check(code: int, message: str | None, what: str) -> None:
    if code == _NO_AUTHORIZER:
        raise StartRefused(
            "the broker keeps no permissions: set authorizer.class.name in its settings "
            "(org.apache.kafka.metadata.authorizer.StandardAuthorizer)"
        )
    if code:
        raise_for_refusal(code, f"{what}: {message}" if message else what)
