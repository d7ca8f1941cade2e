"""Settings of insights."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from strider.runtime.settings.base import ServiceSettings


class InsightsSettings(ServiceSettings):
    """insights: what is counted, and for how long."""

    PREFIX: ClassVar[str] = "INSIGHTS_"

    keep_hours: Annotated[int, Field(ge=2, le=87_600)] = 168
    """Hours without an event of a host after which its counts are deleted."""
