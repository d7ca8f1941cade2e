"""Choose the text of a page that is stored, and clip it.

The main text where there is one, else all visible text. Texts too long for an event are in the object store
as one JSON document; loading it is not this module's task.
"""

from __future__ import annotations

import json

from strider.contracts.generated.events import PageParsed
from strider.storage.rows.values import clip


def is_text_in_object(page: PageParsed) -> bool:
    """Whether the page's text has to be loaded from the object store."""
    return bool(page.texts_object) and not (page.main_text or page.text)


def choose_stored_text(page: PageParsed, *, max_chars: int, object_text: str = "") -> str:
    """Return the text to store, clipped."""
    return clip(page.main_text or page.text or object_text, max_chars) if max_chars else ""


def parse_text_object(content: bytes) -> str:
    """Return the text in a document of texts; raises ValueError for an invalid one."""
    texts = json.loads(content)
    if not isinstance(texts, dict):
        raise ValueError("the texts of a page are not a JSON object")  # noqa: TRY004  # the document's fault
    chosen = texts.get("main_text") or texts.get("text") or ""
    if not isinstance(chosen, str):
        raise ValueError("the text of a page is not a string")  # noqa: TRY004  # same
    return chosen
