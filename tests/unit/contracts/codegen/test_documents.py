"""Rendered documents follow the registry, and the committed files are current."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import yaml

from strider.contracts import TOPICS
from strider.contracts.codegen.asyncapi import PLANNED, render_asyncapi
from strider.contracts.codegen.markdown import render_markdown
from strider.contracts.codegen.strimzi import render_strimzi
from strider.contracts.generated.topics import FRONTIER, PAGES_FETCHED, PARSER_DLQ, SEEDS_SUBMITTED, TALLIES

from .small_schemas import ROOT

# libyaml reads a document of 8,000 lines in a tenth of the time.
read, read_all = (partial(each, Loader=yaml.CSafeLoader) for each in (yaml.load, yaml.load_all))
CORE = [topic for topic in TOPICS.values() if topic.profile == "core"]


@pytest.mark.parametrize(
    ("path", "render"),
    [
        pytest.param("deploy/kafka/topics.yaml", render_strimzi, id="strimzi"),
        pytest.param("docs/asyncapi.yaml", render_asyncapi, id="asyncapi"),
    ],
)
def test_the_committed_file_is_current(path: str, render: Callable[[], str]) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == render(), "run: make contracts"


def test_a_changed_topic_changes_every_rendering() -> None:
    """A document that did not depend on a property could never be outdated."""
    changed = replace(
        FRONTIER, description="Something else.", config={**FRONTIER.config, "retention.ms": "7"}
    )

    for render in (render_strimzi, render_asyncapi, render_markdown):
        assert render([changed]) != render([FRONTIER])


def test_each_core_topic_is_one_strimzi_resource() -> None:
    resources = {one["metadata"]["name"]: one for one in read_all(render_strimzi())}

    assert set(resources) == {topic.name for topic in CORE}
    assert {(one["apiVersion"], one["kind"]) for one in resources.values()} == {
        ("kafka.strimzi.io/v1", "KafkaTopic")
    }
    assert resources["pages-fetched"]["spec"] == {
        "partitions": 96,
        "replicas": 3,
        "config": {
            "cleanup.policy": "delete",
            "max.message.bytes": 1048576,
            "min.insync.replicas": 2,
            "retention.bytes": 8589934592,
            "retention.ms": 86400000,
            "segment.bytes": 268435456,
            "segment.ms": 3600000,
        },
    }


def test_strimzi_follows_the_deployment_and_keeps_own_counts() -> None:
    """Shards and replicas belong to the deployment; a topic with one partition keeps it."""
    rendered = read_all(render_strimzi([FRONTIER, PARSER_DLQ], shards=24, replicas=1))

    specs = [resource["spec"] for resource in rendered]

    assert [(spec["partitions"], spec["replicas"]) for spec in specs] == [(24, 1), (1, 1)]
    assert all("min.insync.replicas" not in spec["config"] for spec in specs)
    assert specs[0]["config"]["min.cleanable.dirty.ratio"] == "0.2"


def test_asyncapi_names_every_channel_operation_and_message() -> None:
    document: dict[str, Any] = read(render_asyncapi())

    assert set(document["channels"]) == {topic.name for topic in CORE}
    assert set(document["components"]["messages"]) == {topic.value.__name__ for topic in CORE}
    assert {
        "anyone.sends.seeds-submitted",
        "link-ingestion-seeds.reads.seeds-submitted",
        "indexer-archive.reads.pages-fetched",
        "scheduler.reads.frontier",
    } <= set(document["operations"])


def test_asyncapi_references_lead_somewhere() -> None:
    document = read(render_asyncapi([*CORE, TALLIES]))

    for reference in _references(document):
        part = document
        for step in reference.removeprefix("#/").split("/"):
            part = part[step]


def _references(part: Any) -> list[str]:
    if isinstance(part, list):
        return [reference for item in part for reference in _references(item)]
    if not isinstance(part, dict):
        return []
    own = [part["$ref"]] if "$ref" in part else []
    return own + [reference for value in part.values() for reference in _references(value)]


def test_an_asyncapi_message_has_schema_key_headers_and_examples() -> None:
    document = read(render_asyncapi([PAGES_FETCHED, SEEDS_SUBMITTED]))
    fetched, seed = (document["components"]["messages"][name] for name in ("PageFetched", "SeedSubmitted"))

    assert fetched["payload"]["schema"]["name"] == "PageFetched"
    assert fetched["bindings"]["kafka"]["key"] == {"type": "string", "description": "url_key."}
    assert fetched["headers"]["required"] == ["entry", "execution", "fetch-sequence", "group", "schema-fp"]
    assert [example["name"] for example in seed["examples"]] == ["minimal", "full"]
    assert list(seed["examples"][0]["payload"]) == ["url"]
    scope = next(field for field in seed["payload"]["schema"]["fields"] if field["name"] == "scope")
    assert scope["doc"].endswith("One of: host, domain, any, listed.")


def test_the_table_has_a_row_for_each_topic_and_one_for_dead_letters() -> None:
    rows = render_markdown().splitlines()

    names = [row.split("|")[1].strip() for row in rows[2:]]
    expected = [f"`{topic.name}`" for topic in CORE if not topic.name.endswith("-dlq")]
    assert names == [*expected, "`<service>-dlq`"]
    assert rows[0].startswith("| topic | what it carries |")
    assert {row.count("|") for row in rows} == {7}


def test_a_row_names_writer_format_and_retention() -> None:
    assert render_markdown([FRONTIER]).splitlines()[2] == (
        f"| `frontier` | {FRONTIER.description}"
        " | job id/url key · shard | latest by key"
        " | scheduler, in transactions | scheduler, indexer, person |"
    )
    assert "24 h, at most 8 GiB a partition" in render_markdown([PAGES_FETCHED])


def test_planned_writers_and_readers_are_marked_in_table_and_asyncapi_document() -> None:
    """A reader of either must not take a plan for a fact."""
    row = render_markdown([PAGES_FETCHED]).splitlines()[2]
    operations = read(render_asyncapi([PAGES_FETCHED]))["operations"]
    planned = {name for name, operation in operations.items() if operation.get("summary") == PLANNED}

    assert "| fetcher, renderer (planned) | parser, parser (shadow)," in row
    assert row.endswith(", indexer (archive, planned) |")
    assert planned == {"renderer.sends.pages-fetched", "indexer-archive.reads.pages-fetched"}
    assert {"fetcher.sends.pages-fetched", "parser.reads.pages-fetched"} < operations.keys()
