"""Steps between the start of servers and of services: topics and migrations.

Both are idempotent, so they run at every start, and again when they fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from strider.contracts import TOPICS
from strider.messaging.errors import InfrastructureError
from strider.messaging.topics import apply_topics as apply
from strider.storage.errors import StoreFailure
from strider.storage.migrations import upgrade

from .errors import DeclarationConflict, StackNotReady
from .plan.endpoints import common_settings, kafka_connection

EXAMPLE: Final = "example"


async def apply_topics(servers: str, *, examples: bool, environment: Mapping[str, str]) -> None:
    """Create missing topics; DeclarationConflict names those that differ from their declaration."""
    topics = [topic for topic in TOPICS.values() if examples or topic.profile != EXAMPLE]
    try:
        connection = kafka_connection(servers, environment)
        report = await apply(connection, topics, shards=common_settings(environment).run.shards)
    except InfrastructureError as failure:
        raise StackNotReady("topics", str(failure)) from failure
    if report.plan.refused:
        conflicts = "; ".join(f"{refused.topic} {refused.why}" for refused in report.plan.refused)
        raise DeclarationConflict("topics", conflicts)


async def apply_migrations(dsn: str) -> None:
    """Migrate the tables to the newest revision; StackNotReady says what was refused."""
    try:
        await upgrade(dsn)
    except (InfrastructureError, StoreFailure) as failure:
        raise StackNotReady("migrations", str(failure)) from failure
