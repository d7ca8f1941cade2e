"""Settings of services that deal with sites: politeness, private addresses, User-Agent.

The variables are those of the area `crawl`, the same for every service; here they are read by name, and the
User-Agent is composed. The services decide which of them they use.
"""

from __future__ import annotations

from typing import Final, Literal

from strider.runtime.settings.base import CrawlSettings as CrawlArea
from strider.runtime.settings.base import ServiceSettings
from strider.runtime.version import strider_version

PRODUCT: Final = "Strider"
"""The product name in robots.txt, and the beginning of the User-Agent."""


class CrawlServiceSettings(ServiceSettings):
    """Base class for the settings of a service that deals with sites."""

    @property
    def allow_private(self) -> bool:
        """Whether loopback and private addresses may be crawled."""
        return self.crawl.allow_private

    @property
    def host_delay_seconds(self) -> float:
        """Shortest time between two requests to one host group."""
        return self.crawl.host_delay_seconds

    @property
    def group_by(self) -> Literal["host", "domain"]:
        """Scope of politeness: a host or a registrable domain."""
        return self.crawl.group_by

    @property
    def user_agent(self) -> str:
        """The User-Agent that is sent where a crawl spec names none."""
        return user_agent(self.crawl)


def user_agent(crawl: CrawlArea) -> str:
    """Return the User-Agent that is set, or name, version and contact."""
    if crawl.user_agent:
        return crawl.user_agent
    product = f"{PRODUCT}/{strider_version(unknown='0')}"
    return f"{product} (+{crawl.contact})" if crawl.contact else product
