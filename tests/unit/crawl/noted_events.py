"""Events of runs as a service notes them, added up."""

from __future__ import annotations

from collections import Counter

from strider.messaging.log_events import LogEvent


class NotedEvents(Counter[tuple[str, str, str, str]]):
    """Counts by text of the event, job, run and kind."""

    def note(self, event: LogEvent, job_id: str, execution_id: str, kind: str, count: int) -> None:
        self[event.text, job_id, execution_id, kind] += count
