"""Settings of the validator."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from strider.runtime.settings.base import ServiceSettings


class ValidatorSettings(ServiceSettings):
    """validator: what a page must have to count as content."""

    PREFIX: ClassVar[str] = "VALIDATOR_"

    min_body_bytes: Annotated[int, Field(ge=0)] = 500
    """Minimum size of HTML pages, in bytes; smaller ones are rejected unless they have links."""
    min_text_chars: Annotated[int, Field(ge=0)] = 1_000
    """Minimum text of HTML pages without paragraphs, in characters."""
    min_links: Annotated[int, Field(ge=0)] = 1
    """Links with which a page of little text is kept, with a warning; 0 keeps none for its links."""
    strict: bool = False
    """Reject short pages and pages without paragraphs even if they have links; their links are lost."""
