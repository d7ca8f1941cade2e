"""Crawl specs are declared from files and options, found again by their id, and shown without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from strider.cli.commands.specs import app, declare_spec, load_specs, shown_settings, spec_from_settings
from strider.cli.connections import MissingTopic
from strider.cli.seeds.spec_files import InvalidSettings
from strider.cli.seeds.spec_reference import field_references, reference_table
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.generated.topics import CRAWL_SPECS, SCHEMAS
from strider.contracts.specs.crawl_specs import changed_settings, spec_from_seed
from strider.contracts.specs.fields import FIELD_READERS, PLANNED_FIELDS
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate


def settings_of(path: Path | None, *assignments: str) -> dict[str, Any]:
    return changed_settings(spec_from_settings(path, assignments))


def fault_of(path: Path | None, *assignments: str) -> str:
    with pytest.raises(InvalidSettings) as refused:
        spec_from_settings(path, assignments)
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("spec.yaml", "# for the shop\nuse_cookies: true\nhosts: [b.test]\nmax_depth: 2\n"),
        ("spec.json", '{"use_cookies": true, "hosts": ["b.test"], "max_depth": 2}'),
        ("spec", '{"use_cookies": true, "hosts": "b.test", "max_depth": 2}'),
    ],
)
def test_a_spec_is_read_from_a_file_and_options_come_first(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)

    assert settings_of(path) == {"use_cookies": True, "hosts": ["b.test"], "max_depth": 2}
    assert settings_of(path, "max_depth=0", 'hosts=["c.test"]') == {
        "use_cookies": True,
        "hosts": ["c.test"],
        "max_depth": 0,
    }


def test_a_setting_is_json_or_a_text() -> None:
    assert settings_of(None, "delay_seconds=0.5", "accept_language=de", "hosts=b.test", "user_agent=7") == {
        "delay_seconds": 0.5,
        "accept_language": "de",
        "hosts": ["b.test"],
        "user_agent": "7",
    }


@pytest.mark.parametrize(
    ("assignment", "fault"),
    [
        ('labels={"a": {"b": 1}}', "--set labels.a is an object, expected a text"),
        ("max_pages_per_host=1.5", "--set max_pages_per_host is the number 1.5"),
        ("max_depth=two", "--set max_depth is a text"),
    ],
)
def test_a_setting_of_the_wrong_type_is_named_with_the_type_that_it_has(assignment: str, fault: str) -> None:
    assert fault in fault_of(None, assignment)


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.yaml", "max_depth: 11", "max_depth is 11, expected 0 to 10"),
        ("a.json", '{"max_depth": 11}', "max_depth is 11, expected 0 to 10"),
        ("a.json", '{"max_depth": 1, "max_depth": 2}', "'max_depth' is given twice"),
        ("a.yaml", "max_depth: 1\nmax_depth: 2", "line 2: 'max_depth' is given twice"),
        ("a.yaml", "use_cookis: true", "use_cookis: unknown; did you mean 'use_cookies'?"),
        ("a.yaml", "- a", "must be a mapping of names to values"),
        ("a.yaml", "a: [", "line 1: "),
        ("a.yaml", "labels: {since: 2026-01-01}", "labels is not a value of JSON"),
        ("a.yaml", "delay_seconds: .inf", "delay_seconds is not a value of JSON"),
        ("a.json", '{"headers": {"Cookie": "secret"}}', "headers: Cookie is a personal header"),
        ("a.json", '{"hosts": ["B.test"]}', "hosts is 'B.test', expected 'b.test'"),
        ("a.json", '{"parser": "shop"}', "parser has no effect unless extraction is"),
        ("a.json", " " * 70_000, "70000 bytes, the limit is 65536"),
    ],
)
def test_a_mistake_in_a_file_is_reported_with_its_field(
    tmp_path: Path, name: str, text: str, fault: str
) -> None:
    path = tmp_path / name
    path.write_text(text)

    found = fault_of(path)

    assert found.startswith(f"{path}: {fault}")
    assert "secret" not in found


@pytest.mark.parametrize(
    ("assignment", "fault"),
    [
        ("use_cookies", "--set 'use_cookies' is not of the form name=value"),
        ("use_cookies=often", "--set use_cookies is a text, expected true or false"),
        ("max_depth=99", "--set max_depth is 99, expected 0 to 10"),
        ("max_dept=1", "--set max_dept: unknown; did you mean 'max_depth'?"),
        ("rendering=always", "--set rendering is 'always': there is no renderer yet"),
    ],
)
def test_a_mistake_in_an_option_is_reported_with_its_field(assignment: str, fault: str) -> None:
    assert fault_of(None, assignment).startswith(fault)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    assert fault_of(tmp_path / "none.yaml").endswith("none.yaml: No such file or directory")


@pytest.mark.req("S5.3.8", part="`strider specs declare` and `show`")
def test_a_declared_spec_is_the_one_that_seeds_make_and_is_declared_once() -> None:
    async def scenario() -> None:
        codec, clock = Codec(SchemaStore.bundled()), EventLoopClock()
        broker = InProcessBroker(clock=clock)
        with pytest.raises(MissingTopic):
            await load_specs(InProcessBus(broker), codec, clock=clock)
        for topic in (CRAWL_SPECS, SCHEMAS):
            broker.declare_topic(topic, shards=1)
        bus = InProcessBus(broker)
        spec = spec_from_settings(None, ["use_cookies=true", 'labels={"team": "shop"}'])

        assert (
            spec.crawl_spec_id == spec_from_seed(SeedSubmitted("", spec='{"use_cookies":true}')).crawl_spec_id
        )
        assert await declare_spec(bus, codec, spec, clock=clock)
        assert not await declare_spec(bus, codec, spec, clock=clock)
        assert await load_specs(bus, codec, clock=clock) == [spec]
        assert len(broker.topic(CRAWL_SPECS.name).partitions[0].records) == 1

    simulate(scenario())


def test_settings_are_shown_without_secrets() -> None:
    headers = {"X-A": "1", "Cookie": "clear", "Authorization": "strider-encrypted-v1 https://a.test AAAA"}
    spec = CrawlSpecDeclared(crawl_spec_id="x", headers=headers, labels={"team": "a"}, max_depth=1)

    assert shown_settings(spec) == {
        "max_depth": 1,
        "headers": {"X-A": "1", "Cookie": "[hidden]", "Authorization": "[encrypted for https://a.test]"},
        "labels": {"team": "a"},
    }


def test_the_defaults_are_listed_with_readers_and_rules() -> None:
    shown = CliRunner().invoke(app, ["defaults", "--json"])
    by_name = {row["name"]: row for row in json.loads(shown.stdout)}

    assert by_name.keys() == FIELD_READERS.keys() | PLANNED_FIELDS.keys()
    assert by_name["max_depth"]["default"] == 3
    assert by_name["max_depth"]["raw"] == "within limits"
    assert by_name["respect_noindex"]["readers"] == "indexer"
    assert by_name["rendering"]["readers"] == "none yet"
    assert len(reference_table().splitlines()) == 2 + len(field_references())
