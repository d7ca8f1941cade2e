"""Puts validated pages together from the bytes of parsed ones.

Decides whether bytes can be taken as they are. On a bus that carries events and no bytes there is
nothing to splice, and the event is said as it is.
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
    """Validated pages as the parsed bytes and a verdict."""

    def __init__(self, codec: Codec) -> None:
        self._splicer: Splicer[PageParsed, PageValidated] = Splicer(
            codec, part=PAGES_PARSED, whole=PAGES_VALIDATED
        )

    def splice(self, page: PageParsed, record: Record, verdict: Verdict) -> EncodedMessage | None:
        """Give the validated page's bytes; None where the page did not come as bytes."""
        value = record.value
        if not isinstance(value, bytes):
            return None
        return self._splicer.splice(value, record.headers, verdict=verdict, part=page)


def rules_of(settings: ValidatorSettings) -> ValidationRules:
    """Take the rules out of the settings."""
    return ValidationRules(
        min_body_bytes=settings.min_body_bytes,
        min_text_without_paragraphs_chars=settings.min_text_chars,
        min_links=settings.min_links,
        strict=settings.strict,
    )
