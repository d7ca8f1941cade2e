"""fetches-completed -> what of a request its page's other events do not tell.

Decides which lines wait for that: those of URLs that were answered, whose answer was not heard of yet,
because topics keep no order among each other. Keeps what is known only until the URL has its line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import FetchCompleted

from .lines import Line

_NAME: Final = "answers"
"""Under which it is kept."""


class Answer(NamedTuple):
    """What came of a request, as far as a line tells it."""

    duration_ms: float
    content_type: str
    length: int
    redirected_by: str
    """The URL that led here; empty for what was found on a page."""


class Answers:
    """Answers that have no line yet, and lines that have no answer yet."""

    def __init__(self) -> None:
        self._heard: dict[str, Answer] = {}
        self._late: dict[str, Line] = {}

    def hear(self, event: FetchCompleted, *, is_told: bool) -> Line | None:
        """Take an answer; gives the line that has waited for it."""
        if event.kind == RequestKind.ROBOTS:
            return None
        answer = Answer(
            round(event.total_us / 1000, 1),
            event.content_type,
            event.body_bytes,
            event.redirect_chain[-1] if event.redirect_chain else "",
        )
        if line := self._late.pop(event.url_key, None):
            return _with(line, answer)
        if not is_told:
            self._heard[event.url_key] = answer
        return None

    def complete(self, url_key: str, line: Line) -> Line | None:
        """Fill in what is known of its answer; None where the line has to wait for it."""
        answer = self._heard.pop(url_key, None)
        if answer is not None:
            return _with(line, answer)
        if not line.status:
            return line
        self._late[url_key] = line
        return None

    def forget(self, url_key: str) -> None:
        """Let go of what nobody will ask for."""
        self._heard.pop(url_key, None)

    def release(self) -> Iterator[Line]:
        """Give up waiting."""
        late, self._late = self._late, {}
        yield from late.values()

    def kept(self) -> dict[str, str]:
        """Give what belongs to this instant."""
        late = {key: asdict(line) for key, line in self._late.items()}
        return {_NAME: json.dumps({"heard": self._heard, "late": late})}

    def restore(self, kept: Mapping[str, str]) -> Iterator[str]:
        """Become what it was; gives the keys of URLs whose lines wait."""
        # A state that was saved before answers were kept has none.
        said: dict[str, Any] = json.loads(kept.get(_NAME, "{}"))
        self._heard = {key: Answer(*parts) for key, parts in said.get("heard", {}).items()}
        late = said.get("late", {}).items()
        self._late = {key: Line(**{**line, "links": tuple(line["links"])}) for key, line in late}
        yield from self._late


def _with(line: Line, answer: Answer) -> Line:
    return replace(
        line,
        duration_ms=answer.duration_ms,
        content_type=line.content_type or answer.content_type,
        length=line.length or answer.length,
        referrer=line.referrer or answer.redirected_by,
    )
