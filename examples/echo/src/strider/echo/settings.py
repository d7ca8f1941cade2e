"""What can be set about the answers."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from strider.runtime.settings.base import ServiceSettings


class EchoSettings(ServiceSettings):
    """echo: how it answers."""

    PREFIX: ClassVar[str] = "ECHO_"

    answer_prefix: str = ""
    """What stands before each answer."""
    max_text_chars: Annotated[int, Field(ge=1)] = 10_000
    """Longest text that is answered; longer ones are refused."""
