"""Settings of the echo service."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from strider.runtime.settings.base import ServiceSettings


class EchoSettings(ServiceSettings):
    """echo: form of its responses."""

    PREFIX: ClassVar[str] = "ECHO_"

    answer_prefix: str = ""
    """Text before each response."""
    max_text_chars: Annotated[int, Field(ge=1)] = 10_000
    """Longest text that is echoed; longer ones are refused."""
