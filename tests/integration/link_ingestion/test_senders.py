"""Raw, signed and wrongly signed seeds on a real broker, from other clients and from the command."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import LINKS_DISCOVERED, SEEDS_SUBMITTED, URLS_DECIDED
from strider.contracts.ids import seen_scope
from strider.contracts.owner_signature import SIGNATURE_NAME
from strider.contracts.seed_names import RunNames
from strider.contracts.specs.crawl_specs import spec_from_seed
from strider.link_ingestion.topology import SEEDS_GROUP
from strider.testing.owner import OWNER_KEY, owner_headers
from tests.figures import record_figure

from .service import SHARDS, Reader, Service, wait_for
from .test_seeds_command import run

RELEASED = Path(__file__).parents[3] / "schemas" / "released"
MISMATCH = (
    "owner-signature: does not match the value; the sender's STRIDER_OWNER_KEY differs from that of "
    "link-ingestion, or the message was changed after it was signed"
)
BEYOND = "; an owner, who signs with STRIDER_OWNER_KEY, may go beyond"
DELAYS = f"a raw seed may set 1 to 60 seconds (STRIDER_SEEDS_MIN_DELAY, STRIDER_SEEDS_MAX_DELAY){BEYOND}"
OTHER_KEY = "the-key-of-somebody-else-0123456789abcdef"


@pytest.fixture
def sender(bootstrap: str) -> Iterator[Producer]:
    """Any Kafka client will do."""
    client = Producer({"bootstrap.servers": bootstrap})
    yield client
    client.flush(10)


def as_json(**seed: Any) -> bytes:
    return json.dumps(seed).encode()


def as_avro(**seed: Any) -> bytes:
    """Encode with another Avro library, by the newest released schema."""
    version = "seed-submitted.v4"
    fingerprint = json.loads((RELEASED / "manifest.json").read_text())[version]["fingerprint"]
    schema = fastavro.parse_schema(json.loads((RELEASED / f"{version}.avsc").read_text()))
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schema, seed)
    return b"\xc3\x01" + bytes.fromhex(fingerprint) + body.getvalue()


@dataclass
class Outcomes:
    """What became of seeds, by URL."""

    links: Reader
    decisions: Reader
    urls: frozenset[str] = field(default_factory=frozenset)

    def runs(self) -> dict[str, list[RunNames]]:
        """Return job and run of each link, in the order of their publication."""
        found: dict[str, list[RunNames]] = {}
        for _, event in self.links.events():
            for url, at in zip(event.urls, event.from_at, strict=True):
                run = RunNames(event.from_job_ids[at], event.from_execution_ids[at])
                found.setdefault(url, []).append(run)
        return {url: runs for url, runs in found.items() if url in self.urls}

    def refusals(self) -> dict[str, tuple[str, str, str]]:
        """Return reason, detail and job of each refusal."""
        return {
            url: (event.reasons[at], event.details[at], event.job_ids[at])
            for _, event in self.decisions.events()
            for at, url in enumerate(event.urls)
            if url in self.urls
        }

    def wait(self) -> None:
        """Wait until each URL has its link or its refusal."""
        wait_for(lambda: self.urls <= self.runs().keys() | self.refusals().keys())


@pytest.fixture
def outcomes(bootstrap: str) -> Iterator[Outcomes]:
    with (
        closing(Reader(bootstrap, LINKS_DISCOVERED)) as links,
        closing(Reader(bootstrap, URLS_DECIDED)) as decisions,
    ):
        yield Outcomes(links, decisions)


@pytest.mark.parametrize("encode", [as_json, as_avro])
def test_a_signature_decides_whose_names_a_seed_has(
    sender: Producer, service: Service, outcomes: Outcomes, encode: Any
) -> None:
    """A signed seed has its names, a raw one those of its namespace, a wrongly signed one none at all."""
    host = f"https://{encode.__name__.replace('_', '-')}.test"
    seeds = {
        "owner": (encode(url=f"{host}/owner", job_id="news", execution_id="r1"), OWNER_KEY),
        "raw": (encode(url=f"{host}/raw", job_id="news", execution_id="r1"), ""),
        "stranger": (encode(url=f"{host}/stranger", job_id="news", execution_id="r1"), OTHER_KEY),
        "reserved": (encode(url=f"{host}/reserved", job_id=".robots"), OWNER_KEY),
        "slow": (encode(url=f"{host}/slow", delay=86_400.0), ""),
        "slow-owner": (encode(url=f"{host}/slow-owner", delay=86_400.0, job_id="news"), OWNER_KEY),
    }
    service.start()
    for value, key in seeds.values():
        headers = owner_headers(value, key=key) if key else []
        sender.produce(SEEDS_SUBMITTED.name, value, headers=headers)
    sender.flush(10)
    outcomes.urls = frozenset(f"{host}/{name}" for name in seeds)
    outcomes.wait()
    runs, refusals = outcomes.runs(), outcomes.refusals()

    assert runs[f"{host}/owner"] == [("news", "r1")]
    assert runs[f"{host}/raw"] == [("raw.news", "raw.r1")]
    assert runs[f"{host}/slow-owner"][0][0] == "news"
    assert refusals == {
        f"{host}/stranger": (
            "bad_seed",
            MISMATCH,
            "raw.news",
        ),
        f"{host}/reserved": (
            "bad_seed",
            "job_id is '.robots': names that begin with . are reserved for the crawler's own jobs",
            "",
        ),
        f"{host}/slow": (
            "bad_seed",
            f"delay is 86400, {DELAYS}",
            "adhoc",
        ),
    }
    assert service.stop() == 0


def test_a_redelivered_seed_has_the_run_that_it_had(
    bootstrap: str, sender: Producer, service: Service, outcomes: Outcomes
) -> None:
    """Each limited seed of an unknown sender is a run of its own, also where it is read again."""
    urls = [f"https://limited{number % 3}.test/{number}" for number in range(30)]
    service.start()
    for url in urls:
        sender.produce(SEEDS_SUBMITTED.name, as_json(url=url, max_pages=1))
    sender.flush(10)
    outcomes.urls = frozenset(urls)
    outcomes.wait()
    service.kill()
    rewind(bootstrap)
    service.start()
    wait_for(lambda: all(len(runs) > 1 for runs in outcomes.runs().values()))
    runs = outcomes.runs()

    assert {len(set(each)) for each in runs.values()} == {1}
    assert len({run for each in runs.values() for _, run in each}) == len(urls)
    assert all(job == run and run.startswith("raw-seed.") for each in runs.values() for job, run in each)
    assert service.stop() == 0


def rewind(bootstrap: str) -> None:
    """Set the group of seeds back to the first offset, as soon as its killed member is gone."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    places = [TopicPartition(SEEDS_SUBMITTED.name, number, 0) for number in range(SHARDS)]
    request = [ConsumerGroupTopicPartitions(SEEDS_GROUP, places)]

    def is_done() -> bool:
        try:
            done = admin.alter_consumer_group_offsets(request)[SEEDS_GROUP].result()
        except KafkaException as failure:
            if failure.args[0].code() != KafkaError.NON_EMPTY_GROUP:
                raise
            return False
        return not any(place.error for place in done.topic_partitions)

    wait_for(is_done)


@pytest.mark.parametrize(
    ("key", "job_id"), [pytest.param(OWNER_KEY, "news", id="owner"), pytest.param("", "raw.news", id="raw")]
)
def test_the_command_signs_where_it_has_the_key(
    bootstrap: str, service: Service, outcomes: Outcomes, key: str, job_id: str
) -> None:
    """Without a key it publishes raw seeds, and reports the job that they get, once."""
    warning = "strider: without STRIDER_OWNER_KEY seeds are raw: the job news becomes raw.news\n"
    urls = [f"https://command-{job_id}.test/{number}" for number in range(3)]
    service.start()
    done = run(*urls, "--job", "news", bootstrap=bootstrap, owner_key=key)
    outcomes.urls = frozenset(urls)
    outcomes.wait()

    assert (done.returncode, done.stderr) == (0, "" if key else warning)
    assert {runs[0][0] for runs in outcomes.runs().values()} == {job_id}
    assert service.stop() == 0


def test_the_command_refuses_what_the_service_would_refuse(bootstrap: str) -> None:
    """Before anything is published; an owner may do it."""
    raw = run("https://a.test/", "--delay", "90", bootstrap=bootstrap)
    owner = run("https://a.test/", "--delay", "90", bootstrap=bootstrap, owner_key=OWNER_KEY)
    reserved = run("https://a.test/", "--job", ".robots", bootstrap=bootstrap, owner_key=OWNER_KEY)

    assert (raw.returncode, raw.stderr) == (
        2,
        f"strider: --delay is 90, {DELAYS}\n",
    )
    assert owner.returncode == 0
    assert (reserved.returncode, reserved.stdout) == (2, "")
    assert reserved.stderr.startswith("strider: --job is '.robots'")


def test_without_a_key_at_the_service_a_signed_seed_is_refused_and_not_taken_as_raw(
    bootstrap: str, redis_url: str, sender: Producer, outcomes: Outcomes, tmp_path: Path
) -> None:
    """The sender expects an owner's rights: under other names and limits it would crawl something else."""
    service = Service(bootstrap, redis_url, tmp_path / "log", STRIDER_OWNER_KEY="")
    value = as_json(url="https://keyless.test/", job_id="news")
    try:
        service.start()
        sender.produce(SEEDS_SUBMITTED.name, value, headers=owner_headers(value))
        sender.flush(10)
        outcomes.urls = frozenset({"https://keyless.test/"})
        outcomes.wait()
    finally:
        service.close()

    (reason, detail, job_id) = outcomes.refusals()["https://keyless.test/"]
    assert (reason, job_id) == ("bad_seed", "raw.news")
    assert detail.startswith(f"{SIGNATURE_NAME}: cannot be verified")


ATTACKS: dict[str, tuple[dict[str, Any], str]] = {
    "standing-run": ({"execution_id": "{run}", "max_seconds": 1}, "execution_id is"),
    "standing-run-pages": ({"execution_id": "{run}", "max_pages": 1}, "execution_id is"),
    "own-job": ({"job_id": ".robots"}, "job_id is"),
    "known-urls": ({"job_id": "{scope}"}, "job_id is"),
    "frozen-host": ({"delay": 86_400.0, "scope": "any"}, "delay is 86400"),
    "hurried-host": ({"delay": 0.0}, "delay is 0"),
    "source": ({"source_id": "shop"}, "source_id"),
    "limits": ({"max_pages": 1}, ""),
    "more-limits": ({"max_pages": 1}, ""),
    "named-run": ({"job_id": "shop", "execution_id": "shop-1", "max_seconds": 1}, ""),
}
"""Fields of hostile raw seeds, and the beginning of the refusal; empty: they are runs of their own."""


@pytest.mark.fault("A3", "A10")
@pytest.mark.fault("A4", part="delays beyond a floor and a ceiling are refused")
def test_no_raw_seed_is_in_the_run_of_another_sender(
    sender: Producer, service: Service, outcomes: Outcomes
) -> None:
    """The standing run, whose name is a constant, and an owner's run keep their limits."""
    service.start()
    victim, owned = "https://victims.test/raw", "https://victims.test/owner"
    value = as_json(url=owned, job_id="shop", execution_id="shop-1")
    sender.produce(SEEDS_SUBMITTED.name, as_json(url=victim))
    sender.produce(SEEDS_SUBMITTED.name, value, headers=owner_headers(value))
    sender.flush(10)
    outcomes.urls = frozenset({victim, owned})
    outcomes.wait()
    ((job, run),), (own_run,) = outcomes.runs()[victim], outcomes.runs()[owned]
    known = {"run": run, "scope": seen_scope(job, spec_from_seed(SeedSubmitted(url=victim)).crawl_spec_id)}
    for name, (fields, _) in ATTACKS.items():
        given = {key: text.format(**known) if isinstance(text, str) else text for key, text in fields.items()}
        sender.produce(SEEDS_SUBMITTED.name, as_json(url=f"https://victims.test/{name}", **given))
    sender.flush(10)
    outcomes.urls = frozenset(f"https://victims.test/{name}" for name in ATTACKS)
    outcomes.wait()
    runs, refusals = outcomes.runs(), outcomes.refusals()
    attackers = [each for found in runs.values() for each in found]
    in_others = [each for each in attackers if each.execution_id in {run, "shop-1"} or each.job_id == "shop"]
    record_figure(
        f"hostile seeds={len(ATTACKS)} refused={len(refusals)} in-runs-of-their-own={len(attackers)} "
        f"in-runs-of-others={len(in_others)}"
    )

    assert in_others == []
    for name, (_, detail) in ATTACKS.items():
        url = f"https://victims.test/{name}"
        assert detail == "" or refusals[url][1].startswith(detail), name
        assert (url in runs) == (detail == ""), name
    assert (job, own_run) == ("adhoc", ("shop", "shop-1"))
    assert len({execution for _, execution in attackers} | {run, "shop-1"}) == len(attackers) + 2
    assert {job_id for job_id, _ in attackers}.isdisjoint({"adhoc", "shop"})
    assert service.stop() == 0
