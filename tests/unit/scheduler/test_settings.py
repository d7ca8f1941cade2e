"""Settings, and the options derived from them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from strider.frontier.models import QueueLimits
from strider.runtime.settings.base import CrawlSettings, RunSettings
from strider.scheduler.__main__ import options_of
from strider.scheduler.core.budgets.limits import BudgetAmount, BudgetLimits
from strider.scheduler.core.entries.feed_polling import FeedPolling
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.settings import SchedulerSettings


def test_settings_become_options() -> None:
    settings = SchedulerSettings(
        crawl=CrawlSettings(
            user_agent="Other/1", host_delay_seconds=2.0, allow_private=True, group_by="domain"
        ),
        run=RunSettings(shards=3),
        lease_seconds=7,
        in_flight_per_shard=9,
        robots_memory_mb=1,
        queued_per_host=50,
        queued_ahead_minutes=2,
        redis_full_percent=60,
        refill_seconds=3,
        clean_hours=2,
        keep_closed_days=20,
        keep_hosts_days=40,
        max_hosts_per_domain=50,
        max_pages=1,
        max_bytes=2,
        max_seconds=3,
        max_pages_per_host=4,
        max_bytes_per_domain=8,
        max_seconds_per_domain=9,
    )

    assert options_of(settings) == SchedulerOptions(
        shards=3,
        user_agent="Other/1",
        delay_seconds=2.0,
        allow_private=True,
        by_domain=True,
        lease_seconds=7,
        in_flight=9,
        robots_cache_characters=1024 * 1024,
        queue_limits=QueueLimits(
            entries_per_group=50, horizon_ms=120_000, memory_percent=60, minimum_entries=1_000
        ),
        refill_interval_seconds=3,
        retention_interval_seconds=7_200,
        keep_closed_seconds=20 * 86_400,
        keep_hosts_seconds=40 * 86_400,
        max_hosts_per_domain=50,
        default_limits=BudgetLimits(
            BudgetAmount(1, 2, 3_000), BudgetAmount(4, 0, 0), BudgetAmount(0, 8, 9_000)
        ),
    )


def test_the_defaults_are_one_second_and_no_private_address() -> None:
    options = options_of(SchedulerSettings())

    assert (options.delay_seconds, options.allow_private, options.by_domain) == (1.0, False, False)


@pytest.mark.req("S1.14.13", part="off by default; the interval of the deployment")
@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        pytest.param({}, 0, id="off-by-default"),
        pytest.param({"feed_poll": True}, 3_600, id="every-hour"),
        pytest.param({"feed_poll": True, "feed_poll_seconds": 900}, 900, id="interval"),
        pytest.param({"feed_poll_seconds": 900}, 0, id="interval-without-the-switch"),
    ],
)
def test_feeds_are_polled_where_the_switch_is_on(settings: dict[str, Any], seconds: int) -> None:
    assert options_of(SchedulerSettings(**settings)).polling == FeedPolling(seconds)


@pytest.mark.parametrize("seconds", [0, 59, 31_536_001])
def test_an_interval_of_feeds_has_limits(seconds: int) -> None:
    with pytest.raises(ValidationError, match="feed_poll_seconds"):
        SchedulerSettings(feed_poll_seconds=seconds)


@pytest.mark.req("S3.17.1")
def test_the_user_agent_names_product_and_contact() -> None:
    named = SchedulerSettings(crawl=CrawlSettings(contact="mailto:crawl@example.org"))

    assert named.user_agent.startswith("Strider/")
    assert named.user_agent.endswith("(+mailto:crawl@example.org)")
    assert "(" not in SchedulerSettings().user_agent


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"lease_seconds": 0}, id="no-lease"),
        pytest.param({"release_batch": 0}, id="no-batch"),
        pytest.param({"in_flight_per_shard": 0}, id="nothing-in-flight"),
        pytest.param({"commit_interval_seconds": 0}, id="no-interval"),
    ],
)
def test_what_would_stand_still_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        SchedulerSettings(**wrong)
