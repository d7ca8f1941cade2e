"""Declared writers and readers of topics are those that the code has, in both directions.

What services say (`CONSUMES`, `PRODUCES`) is joined with what their source does beside that: tables that they
read whole, and what the command line reads and writes. A planned writer or reader has no code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from strider.contracts import TOPICS, Topic
from strider.contracts.generated import topics
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    EXAMPLE_SERVICES,
    JOB_COMMANDS,
    JOB_EVENTS,
    SCHEMAS,
    SERVICES,
    SOURCES,
)

from .rules import sources

ROOT = Path(__file__).parents[2]

WRITES, READS, READS_WHOLE = "writes", "reads in a group", "reads whole"

CALLS = {
    **dict.fromkeys(("Publish", "PublishRaw", "OutgoingMessage", "append"), WRITES),
    "Subscription": READS,
    **dict.fromkeys(("TopicPartition", "read_latest", "_read_latest", "read_events", "_read"), READS_WHOLE),
    "__init__": READS_WHOLE,  # of a base class that follows a topic: TopicFeed
}
"""Call that has a topic among its arguments -> kind of use."""
NEUTRAL_CALLS = frozenset(
    {
        *("decode", "encode", "_decode", "decoder_of", "locate_event", "message_prefix"),
        *("FieldPeeker", "Splicer", "PipelineStage", "emit", "check_value"),
        *("partition_count", "_partition_count", "cluster_identity", "MissingTopic"),
    }
)
"""Calls that neither read nor write the topic that they are given."""
LIBRARY_READERS = {
    "CrawlSpecCache": CRAWL_SPECS.name,
    "JobCommandFeed": JOB_COMMANDS.name,
    "JobEventFeed": JOB_EVENTS.name,
    "SourcePublication": SOURCES.name,
}
"""Class of a library that follows a topic -> the topic."""
LIBRARY_WRITERS = {"SourcePublication": SOURCES.name}
"""Class of a library that publishes -> the topic."""
ONE_PROCESS = ("crawl", "parse")
"""Packages of the command line whose pipeline runs on the in-process bus, not on Kafka."""
OUTSIDE = frozenset({"anyone", "runtime"})
"""Writers that are no member: every client, and the runtime, which writes the dead letters of its service."""


class Use(NamedTuple):
    """One member's use of one topic."""

    member: str
    way: str
    topic: str


def family(topic: str) -> str:
    return "<service>-dlq" if topic.endswith("-dlq") else topic


def declared_uses(registry: Iterable[Topic[Any]]) -> set[Use]:
    """Return what the declarations say, without what is planned."""
    found = set()
    for topic in registry:
        if topic.name == SCHEMAS.name:
            continue  # every process, by the runtime
        found |= {Use(name, WRITES, family(topic.name)) for name in topic.writers if name not in OUTSIDE}
        for reader in topic.read_by:
            if not reader.planned:
                way = READS if reader.group else READS_WHOLE
                found.add(Use(reader.service, way, family(topic.name)))
    return found


def topic_of(argument: ast.expr, constants: Mapping[str, str]) -> str | None:
    """Return the topic that an argument is, by its constant or by the name of that."""
    node = argument.value if isinstance(argument, ast.Attribute) and argument.attr == "name" else argument
    return constants.get(node.id) if isinstance(node, ast.Name) else None


def uses_in(tree: ast.AST, member: str) -> Iterator[Use]:
    """Yield the uses of topics in a module; raises AssertionError at a call that is in neither list."""
    constants = {
        name.asname or name.name: getattr(topics, name.name).name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("generated.topics")
        for name in node.names
        if isinstance(getattr(topics, name.name, None), Topic)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in LIBRARY_READERS:
            yield Use(member, READS_WHOLE, LIBRARY_READERS[called])
        if called in LIBRARY_WRITERS:
            yield Use(member, WRITES, LIBRARY_WRITERS[called])
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            topic = topic_of(argument, constants)
            if topic is None or called in NEUTRAL_CALLS:
                continue
            assert called in CALLS, f"{member}: {called} has {topic}: name it in CALLS or NEUTRAL_CALLS"
            yield Use(member, CALLS[called], family(topic))


def source_uses(member: str, folder: Path) -> set[Use]:
    paths = (path for path in sources.python_files(ROOT) if folder in path.parents)
    return {use for path in paths for use in uses_in(sources.tree(path), member)}


def members() -> dict[str, Path]:
    """Return the services and examples that exist, each with its folder."""
    places = [ROOT / "services" / name for name in SERVICES]
    places += [ROOT / "examples" / name for name in EXAMPLE_SERVICES]
    return {place.name: place / "src" for place in places if place.is_dir()}


def stated_uses(member: str) -> set[Use]:
    """Return what a service says of itself."""
    package = f"strider.{member.replace('-', '_')}"
    module = import_module(f"{package}.{'routes' if member == 'api' else 'topology'}")
    return {
        *(Use(member, READS, family(topic.name)) for topic in module.CONSUMES),
        *(Use(member, WRITES, family(topic.name)) for topic in module.PRODUCES),
    }


def commands_uses() -> set[Use]:
    folder = ROOT / "cli/src/strider/cli"
    paths = [path for path in sources.python_files(ROOT) if folder in path.parents]
    shared = (path for path in paths if path.relative_to(folder).parts[0] not in ONE_PROCESS)
    return {use for path in shared for use in uses_in(sources.tree(path), "person")}


def differences(declared: set[Use], actual: set[Use]) -> list[str]:
    missing = [f"{use.member} {use.way} {use.topic}: not declared" for use in actual - declared]
    return sorted(missing + [f"{use.member} {use.way} {use.topic}: no code" for use in declared - actual])


def actual_uses() -> set[Use]:
    found = commands_uses()
    for member, folder in members().items():
        found |= stated_uses(member)
        found |= {use for use in source_uses(member, folder) if use.way == READS_WHOLE}
    return found


def test_declared_writers_and_readers_are_those_of_the_code() -> None:
    """Otherwise the README's table and the AsyncAPI document promise what nothing does."""
    assert differences(declared_uses(TOPICS.values()), actual_uses()) == []


def test_services_state_every_topic_that_their_source_names() -> None:
    """A service declares its schemas for the topics in PRODUCES alone."""
    for member, folder in members().items():
        named = {use for use in source_uses(member, folder) if use.way != READS_WHOLE}
        assert named - stated_uses(member) == set()


def test_a_planned_writer_or_reader_is_none_that_exists() -> None:
    """A member without code is planned on every topic, except where the list names every service."""
    built = {*members(), "person", *OUTSIDE}
    for topic in TOPICS.values():
        if topic.name != SCHEMAS.name:
            assert built.issuperset(topic.writers)
            assert built.issuperset(topic.readers)


REJECTED = [
    pytest.param("validator", WRITES, "pages-rejected", id="writer"),
    pytest.param("indexer", READS, "hosts", id="reader"),
    pytest.param("scheduler", READS_WHOLE, "sources", id="table"),
    pytest.param("person", WRITES, "job-commands", id="command"),
    pytest.param("parser", READS_WHOLE, "crawl-specs", id="table-of-a-library"),
]


@pytest.mark.parametrize(("member", "way", "topic"), REJECTED)
def test_it_rejects_a_use_without_declaration_and_a_declaration_without_use(
    member: str, way: str, topic: str
) -> None:
    use, actual = Use(member, way, topic), actual_uses()
    declared = declared_uses(TOPICS.values())

    assert use in actual
    assert differences(declared - {use}, actual) == [f"{member} {way} {topic}: not declared"]
    assert differences(declared, actual - {use}) == [f"{member} {way} {topic}: no code"]


IMPORT = "from strider.contracts.generated.topics import SOURCES\n"
SOURCE_CASES = [
    pytest.param("Publish(SOURCES, event)", WRITES, id="publish"),
    pytest.param("OutgoingMessage(SOURCES.name, key)", WRITES, id="message"),
    pytest.param("TopicPartition(SOURCES.name, 0)", READS_WHOLE, id="partition"),
    pytest.param("Subscription(SOURCES, handler=h)", READS, id="subscription"),
]


@pytest.mark.parametrize(("call", "way"), SOURCE_CASES)
def test_it_finds_uses_in_source(call: str, way: str) -> None:
    assert list(uses_in(ast.parse(IMPORT + call), "api")) == [Use("api", way, "sources")]


def test_it_rejects_a_call_that_is_in_neither_list() -> None:
    """Otherwise a new way to write a topic would be missed."""
    with pytest.raises(AssertionError, match="send_somehow"):
        list(uses_in(ast.parse(IMPORT + "send_somehow(SOURCES, event)"), "api"))
