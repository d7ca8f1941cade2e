"""The registry matches the design: topics, keys, shards, gates, sizes, frontier topics."""

from __future__ import annotations

import json
from io import BytesIO
from operator import attrgetter
from typing import Any

import fastavro
import pytest

from strider.contracts import TOPICS, Topic, dlq
from strider.contracts.codegen import load_declarations
from strider.contracts.codegen.checks import record_from_json
from strider.contracts.codegen.declarations import ArrayType, RecordType
from strider.contracts.errors import DECODE_REASONS
from strider.contracts.generated import topics
from strider.contracts.generated.enums import ENUMS, DeadLetterReason
from strider.contracts.generated.events import EVENTS, DeadLetter, HostRecorded, JobEvent, SeedSubmitted
from strider.contracts.generated.topics import EXAMPLE_SERVICES, SERVICES
from strider.contracts.partitioning import key_partition, shard_of_host

from .small_schemas import ROOT

DECLARATIONS = load_declarations(ROOT / "schemas")
SHARDS = 12

DESIGN = [
    # name, key, partitioned by, cleanup, retention in days, writers (planned)
    ("seeds-submitted", "host of url", "key", "delete", 30, "anyone person api"),
    ("seeds-owned", "host of url", "key", "delete", 30, "person api scheduler"),
    ("sources", "source_id", "key", "compact", None, "api person"),
    ("crawl-specs", "crawl_spec_id", "key", "compact", None, "link-ingestion scheduler person"),
    ("schemas", "fingerprint", "key", "compact", None, " ".join((*SERVICES, *EXAMPLE_SERVICES))),
    ("links-discovered", "shard", "explicit", "delete", 7, "link-ingestion scheduler"),
    ("fetch-requests", "group", "shard", "delete", 1, "scheduler"),
    ("render-requests", "group", "shard", "delete", 1, "(scheduler)"),
    ("fetches-completed", "group", "shard", "delete", 7, "fetcher (renderer)"),
    ("pages-fetched", "url_key", "key", "delete", 1, "fetcher (renderer)"),
    ("pages-parsed", "group", "shard", "delete", 1, "parser"),
    ("pages-parsed-shadow", "group", "shard", "delete", 1, "parser"),
    ("pages-validated", "page.group", "shard", "delete", 1, "validator"),
    ("pages-rejected", "group", "shard", "delete", 1, "parser validator"),
    ("pages-settled", "group", "shard", "delete", 7, "link-ingestion"),
    ("frontier", "job_id/url_key", "shard", "compact", None, "scheduler"),
    ("hosts", "origin or group", "shard", "compact", None, "scheduler"),
    ("adaptive-state", "source_id", "shard", "compact", None, "scheduler"),
    ("urls-decided", "url_key", "key", "delete", 30, "link-ingestion scheduler (validator)"),
    ("job-commands", "event_id", "key", "compact", None, "scheduler person link-ingestion api"),
    ("job-events", "job_id or group", "key", "delete", 30, "scheduler"),
    *((f"{name}-dlq", "key", "key", "delete", 30, "runtime") for name in (*SERVICES, *EXAMPLE_SERVICES)),
    ("echo-requests", "host", "shard", "delete", 1, "anyone"),
    ("echoes", "host", "shard", "delete", 1, "echo"),
    ("tallies", "host", "shard", "compact", None, "tally"),
]


def _as_designed(topic: Topic[Any]) -> tuple[Any, ...]:
    milliseconds = topic.config.get("retention.ms")
    days = int(milliseconds) // 86_400_000 if milliseconds else None
    return (
        topic.name,
        topic.key_name,
        topic.partitioner,
        topic.cleanup,
        days,
        " ".join((*topic.writers, *(f"({name})" for name in topic.planned_writers))),
    )


def test_the_topics_are_those_of_the_design() -> None:
    """Name, key, partitioner, cleanup and writers, row by row, without further rows."""
    assert sorted(map(_as_designed, TOPICS.values())) == sorted(DESIGN)


def _event(topic: Topic[Any], name: str = "full", **changes: Any) -> Any:
    event = topic.schema_name.rpartition(".v")[0]
    example = next(one for one in DECLARATIONS.examples if (one.event, one.name) == (event, name))
    record = record_from_json(
        DECLARATIONS.schemas[topic.schema_name].record, example.content, file=example.file
    )
    return topic.value.from_record(record | changes)


URL_KEY = "d8c77c0bfdd3ae64fb0a45a84a7ec9c5a1b3cd4e2a1a0f1ea2c5c5b3a4d9a8c1"

KEYS = [
    pytest.param("seeds-submitted", {"url": "https://User@A.test:8443/x"}, b"a.test", id="host-of-the-seed"),
    pytest.param("seeds-submitted", {"url": "no url at all"}, None, id="a-bad-seed-has-no-key"),
    pytest.param("sources", {"source_id": "blog"}, b"blog", id="source"),
    pytest.param("links-discovered", {"shard": 11}, b"11", id="shard"),
    pytest.param("fetch-requests", {"group": "a.test"}, b"a.test", id="group"),
    pytest.param("pages-fetched", {"url_key": URL_KEY}, URL_KEY.encode(), id="url-hash"),
    pytest.param("frontier", {"job_id": "blog", "url_key": URL_KEY}, f"blog/{URL_KEY}".encode(), id="entry"),
    pytest.param("hosts", {"group": "a.test", "origin": ""}, b"a.test", id="group-of-a-host"),
    pytest.param("hosts", {"group": "a.test", "origin": "https://a.test"}, b"https://a.test", id="origin"),
    pytest.param("job-commands", {"event_id": "c0ffee"}, b"c0ffee", id="command"),
    pytest.param("job-events", {"job_id": "blog"}, b"blog", id="job"),
    pytest.param("job-events", {"job_id": "", "group": "a.test"}, b"a.test", id="host-command"),
    pytest.param("parser-dlq", {"key": b"\xff\x00"}, b"\xff\x00", id="as-the-original"),
    pytest.param("parser-dlq", {"key": None}, None, id="as-an-original-without"),
]


@pytest.mark.parametrize(("name", "changes", "key"), KEYS)
def test_keys_follow_from_events(name: str, changes: dict[str, Any], key: bytes | None) -> None:
    topic = TOPICS[name]

    assert topic.key_of(_event(topic, **changes)) == key


def test_a_robots_record_and_its_group_share_a_shard() -> None:
    """The owner of a group must own its robots rules, whatever their keys are."""
    group, robots = (
        HostRecorded(kind=kind, group="www.a.test", updated_at_ms=0, origin=origin)
        for kind, origin in (("group", ""), ("robots", "https://www.a.test:8443"))
    )

    assert topics.HOSTS.shard_of is not None
    assert topics.HOSTS.shard_of(group, SHARDS) == topics.HOSTS.shard_of(robots, SHARDS)


def test_all_that_concerns_a_host_is_in_one_shard() -> None:
    """Every topic by group uses the same function, so one scheduler is the only writer for a host."""
    by_group = [topic for topic in TOPICS.values() if topic.shard_of and topic.name != "adaptive-state"]

    shards, expected = {}, {}
    for topic in by_group:
        event, rule = _event(topic), DECLARATIONS.topics[topic.name].shard_by
        assert rule is not None
        assert rule.rule == "host"
        assert topic.shard_of is not None
        shards[topic.name] = topic.shard_of(event, SHARDS)
        expected[topic.name] = shard_of_host(attrgetter(rule.path)(event), SHARDS)

    assert shards == expected
    assert {"fetch-requests", "fetches-completed", "pages-settled", "frontier", "hosts"} <= shards.keys()


def test_a_source_is_in_the_partition_of_kafkas_own_hash() -> None:
    """A source may span hosts, so it has no host to be sharded by."""
    event = _event(topics.ADAPTIVE_STATE, source_id="blog")

    assert topics.ADAPTIVE_STATE.shard_of is not None
    assert topics.ADAPTIVE_STATE.shard_of(event, SHARDS) == key_partition(b"blog", SHARDS)


def test_every_page_event_names_its_entry_in_its_headers() -> None:
    """A service that cannot read the value must still be able to settle the page by its key."""
    page_topics = [topic for topic in TOPICS.values() if topic.headers]

    headers = {topic.name: topic.headers_of(_event(topic)) for topic in page_topics}

    event = _event(topics.PAGES_FETCHED)
    expected = (
        ("entry", f"example-blog/{event.url_key}".encode()),
        ("execution", b"example-blog/2025-11-18/1"),
        ("fetch-sequence", b"3"),
        ("group", b"blog.example.org"),
    )
    assert headers == dict.fromkeys(
        (
            "fetches-completed",
            "pages-fetched",
            "pages-parsed",
            "pages-parsed-shadow",
            "pages-rejected",
            "pages-settled",
            "pages-validated",
        ),
        expected,
    )


def test_the_gate_reads_the_closed_list_of_the_design() -> None:
    """A backlog that the release itself feeds would close the gate forever."""
    gates = {
        (topic.name, reader.group, reader.gates)
        for topic in TOPICS.values()
        for reader in topic.read_by
        if reader.gates != "none"
    }

    assert gates == {
        ("fetch-requests", "fetcher", "release"),
        ("pages-fetched", "parser", "release"),
        ("pages-parsed", "validator", "release"),
        ("pages-validated", "link-ingestion-pages", "release"),
        ("pages-rejected", "link-ingestion-pages", "release"),
        ("pages-validated", "indexer", "release"),
        ("pages-rejected", "indexer", "release"),
        ("fetches-completed", "scheduler", "shard"),
        ("pages-settled", "scheduler", "shard"),
        ("links-discovered", "scheduler", "raw_seeds"),
        ("seeds-owned", "link-ingestion-owned-seeds", "completion"),
        ("seeds-submitted", "link-ingestion-seeds", "completion"),
    }


def test_no_topic_of_seeds_is_missing_in_the_proof_of_a_runs_end() -> None:
    """A run would end before its seeds are read."""
    seeds = {topic.name for topic in TOPICS.values() if topic.value is SeedSubmitted}

    assert seeds == {
        topic.name
        for topic in TOPICS.values()
        for reader in topic.read_by
        if reader.gates == "completion" and reader.service == "link-ingestion"
    }


def test_seeds_and_pages_are_read_by_separate_groups() -> None:
    """A flood of seeds delays no page."""
    groups = {
        topic.name: reader.group
        for topic in TOPICS.values()
        for reader in topic.read_by
        if reader.service == "link-ingestion" and reader.group
    }

    assert groups == {
        "seeds-submitted": "link-ingestion-seeds",
        "seeds-owned": "link-ingestion-owned-seeds",
        "pages-validated": "link-ingestion-pages",
        "pages-rejected": "link-ingestion-pages",
    }


def test_readers_and_how_they_read_agree() -> None:
    """`readers` names services, `read_by` has the details: two views of the same lines."""
    for topic in TOPICS.values():
        built = (reader.service for reader in topic.read_by if not reader.planned)
        assert topic.readers == tuple(dict.fromkeys(built))
        assert {reader.initial for reader in topic.read_by} <= {"earliest"}


def test_frontier_logs_are_compacted_and_written_in_transactions() -> None:
    """A tombstone must outlive every rebuild, and a fenced owner must have written nothing."""
    truths = {topic.name: topic for topic in TOPICS.values() if topic.transactional}

    assert set(truths) == {"frontier", "hosts", "adaptive-state", "tallies"}
    for topic in truths.values():
        assert topic.config["cleanup.policy"] == "compact"
        assert topic.config["delete.retention.ms"] == str(7 * 86_400_000)
        assert topic.partitions is None


def test_size_limits_leave_space_for_the_verdict() -> None:
    """A parsed page that fits must still fit when it is validated."""
    assert max(topic.max_bytes for topic in TOPICS.values()) == 512 * 1024
    assert topics.PAGES_VALIDATED.max_bytes - topics.PAGES_PARSED.max_bytes == 16 * 1024
    assert topics.LINKS_DISCOVERED.max_bytes == 256 * 1024
    assert all(topic.max_bytes < int(topic.config["max.message.bytes"]) for topic in TOPICS.values())


def test_only_bodies_travel_uncompressed_and_only_seeds_as_json() -> None:
    """Bodies are already compressed; only the seed topic accepts JSON."""
    assert [topic.name for topic in TOPICS.values() if topic.compression != "zstd"] == ["pages-fetched"]
    assert [topic.name for topic in TOPICS.values() if topic.accepts_json] == [
        "seeds-owned",
        "seeds-submitted",
    ]


def test_a_seed_needs_nothing_but_its_url() -> None:
    seed = SeedSubmitted("https://example.org/")

    assert (
        seed.max_depth,
        seed.scope,
        seed.priority,
        seed.job_id,
        seed.delay,
        seed.fresh,
        seed.metadata,
    ) == (
        None,
        None,
        3,
        None,
        None,
        False,
        {},
    )


@pytest.mark.req("S4.6.4")
def test_every_service_has_a_place_for_what_it_cannot_handle() -> None:
    for service in (*SERVICES, *EXAMPLE_SERVICES):
        assert dlq(service).value is DeadLetter
    with pytest.raises(LookupError, match="no dead-letter topic: 'baker' is not a service"):
        dlq("baker")


@pytest.mark.req("S4.6.3")
def test_a_dead_letter_has_task_kind_message_trace_and_time() -> None:
    """The fields by which operators find patterns in errors, for messages and for lost ranges."""
    letter = _event(topics.PARSER_DLQ)

    assert letter.task_id.startswith("example-blog/")
    assert (letter.error_class, letter.error_message) == ("ValueError", "no such thing")
    assert letter.stack_trace.startswith("Traceback")
    assert letter.occurred_at_ms == 1763467200300
    assert {"network", "parse", "validation"} <= set(ENUMS["error-category"])
    assert (letter.lost_from, letter.lost_to) == (-1, -1)


def test_every_reason_for_refused_bytes_is_a_reason_of_dead_letters() -> None:
    """The decoder's reason is copied into the dead letter."""
    assert set(DECODE_REASONS) < set(DeadLetterReason)


def test_entries_close_for_every_reason_that_a_url_is_refused_for() -> None:
    """One closed list of reasons for URLs and for their entries."""
    assert set(ENUMS["decision-reason"]) < set(ENUMS["entry-reason"])


def test_a_validated_page_is_the_parsed_page_and_a_verdict() -> None:
    """Avro is concatenation: any reader reads what was never encoded as a whole."""
    schemas = {name: schema.resolved for name, schema in DECLARATIONS.schemas.items()}
    page, verdict = (_event(topics.PAGES_PARSED), EVENTS["verdict.v1"]("valid", "1", 5))
    parsed, whole = (schemas[topic.schema_name] for topic in (topics.PAGES_PARSED, topics.PAGES_VALIDATED))
    spliced = _encode(parsed, page) + _encode(schemas["verdict.v1"], verdict)

    read = fastavro.schemaless_reader(BytesIO(spliced), fastavro.parse_schema(whole), None)

    assert topics.PAGES_VALIDATED.value.from_record(read) == topics.PAGES_VALIDATED.value(page, verdict)
    assert [field["name"] for field in whole["fields"]] == ["page", "verdict"]
    assert whole["fields"][0]["type"] == parsed


def test_hot_events_have_no_arrays_of_records_but_the_few_products() -> None:
    """Links as records cost four times as much to read and write."""
    found = {
        (schema.name, field.name)
        for schema in DECLARATIONS.schemas.values()
        for field in schema.record.fields
        if isinstance(field.type, ArrayType) and isinstance(field.type.of, RecordType)
    }

    assert found == {(topics.PAGES_PARSED.schema_name, "products")}


def test_host_commands_and_job_commands_are_distinguished() -> None:
    event = JobEvent("e", "block_host", is_wish=True, at_ms=0, by="ada", group="a.test")

    assert topics.JOB_EVENTS.key_of(event) == b"a.test"


def _encode(schema: dict[str, Any], event: Any) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), event.to_record())
    return out.getvalue()
