"""Render the topics as the Markdown table of the README."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from strider.contracts.generated.topics import EXAMPLE_SERVICES, SERVICES, TOPICS
from strider.contracts.topic import Topic, TopicReader

COLUMNS: Final = ("topic", "what it carries", "key · partitioned by", "kept", "written by", "read by")

_HOUR_MS: Final = 3_600_000
_DAY_HOURS: Final = 24
_GIB: Final = 1 << 30


def render_markdown(topics: Iterable[Topic[Any]] | None = None) -> str:
    """Render topics (by default the core ones) as a table; dead-letter topics share a row."""
    chosen = [topic for topic in TOPICS.values() if topic.profile == "core"] if topics is None else topics
    rows = [COLUMNS, tuple("---" for _ in COLUMNS), *_rows(chosen)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _rows(topics: Iterable[Topic[Any]]) -> Iterator[tuple[str, ...]]:
    letters: Topic[Any] | None = None
    for topic in topics:
        if topic.name.endswith("-dlq"):
            letters = topic
        else:
            yield _row(topic, f"`{topic.name}`", topic.description)
    if letters is not None:
        what = "Messages that a service could not handle, with their original bytes and why."
        yield _row(letters, "`<service>-dlq`", what, key="as the original")


def _row(topic: Topic[Any], name: str, what: str, *, key: str = "") -> tuple[str, ...]:
    transactions = ", in transactions" if topic.transactional else ""
    planned = [f"{name} (planned)" for name in topic.planned_writers]
    return (
        name,
        what,
        f"{key or topic.key_name.replace('_', ' ')} · {topic.partitioner}",
        _kept(topic),
        ", ".join([*_names(topic.writers), *planned]) + transactions,
        ", ".join(dict.fromkeys(_readers(topic))) or "people",
    )


def _readers(topic: Topic[Any]) -> Iterator[str]:
    if {reader.service for reader in topic.read_by} >= SERVICES.keys():
        yield "every service"
        return
    yield from (_reader(reader) for reader in topic.read_by)


def _reader(reader: TopicReader) -> str:
    has_own_group = reader.group is not None and reader.group != reader.service
    notes = [reader.group.removeprefix(reader.service + "-")] if has_own_group and reader.group else []
    notes += ["planned"] if reader.planned else []
    return f"{reader.service} ({', '.join(notes)})" if notes else reader.service


def _names(names: tuple[str, ...]) -> list[str]:
    return ["every service"] if {*names} >= {*SERVICES, *EXAMPLE_SERVICES} else list(names)


def _kept(topic: Topic[Any]) -> str:
    if topic.cleanup == "compact":
        return "latest by key"
    hours = int(topic.config["retention.ms"]) // _HOUR_MS
    time = f"{hours} h" if hours <= _DAY_HOURS else f"{hours // _DAY_HOURS} d"
    size = topic.config.get("retention.bytes")
    return f"{time}, at most {int(size) // _GIB} GiB a partition" if size else time
