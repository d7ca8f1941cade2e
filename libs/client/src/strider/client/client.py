"""The client of one API."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from .frontier import FrontierApi
from .jobs import JobsApi
from .logs import LogsApi
from .requests import ApiRequests, ClientOptions
from .scheduling import SchedulerApi
from .sources import SourcesApi


class StriderClient:
    """A client of the API at one address; it keeps connections until it is closed.

    Not for several threads at once: give each one its own. In an asyncio program, call it in a thread.
    """

    def __init__(self, url: str, token: str = "", *, options: ClientOptions | None = None) -> None:
        self.requests = ApiRequests(options or ClientOptions(url, token))
        """Requests to paths that have no method here."""
        self.frontier = FrontierApi(self.requests)
        self.jobs = JobsApi(self.requests)
        self.logs = LogsApi(self.requests)
        self.scheduler = SchedulerApi(self.requests)
        self.sources = SourcesApi(self.requests)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.requests.close()
