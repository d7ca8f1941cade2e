"""Keys: one grammar, one owner each."""

from __future__ import annotations

from datetime import timedelta

import pytest

from strider.storage.keys import JOB_LOG_RUNS, KEY_FAMILIES, RUN_LOG, KeyFamily


def _family(**more: object) -> KeyFamily:
    values = {
        "owner": "scheduler",
        "entity": "host",
        "attribute": "next-fetch",
        "lifetime": None,
        "purpose": "Test.",
    }
    return KeyFamily(**(values | more))  # type: ignore[arg-type]


@pytest.mark.req("S0.1.5", part="the log of a job; the frontier keeps all jobs of a shard together")
def test_a_jobs_keys_are_in_its_own_namespace() -> None:
    """The id in braces keeps jobs apart, and all of one job's keys in one cluster slot."""
    assert JOB_LOG_RUNS("job-1") == "strider:job:{job-1}:log-runs"
    assert RUN_LOG("run-1") == "strider:run:{run-1}:log"
    assert RUN_LOG.pattern == "strider:run:{<id>}:log"
    assert RUN_LOG.lifetime_seconds == 7 * 86400


def test_further_parts_follow_the_attribute() -> None:
    """A shard's keys: the shard is the tag, the group comes last."""
    family = _family(entity="frontier", attribute="queue", parts=("group",))

    assert family(3, "[::1]") == "strider:frontier:{3}:queue:[::1]"
    assert family.pattern == "strider:frontier:{<id>}:queue:<group>"
    assert family.lifetime_seconds == 0


@pytest.mark.parametrize("value", ["", "a b", "a{b", "a}b", "a\nb", "a\x00b"])
def test_what_would_break_a_key_is_refused(value: str) -> None:
    """Braces within would move the key to another slot, unseen."""
    with pytest.raises(ValueError, match="must not contain"):
        JOB_LOG_RUNS(value)


def test_the_number_of_parts_is_declared() -> None:
    """A key with a part too few would be another family's."""
    with pytest.raises(ValueError, match="takes 0 parts"):
        JOB_LOG_RUNS("job-1", "more")


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"entity": "Host"}, id="upper-case"),
        pytest.param({"attribute": "next_fetch"}, id="underscore"),
        pytest.param({"owner": ""}, id="none"),
        pytest.param({"parts": ("a:b",)}, id="colon"),
        pytest.param({"lifetime": timedelta(milliseconds=5)}, id="no-lifetime-at-all"),
    ],
)
def test_a_family_outside_the_grammar_is_refused(wrong: dict[str, object]) -> None:
    """At import, so that no such key is ever written."""
    with pytest.raises(ValueError, match=r"invalid part|lifetime"):
        _family(**wrong)


def test_no_two_families_share_a_pattern() -> None:
    """One owner service writes a key."""
    patterns = [family.pattern for family in KEY_FAMILIES]

    assert len(patterns) == len({*patterns})
