"""Logs of the runs of jobs: their lines, and live streams that continue after a loss."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from .requests import ApiRequests, StreamInterrupted

LINES_PER_PAGE: Final = 1_000
LAST_EVENT_ID: Final = "Last-Event-ID"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One Server-Sent Event."""

    name: str
    event_id: str
    data: Mapping[str, Any]


class LogsApi:
    """Read and follow logs."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def lines(self, job_id: str, *, run: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the lines of a job's run, the latest by default, oldest first. Raises NotFoundProblem."""
        cursor: str | None = None
        while True:
            params = {"run": run, "cursor": cursor, "limit": LINES_PER_PAGE}
            page = self._requests.get(_path(job_id), params).document
            run = page["run"]
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def follow(self, job_id: str, *, run: str | None = None, after: str = "") -> Iterator[dict[str, Any]]:
        """Yield the lines behind an id, then new ones, until the run has ended; each line once.

        A stream that was lost, or that the server has ended for now, is opened again after a wait, and
        continues. Raises ApiUnreachable where that fails for more than a minute.
        """
        failures, endings = 0, 0
        while True:
            try:
                headers = {LAST_EVENT_ID: after} if after else {}
                with self._requests.stream(_path(job_id, "stream/v2"), {"run": run}, headers) as parts:
                    for event in parse_events(parts):
                        failures = 0
                        if event.name == "end":
                            return
                        if event.name != "log":
                            break  # the server asks to connect again
                        endings = 0
                        after, run = event.event_id, str(event.data["execution_id"])
                        yield dict(event.data)
                endings += 1
                self._requests.wait_to_continue(endings)
            except StreamInterrupted as failure:
                failures += 1
                self._requests.wait_for_retry(failure, failures)


def parse_events(lines: Iterator[str]) -> Iterator[StreamEvent]:
    """Yield the events of a stream; comments and what has no data are left out."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
            continue
        if "event" in fields and "data" in fields:
            yield StreamEvent(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
        fields = {}


def _path(job_id: str, tail: str = "") -> str:
    return f"/api/v1/jobs/{quote(job_id, safe='')}/logs" + (f"/{tail}" if tail else "")
