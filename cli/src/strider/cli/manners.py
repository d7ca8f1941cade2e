"""Manners towards sites that were said on the command line, in place of what the environment says.

Decides which settings they are, and that what is wrong with them is told in the words of the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from strider.runtime.settings.base import CrawlSettings
from strider.runtime.settings.validation_messages import validation_message

NO_PROXY: Final = "CRAWLER_PROXIES_ENABLED is set, and CRAWLER_PROXY_URLS names no proxy"


class BadManners(ValueError):
    """Manners that cannot be; the message is one line that names the option."""


def chosen_manners(
    *, contact: str, user_agent: str, allow_private: bool, delay_seconds: float | None
) -> dict[str, object]:
    """Name the settings of manners towards sites that were said on the command line."""
    said: dict[str, object] = {"contact": contact, "user_agent": user_agent, "allow_private": allow_private}
    chosen = {name: value for name, value in said.items() if value}
    return chosen if delay_seconds is None else chosen | {"host_delay_seconds": delay_seconds}


def with_manners(crawl: CrawlSettings, chosen: Mapping[str, object]) -> CrawlSettings:
    """Put what was said in place of what was set; raises BadManners."""
    try:
        return CrawlSettings(**{**crawl.model_dump(), **chosen})
    except ValidationError as failure:
        wrong = failure.errors(include_url=False)[0]
        name = ".".join(map(str, wrong["loc"]))
        raise BadManners(f"{_OPTIONS.get(name, name)}: {validation_message(wrong)}") from failure


_OPTIONS: Final = {
    "contact": "--contact",
    "user_agent": "--user-agent",
    "host_delay_seconds": "--delay",
    "allow_private": "--allow-private",
}
