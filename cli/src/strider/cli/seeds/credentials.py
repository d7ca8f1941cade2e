"""Credentials of `strider seeds add`: owner key or the limits without one, key of headers.

The keys are those of the local stack that runs here, if its broker is used, else STRIDER_OWNER_KEY and
STRIDER_HEADERS_KEY. The limits are those of this environment: services elsewhere may have others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from strider.contracts import Topic
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import SEEDS_OWNED, SEEDS_SUBMITTED
from strider.contracts.owner_signature import SenderRole, sign_value
from strider.link_ingestion.core import DEFAULT_LIMITS, RawSeedLimits
from strider.link_ingestion.settings import SeedSettings
from strider.messaging.ports import Header
from strider.politeness import ProtectHeaders, refuse_clear_values
from strider.runtime.settings.base import HeadersSettings, OwnerSettings, ServiceSettings
from strider.runtime.settings.loader import load_settings
from strider.storage.encryption import HeaderCipher


class SenderSettings(ServiceSettings):
    """Settings of a sender of seeds."""

    PREFIX: ClassVar[str] = ""

    owner: OwnerSettings = OwnerSettings()
    headers: HeadersSettings = HeadersSettings()
    seeds: SeedSettings = SeedSettings()


@dataclass(frozen=True, slots=True)
class SeedCredentials:
    """Role of a sender of seeds, and what it depends on."""

    owner_key: str = field(default="", repr=False)
    limits: RawSeedLimits = DEFAULT_LIMITS
    protect_headers: ProtectHeaders = field(default=refuse_clear_values, repr=False)
    """Encrypts personal headers before they are published."""

    @property
    def role(self) -> SenderRole:
        """Role that link-ingestion will find."""
        return SenderRole.OWNER if self.owner_key else SenderRole.RAW

    @property
    def topic(self) -> Topic[SeedSubmitted]:
        """Topic of the sender: that of owners takes signed seeds alone."""
        return SEEDS_OWNED if self.owner_key else SEEDS_SUBMITTED

    def headers(self, value: bytes) -> tuple[Header, ...]:
        """Return the headers of a seed's message."""
        return (sign_value(value, self.owner_key),) if self.owner_key else ()


def find_credentials(
    environment: Mapping[str, str], *, stack_key: str = "", stack_headers_key: str = ""
) -> SeedCredentials:
    """Return the credentials; the keys are those of the local stack. Raises SettingsError."""
    settings = load_settings(SenderSettings, environment).settings
    return SeedCredentials(
        stack_key or settings.owner.key.get_secret_value(),
        RawSeedLimits(**settings.seeds.model_dump()),
        HeaderCipher(stack_headers_key or settings.headers.key.get_secret_value()).protect,
    )
