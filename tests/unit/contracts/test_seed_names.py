"""Names of jobs and runs: owners and raw senders never share one that either has chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.ids import seen_scope
from strider.contracts.owner_signature import SenderRole
from strider.contracts.seed_names import (
    LIMIT_FIELDS,
    RunNames,
    job_id_of_seed,
    name_fault,
    names_of_seed,
    refused_names,
)
from strider.contracts.specs.crawl_specs import spec_from_seed

OWNER, RAW = SenderRole.OWNER, SenderRole.RAW
NOON_MS = 1_770_000_000_000
SPEC = CrawlSpecDeclared(crawl_spec_id="abcdefabcdef0123456789")
LIMITED = replace(SPEC, max_pages=1)


def a_seed(**fields: Any) -> SeedSubmitted:
    return SeedSubmitted(**{"url": "https://a.test/", **fields})


def names(
    sender: SenderRole,
    spec: CrawlSpecDeclared = SPEC,
    *,
    position: str = "seeds-submitted/3/41",
    timestamp_ms: int = NOON_MS,
    **fields: Any,
) -> RunNames:
    return names_of_seed(a_seed(**fields), spec, sender=sender, position=position, timestamp_ms=timestamp_ms)


@pytest.mark.parametrize(
    ("seed", "timestamp_ms", "run"),
    [
        pytest.param({}, NOON_MS, "adhoc-20260202-abcdefabcdef", id="standing job"),
        pytest.param({"job_id": "adhoc"}, NOON_MS, "adhoc-20260202-abcdefabcdef", id="the same, by its name"),
        pytest.param({"job_id": "j1"}, NOON_MS, "j1-20260202-abcdefabcdef", id="a job without a run"),
        pytest.param({"job_id": "j1", "execution_id": "run-9"}, NOON_MS, "run-9", id="a run"),
        pytest.param({}, -1, "adhoc-19700101-abcdefabcdef", id="no timestamp"),
        pytest.param({}, 2**62, "adhoc-99991231-abcdefabcdef", id="a timestamp that is none"),
        pytest.param({"job_id": ""}, NOON_MS, "adhoc-20260202-abcdefabcdef", id="an empty job is none"),
    ],
)
@pytest.mark.parametrize("spec", [SPEC, LIMITED], ids=["unlimited", "limited"])
def test_runs_of_owners_follow_from_job_day_and_spec(
    seed: dict[str, Any], timestamp_ms: int, run: str, spec: CrawlSpecDeclared
) -> None:
    """Two services must derive the same id, and a redelivered seed the same run."""
    found = names(OWNER, spec, timestamp_ms=timestamp_ms, **seed)

    assert found == (seed.get("job_id") or "adhoc", run)


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        pytest.param({}, ("adhoc", "adhoc-20260202-abcdefabcdef"), id="standing job"),
        pytest.param({"job_id": "news"}, ("raw.news", "raw.news-20260202-abcdefabcdef"), id="a job"),
        pytest.param({"execution_id": "r1"}, ("adhoc", "raw.r1"), id="a run of the standing job"),
        pytest.param({"job_id": "news", "execution_id": "r1"}, ("raw.news", "raw.r1"), id="both"),
        pytest.param({"job_id": "raw.news", "execution_id": "raw.r1"}, ("raw.news", "raw.r1"), id="prefixed"),
        pytest.param(
            {"job_id": "raw-x"}, ("raw.raw-x", "raw.raw-x-20260202-abcdefabcdef"), id="raw- is none"
        ),
    ],
)
def test_names_of_raw_seeds_without_limits_are_in_their_own_namespace(
    seed: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert names(RAW, **seed) == expected


def test_a_raw_seed_with_limits_and_no_run_is_a_run_of_its_own() -> None:
    """Two unknown senders with the same settings do not share a budget, nor the entry of a URL."""
    first = names(RAW, LIMITED)
    again = names(RAW, LIMITED)
    other = names(RAW, LIMITED, position="seeds-submitted/3/42")
    later_topic = names(RAW, LIMITED, timestamp_ms=NOON_MS + 1)
    in_job = names(RAW, LIMITED, job_id="news")

    assert first == again
    assert first.job_id == first.execution_id
    assert first.execution_id.startswith("raw-seed.")
    assert len({first.execution_id, other.execution_id, later_topic.execution_id}) == 3
    assert in_job == ("raw.news", first.execution_id)


def test_a_seed_id_keeps_the_run_of_a_seed_that_is_published_again() -> None:
    """The same id with another URL or other settings is another run: an id may be guessed."""
    first = names(RAW, LIMITED, seed_id="7")

    assert names(RAW, LIMITED, seed_id="7", position="seeds-submitted/0/99", timestamp_ms=5) == first
    assert names(RAW, LIMITED, seed_id="8") != first
    assert names(RAW, LIMITED, seed_id="7", url="https://b.test/") != first
    assert names(RAW, replace(LIMITED, crawl_spec_id="f" * 64), seed_id="7") != first


def test_runs_of_the_same_name_share_limits_only_where_they_are_equal() -> None:
    """A sender who knows the name of a run cannot end it with a smaller budget, nor spend its budget."""
    unlimited = names(RAW, execution_id="r1")
    runs = {names(RAW, replace(SPEC, **{field: 7}), execution_id="r1") for field in LIMIT_FIELDS}
    same = names(RAW, replace(LIMITED, delay_seconds=2.0, crawl_spec_id="other"), execution_id="r1")
    (limited,) = {names(RAW, LIMITED, execution_id=name) for name in ("r1", "raw.r1")}

    assert len(runs | {unlimited}) == len(LIMIT_FIELDS) + 1
    assert limited == same
    assert limited.execution_id.endswith(".r1")
    assert names(RAW, execution_id=limited.execution_id).execution_id == f"raw.{limited.execution_id}"


@pytest.mark.parametrize("sender", SenderRole)
@pytest.mark.parametrize("field", ["job_id", "execution_id"])
@pytest.mark.parametrize(
    ("name", "detail"),
    [
        (".robots", "names that begin with . are reserved for the crawler's own jobs"),
        (
            "adhoc-20261119-44136fa355b3",
            "names that begin with adhoc- are reserved for the runs of the standing job",
        ),
        (
            "adhoc.44136fa355b3678a",
            "names that begin with adhoc. are reserved for the standing job's set of known URLs",
        ),
    ],
)
def test_names_that_the_crawler_gives_itself_are_reserved(
    sender: SenderRole, field: str, name: str, detail: str
) -> None:
    assert name_fault(a_seed(**{field: name}), sender) == f"{field} is {name!r}: {detail}"
    assert refused_names(a_seed(**{field: name}), sender) == ("", ""), "no log of a reserved job is written"


@pytest.mark.parametrize("field", ["job_id", "execution_id"])
@pytest.mark.parametrize("name", ["raw.news", "raw-seed.0123", "raw-0123.r1"])
def test_names_of_raw_seeds_are_reserved_for_them(field: str, name: str) -> None:
    assert "reserved for the names of raw seeds" in name_fault(a_seed(**{field: name}), OWNER)
    assert name_fault(a_seed(**{field: name}), RAW) == ""


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"job_id": "a b"}, "job_id contains a blank, a brace or a control character"),
        ({"execution_id": "adhoc"}, "execution_id is 'adhoc', which is the name of the standing job"),
        ({"execution_id": "x" * 181}, "execution_id has 181 characters, the limit is 180"),
        (
            {"source_id": "s"},
            "source_id: only an owner may name a source; sign the seed with STRIDER_OWNER_KEY, or omit it",
        ),
    ],
)
def test_a_raw_seed_with_a_name_that_cannot_be_is_refused_by_its_field(
    fields: dict[str, Any], detail: str
) -> None:
    assert name_fault(a_seed(**fields), RAW) == detail


def test_an_owner_may_name_a_source_and_use_long_names() -> None:
    assert name_fault(a_seed(source_id="s", job_id="x" * 200), OWNER) == ""


def test_the_job_of_a_seed_is_known_without_its_run() -> None:
    """The API reports it at once."""
    assert job_id_of_seed(a_seed(), RAW) == job_id_of_seed(a_seed(), OWNER) == "adhoc"
    assert (job_id_of_seed(a_seed(job_id="j"), RAW), job_id_of_seed(a_seed(job_id="j"), OWNER)) == (
        "raw.j",
        "j",
    )


NAMES = st.none() | st.from_regex(r"(raw[.-]|adhoc[.-]|\.|)[a-z0-9.-]{0,6}", fullmatch=True)
SEEDS = st.builds(
    SeedSubmitted,
    url=st.sampled_from(["https://a.test/", "https://b.test/"]),
    job_id=NAMES,
    execution_id=NAMES,
    seed_id=st.none() | st.sampled_from(["1", "2"]),
    max_pages=st.none() | st.integers(0, 2),
    delay=st.none() | st.just(2.0),
)


def accepted(seed: SeedSubmitted, sender: SenderRole, offset: int) -> RunNames:
    assume(not name_fault(seed, sender))
    spec = spec_from_seed(seed)
    return names_of_seed(seed, spec, sender=sender, position=f"s/0/{offset}", timestamp_ms=NOON_MS)


@given(SEEDS, SEEDS)
def test_no_raw_seed_is_in_a_job_or_run_that_an_owner_has_named(
    raw: SeedSubmitted, owner: SeedSubmitted
) -> None:
    stranger, known = accepted(raw, RAW, 1), accepted(owner, OWNER, 2)

    if stranger.job_id == known.job_id:
        assert known.job_id == "adhoc"
        assert not owner.job_id or owner.job_id == "adhoc"
    if stranger.execution_id == known.execution_id:
        assert not owner.execution_id
        assert known.execution_id.startswith("adhoc-")


@given(SEEDS, SEEDS)
def test_two_raw_seeds_of_one_run_have_the_same_limits(first: SeedSubmitted, second: SeedSubmitted) -> None:
    """Whatever a sender sets, the budget of another run is neither changed nor spent."""
    specs = [spec_from_seed(first), spec_from_seed(second)]
    if accepted(first, RAW, 1).execution_id == accepted(second, RAW, 2).execution_id:
        limits, others = ([getattr(spec, field) for field in LIMIT_FIELDS] for spec in specs)
        assert limits == others


@given(SEEDS)
def test_the_standing_run_has_no_limits_of_raw_seeds(seed: SeedSubmitted) -> None:
    if accepted(seed, RAW, 1).execution_id.startswith("adhoc"):
        assert not seed.max_pages


@given(SEEDS, st.sampled_from(SenderRole))
def test_no_named_job_has_the_set_of_known_urls_of_the_standing_job(
    seed: SeedSubmitted, sender: SenderRole
) -> None:
    job_id = accepted(seed, sender, 1).job_id

    assert job_id == "adhoc" or not seen_scope(job_id, "f" * 64).startswith(("adhoc", "."))
