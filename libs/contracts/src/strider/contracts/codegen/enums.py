"""The checked lists of words, as text: one StrEnum for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .declarations import ValueList
from .layout import docstring, module, text

_DOC = "Every checked list of words: what outcomes, reasons, states and kinds may be called."

_IMPORTS = (
    "from __future__ import annotations",
    "",
    "from collections.abc import Mapping",
    "from enum import StrEnum",
    "from typing import Final",
)


def render_enums(lists: Iterable[ValueList]) -> str:
    """Write `words.py`."""
    lists = list(lists)
    body = [*_IMPORTS]
    for words in lists:
        body += ["", "", *_class(words)]
    body += ["", "", "WORD_LISTS: Final[Mapping[str, type[StrEnum]]] = {"]
    body += [f"    {text(words.name)}: {words.class_name}," for words in lists]
    body += ["}", *docstring("Every list by the name that a field's attribute `words` gives to it.")]
    return module(_DOC, body)


def _class(words: ValueList) -> Iterator[str]:
    yield f"class {words.class_name}(StrEnum):"
    yield from docstring(words.description, "    ")
    yield ""
    for word, sentence in words.values.items():
        yield f"    {word.upper()} = {text(word)}"
        yield from docstring(sentence, "    ")
