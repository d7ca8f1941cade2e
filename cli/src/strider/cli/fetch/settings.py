"""Crawl settings given as options (contact, User-Agent, delay).

Decides which settings these are, and reports an invalid one under the name of its option.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from strider.runtime.settings.base import CrawlSettings
from strider.runtime.settings.loader import validation_message

NO_CONTACT: Final = (
    "give --contact with a URL or mail address for site owners (or set STRIDER_CONTACT); without it only "
    "loopback is fetched"
)
NO_PROXY_NAMED: Final = "CRAWLER_PROXIES_ENABLED is set, but CRAWLER_PROXY_URLS names no proxy"
_OPTIONS: Final = {
    "contact": "--contact",
    "user_agent": "--user-agent",
    "host_delay_seconds": "--delay",
    "allow_private": "--allow-private",
}


class FetchSettingsError(ValueError):
    """An invalid option; the message is one line that names it."""


def setting_overrides(
    *, contact: str, user_agent: str, allow_private: bool, delay_seconds: float | None
) -> dict[str, object]:
    """Return the crawl settings that were given as options."""
    given: dict[str, object] = {"contact": contact, "user_agent": user_agent, "allow_private": allow_private}
    chosen = {name: value for name, value in given.items() if value}
    return chosen if delay_seconds is None else chosen | {"host_delay_seconds": delay_seconds}


def apply_overrides(crawl: CrawlSettings, overrides: Mapping[str, object]) -> CrawlSettings:
    """Return the settings with the values of options; raises FetchSettingsError."""
    try:
        return CrawlSettings(**{**crawl.model_dump(), **overrides})
    except ValidationError as failure:
        wrong = failure.errors(include_url=False)[0]
        name = ".".join(map(str, wrong["loc"]))
        raise FetchSettingsError(f"{_OPTIONS.get(name, name)}: {validation_message(wrong)}") from failure
