"""Settings of the tally service."""

from __future__ import annotations

from typing import ClassVar

from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.types import PositiveSeconds


class TallySettings(ServiceSettings):
    """tally: how it counts."""

    PREFIX: ClassVar[str] = "TALLY_"

    commit_interval_seconds: PositiveSeconds = 0.25
    """How long counts are gathered before one transaction writes them."""
