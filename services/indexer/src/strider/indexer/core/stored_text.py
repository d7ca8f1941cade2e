"""Which text of a page is stored, and how much of it.

The main text where there is one, else all that is visible. Texts too long to travel are in the
object store, as one JSON document; reading it is not this module's matter, only what it says.
"""

from __future__ import annotations

import json

from strider.contracts.generated.events import PageParsed

from .column_values import clip


def is_text_in_object(page: PageParsed) -> bool:
    """Whether the page's text has to be fetched from the object store."""
    return bool(page.texts_object) and not (page.main_text or page.text)


def stored_text(page: PageParsed, *, max_chars: int, object_text: str = "") -> str:
    """Choose the text that is stored, clipped."""
    return clip(page.main_text or page.text or object_text, max_chars) if max_chars else ""


def parse_text_object(content: bytes) -> str:
    """Read the document of texts; one that is none raises ValueError."""
    texts = json.loads(content)
    if not isinstance(texts, dict):
        raise ValueError("the texts of a page are no JSON object")  # noqa: TRY004  # the document's fault
    chosen = texts.get("main_text") or texts.get("text") or ""
    if not isinstance(chosen, str):
        raise ValueError("the text of a page is no text")  # noqa: TRY004  # same
    return chosen
