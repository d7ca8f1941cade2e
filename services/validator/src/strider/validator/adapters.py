"""Builds the bytes of validated pages from those of parsed pages.

On a bus that carries events instead of bytes there is nothing to splice, and the event is published as it is.
"""

from __future__ import annotations

from strider.contracts.avro.codec import Codec, EncodedMessage
from strider.contracts.avro.splice import Splicer
from strider.contracts.generated.events import PageParsed, PageValidated, Verdict
from strider.contracts.generated.topics import PAGES_PARSED, PAGES_VALIDATED
from strider.messaging.ports import Record

from .core import ValidationRules
from .settings import ValidatorSettings


class PageSplicer:
    """Splices a verdict onto the encoded bytes of a parsed page."""

    def __init__(self, codec: Codec) -> None:
        self._splicer: Splicer[PageParsed, PageValidated] = Splicer(
            codec, part=PAGES_PARSED, whole=PAGES_VALIDATED
        )

    def splice(self, page: PageParsed, record: Record, verdict: Verdict) -> EncodedMessage | None:
        """Return the validated page's bytes; None if the page was not received as bytes."""
        value = record.value
        if not isinstance(value, bytes):
            return None
        return self._splicer.splice(value, record.headers, verdict=verdict, part=page)


def validation_rules_of(settings: ValidatorSettings) -> ValidationRules:
    """Return the validation rules of the settings."""
    return ValidationRules(
        min_body_bytes=settings.min_body_bytes,
        min_text_without_paragraphs_chars=settings.min_text_chars,
        min_links=settings.min_links,
        strict=settings.strict,
    )
