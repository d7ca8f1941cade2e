"""strider parser diff: what the live parser and its shadow say of the same pages.

Reads without a group: nobody's offsets are touched, and it may be run while both work.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from strider.cli.topics_broker import Target, open_registry
from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.topics import PAGES_PARSED, PAGES_PARSED_SHADOW
from strider.contracts.multipart_pages import permanent_failure_reason
from strider.messaging.kafka import KafkaBus
from strider.messaging.schema_topic import SchemaFinder
from strider.messaging.topics.tail import TailOptions, TopicTail

from .agreement import Agreement


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line."""

    since: datetime | None = None
    most_pages: int = 10_000
    least: float = 0.0
    as_json: bool = False


async def compare(target: Target, asked: Asked) -> int:
    """Compare on a broker, and print; gives the exit code."""
    bus = KafkaBus(target.connection)
    registry = open_registry(target.settings)
    codec = Codec(SchemaStore.bundled())
    schemas = SchemaFinder(bus, codec=codec, registry=registry)
    try:
        agreement = await gather(TopicTail(bus, codec, schemas), asked)
    finally:
        await schemas.close()
        await bus.close()
        if registry is not None:
            await registry.close()
    print(as_json(agreement) if asked.as_json else as_text(agreement))
    return 1 if not agreement.pages or any(agreement.below(asked.least)) else 0


async def gather(tail: TopicTail, asked: Asked) -> Agreement:
    """Read the shadow's pages, then the live parser's."""
    agreement = Agreement(asked.most_pages)
    await _read(tail, PAGES_PARSED_SHADOW, asked, agreement.hear_shadow)
    await _read(tail, PAGES_PARSED, asked, agreement.hear_live)
    return agreement


async def _read(
    tail: TopicTail, topic: Topic[PageParsed], asked: Asked, hear: Callable[[PageParsed], None]
) -> None:
    wish = TailOptions(since=asked.since, from_beginning=asked.since is None)
    async with aclosing(tail.read(topic.name, topic, wish)) as lines:
        async for line in lines:
            # What only closes an entry was read by nobody.
            if isinstance(line.event, PageParsed) and not permanent_failure_reason(line.record.headers):
                hear(line.event)


def as_json(agreement: Agreement) -> str:
    """Write it for programs."""
    fields: dict[str, Any] = {
        name: {**asdict(told), "agreement": round(told.share, 4)} for name, told in agreement.fields.items()
    }
    versions = [
        {"live": live, "shadow": shadow, "pages": pages}
        for (live, shadow), pages in agreement.versions.items()
    ]
    told = {
        "pages": agreement.pages,
        "unmatched": agreement.unmatched,
        "versions": versions,
        "fields": fields,
    }
    return json.dumps(told, ensure_ascii=False, indent=1)


def as_text(agreement: Agreement) -> str:
    """Write it for people, what agrees least first."""
    lines = [f"{agreement.pages} pages compared; {agreement.unmatched} that only the shadow has read"]
    lines += [
        f"  {live} against {shadow}: {pages}" for (live, shadow), pages in agreement.versions.most_common()
    ]
    lines.append(f"{'field':<22}{'agreement':>10}{'differ':>8}{'live only':>11}{'shadow only':>13}")
    for name, told in sorted(agreement.fields.items(), key=lambda item: (item[1].share, item[0])):
        lines.append(
            f"{name:<22}{told.share:>10.1%}{told.differ:>8}{told.only_live:>11}{told.only_shadow:>13}"
        )
        if told.example[0]:
            lines.append(f"    {told.example[0]}: {told.example[1] or '-'} / {told.example[2] or '-'}")
    return "\n".join(lines)
