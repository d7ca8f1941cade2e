"""Settings of a job, as they are typed."""

from __future__ import annotations

from typing import Any

import pytest

from strider.cli.api.job_settings import OptionFault, job_settings, parse_interval, parse_pairs, parse_wait


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("30m", 30, "minutes"),
        ("6h", 6, "hours"),
        ("2d", 2, "days"),
        ("12 hours", 12, "hours"),
        ("1 Day", 1, "days"),
        ("0m", 0, "minutes"),
        ("-1h", -1, "hours"),
        (f"{10**12}m", 10**12, "minutes"),
    ],
)
def test_an_interval_is_a_number_and_a_unit(text: str, number: int, unit: str) -> None:
    """Whether the number can be, the API decides, with one sentence for all clients."""
    assert parse_interval(text) == {
        "interval_minutes": number,
        "interval_type": unit,
        "schedule_enabled": True,
    }


@pytest.mark.parametrize("text", ["6", "h", "6w", "2 weeks", "6hh", "1.5h", "6 hourly", "* * * * *", "6h 3m"])
def test_what_is_no_interval_names_the_option(text: str) -> None:
    with pytest.raises(OptionFault, match=r"--every .*minutes, hours or days"):
        parse_interval(text)


@pytest.mark.parametrize(("text", "seconds"), [("60", 60), ("90s", 90), ("5m", 300), ("1h", 3600)])
def test_a_wait_is_whole_seconds(text: str, seconds: int) -> None:
    assert parse_wait(text) == seconds


@pytest.mark.parametrize("text", ["soon", "250ms", "1.5s"])
def test_what_is_no_wait_names_the_option(text: str) -> None:
    with pytest.raises(OptionFault, match="--retry-wait"):
        parse_wait(text)


def test_pairs_are_json_where_they_can_be() -> None:
    pairs = ["max_depth=2", "team=news desk", 'labels={"a": 1}', "on=true", "empty=", "url=https://a/?b=c"]

    assert parse_pairs("--set", pairs) == {
        "max_depth": 2,
        "team": "news desk",
        "labels": {"a": 1},
        "on": True,
        "empty": "",
        "url": "https://a/?b=c",
    }


@pytest.mark.parametrize("pairs", [["a"], ["=1"], ["a=1", "a=2"]])
def test_what_is_no_pair_names_the_option(pairs: list[str]) -> None:
    with pytest.raises(OptionFault, match="--metadata"):
        parse_pairs("--metadata", pairs)


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({}, {}),
        ({"once": True}, {"interval_minutes": None, "schedule_enabled": False}),
        ({"adaptive": False, "max_retries": 0}, {"adaptive_scheduling": False, "max_retries": 0}),
        ({"retry_wait": "2m", "source": "s1"}, {"retry_backoff_seconds": 120, "source_id": "s1"}),
    ],
)
def test_only_what_is_given_is_sent(options: dict[str, Any], fields: dict[str, Any]) -> None:
    assert job_settings(**options) == fields


def test_a_job_runs_once_or_at_intervals() -> None:
    with pytest.raises(OptionFault, match="contradict"):
        job_settings(every="6h", once=True)


def test_settings_are_set_and_removed() -> None:
    """None removes a member, in a JSON Merge Patch."""
    found = job_settings(settings=["max_depth=2"], unset=["scope", "labels"], unset_metadata=["team"])

    assert found == {
        "crawl_settings": {"max_depth": 2, "scope": None, "labels": None},
        "metadata": {"team": None},
    }


@pytest.mark.parametrize("removed", ["max_depth", "a=b", " "])
def test_what_cannot_be_removed_names_the_option(removed: str) -> None:
    with pytest.raises(OptionFault, match="--unset "):
        job_settings(settings=["max_depth=2"], unset=[removed])
