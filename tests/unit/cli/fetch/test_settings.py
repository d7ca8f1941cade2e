"""Crawl settings given as options."""

from __future__ import annotations

import pytest

from strider.cli.fetch.settings import FetchSettingsError, apply_overrides, setting_overrides
from strider.runtime.settings.base import CrawlSettings

NOTHING = {"contact": "", "user_agent": "", "allow_private": False, "delay_seconds": None}


def test_an_option_that_is_not_given_keeps_its_setting() -> None:
    """An option that was left out changes nothing; a delay of 0 is a value."""
    crawl = CrawlSettings(contact="a@a.test", host_delay_seconds=3)

    assert apply_overrides(crawl, setting_overrides(**NOTHING)) == crawl
    assert (
        apply_overrides(crawl, setting_overrides(**NOTHING | {"delay_seconds": 0.0})).host_delay_seconds == 0
    )


@pytest.mark.parametrize(
    ("errors", "line"),
    [
        pytest.param({"contact": "nobody"}, "--contact: must be a URL or a mail address", id="contact"),
        pytest.param({"user_agent": "a\nb"}, "--user-agent: must not contain control", id="agent"),
    ],
)
def test_invalid_settings_are_reported_by_their_options(errors: dict[str, str], line: str) -> None:
    """The sentence names the option, not the setting or the validating library."""
    with pytest.raises(FetchSettingsError) as failure:
        apply_overrides(CrawlSettings(), setting_overrides(**NOTHING | errors))

    assert str(failure.value).startswith(line)
    assert "value_error" not in str(failure.value)
