"""Compare live and shadow parser on the same pages (`strider parser diff`).

Reads without a consumer group: no offsets change, and it may run while both work.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from strider.cli.connections import BrokerTarget, open_schema_registry
from strider.cli.exit_codes import CommandExit
from strider.cli.output import counted, json_text, print_text, table_text, warn
from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.topics import PAGES_PARSED, PAGES_PARSED_SHADOW
from strider.contracts.multipart_pages import closing_reason
from strider.messaging.kafka import KafkaBus
from strider.messaging.schema_topic import SchemaFinder
from strider.messaging.topics.tail import TailOptions, TopicTail

from .field_comparison import FieldComparison


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """The options of `strider parser diff`."""

    since: datetime | None = None
    max_pages: int = 10_000
    min_agreement: float = 0.0
    as_json: bool = False


async def run_diff(target: BrokerTarget, options: DiffOptions) -> CommandExit:
    """Compare the pages on a broker, and print the result; returns the exit code."""
    bus = KafkaBus(target.connection)
    registry = open_schema_registry(target.settings)
    codec = Codec(SchemaStore.bundled())
    schemas = SchemaFinder(bus, codec=codec, registry=registry)
    try:
        comparison = await gather_comparison(TopicTail(bus, codec, schemas), options)
    finally:
        await schemas.close()
        await bus.close()
        if registry is not None:
            await registry.close()
    print_text(comparison_json(comparison) if options.as_json else comparison_text(comparison))
    if not comparison.pages:
        warn(
            f"no page is in {PAGES_PARSED.name} and in {PAGES_PARSED_SHADOW.name}, so nothing was compared; "
            "start a shadow parser, or give an earlier --since"
        )
    differs = not comparison.pages or any(comparison.fields_below(options.min_agreement))
    return CommandExit.FAILED if differs else CommandExit.DONE


async def gather_comparison(tail: TopicTail, options: DiffOptions) -> FieldComparison:
    """Read the pages of the shadow parser, then those of the live parser."""
    comparison = FieldComparison(options.max_pages)
    await _read(tail, PAGES_PARSED_SHADOW, options, comparison.add_shadow)
    await _read(tail, PAGES_PARSED, options, comparison.add_live)
    return comparison


async def _read(
    tail: TopicTail, topic: Topic[PageParsed], options: DiffOptions, add: Callable[[PageParsed], None]
) -> None:
    wish = TailOptions(since=options.since, from_beginning=options.since is None)
    async with aclosing(tail.read(topic.name, topic, wish)) as lines:
        async for line in lines:
            # A record that only closes an entry was not parsed.
            if isinstance(line.event, PageParsed) and not closing_reason(line.record.headers):
                add(line.event)


def comparison_json(comparison: FieldComparison) -> str:
    """Return the comparison as JSON."""
    fields: dict[str, Any] = {
        name: {**asdict(counts), "agreement": round(counts.share, 4)}
        for name, counts in comparison.fields.items()
    }
    versions = [
        {"live": live, "shadow": shadow, "pages": pages}
        for (live, shadow), pages in comparison.versions.items()
    ]
    result = {
        "pages": comparison.pages,
        "unmatched": comparison.unmatched,
        "versions": versions,
        "fields": fields,
    }
    return json_text(result, ascii_only=False, indent=1)


def comparison_text(comparison: FieldComparison) -> str:
    """Return the comparison as lines for people, the least agreement first."""
    compared = counted(comparison.pages, "page")
    lines = [f"{compared} compared; {comparison.unmatched} only parsed by the shadow parser"]
    lines += [
        f"  {live} against {shadow}: {pages}" for (live, shadow), pages in comparison.versions.most_common()
    ]
    headers = ("field", "agreement", "differ", "live only", "shadow only", "page", "live", "shadow")
    rows = [
        (
            *(name, f"{counts.share:.1%}"),
            *map(str, (counts.differ, counts.only_live, counts.only_shadow)),
            *counts.example,
        )
        for name, counts in sorted(comparison.fields.items(), key=lambda item: (item[1].share, item[0]))
    ]
    return "\n".join((*lines, table_text(headers, rows, wrapped=("page", "live", "shadow"))))
