"""What can be set about judging pages."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from strider.runtime.settings.base import ServiceSettings


class ValidatorSettings(ServiceSettings):
    """validator: what a page must have to be content."""

    PREFIX: ClassVar[str] = "VALIDATOR_"

    min_body_bytes: Annotated[int, Field(ge=0)] = 500
    """Smaller HTML pages are no content, unless they lead on."""
    min_text_chars: Annotated[int, Field(ge=0)] = 1_000
    """Text from which an HTML page without paragraphs is content all the same."""
    min_links: Annotated[int, Field(ge=0)] = 1
    """Links from which a page that says little is kept, with a warning; 0 keeps none for its links."""
    strict: bool = False
    """Reject short pages and pages without paragraphs even where they lead on; their links are lost."""
