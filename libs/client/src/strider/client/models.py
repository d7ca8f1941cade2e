"""Objects of the API, as its responses have them. Pure.

Fields that a newer API adds are kept, and have no attribute of their own: `model_extra`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_validator,
)


class RemoteObject(BaseModel):
    """An object of a response; it is a copy, and changes nothing on the server."""

    model_config = ConfigDict(extra="allow", frozen=True)
    _document: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _keep_document(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        made = handler(value)
        if isinstance(value, dict):
            made._document = value  # noqa: SLF001  # of this class
        return made

    def document(self) -> dict[str, Any]:
        """Return it as the API sent it."""
        return self._document


class RemoteJob(RemoteObject):
    """A job."""

    id: str
    url: str
    status: str
    """pending, scheduled, running, paused, completed, failed or cancelled."""
    version: int
    allowed_actions: tuple[str, ...] = ()
    source_id: str = ""
    name: str = ""
    interval_minutes: int | None = None
    interval_type: str = "minutes"
    schedule_enabled: bool = False
    adaptive_scheduling: bool = True
    current_interval_seconds: int | None = None
    next_run_at: AwareDatetime | None = None
    last_run_at: AwareDatetime | None = None
    paused_at: AwareDatetime | None = None
    cancelled_at: AwareDatetime | None = None
    max_retries: int = 0
    retry_backoff_seconds: int = 0
    current_retry_count: int = 0
    execution_count: int = 0
    error_message: str = ""
    crawl_settings: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    created_by: str = ""
    created_at: AwareDatetime
    updated_at: AwareDatetime

    @property
    def etag(self) -> str:
        """The ETag of this version, for a change that must meet no other one."""
        return f'"{self.version}"'


class RemoteExecution(RemoteObject):
    """One execution of a job."""

    id: str
    """Also the id of its run."""
    job_id: str
    execution_number: int
    status: str
    """running, completed, failed or cancelled."""
    started_at: AwareDatetime
    launched_at: AwareDatetime | None = None
    completed_at: AwareDatetime | None = None
    duration_ms: int | None = None
    items_crawled: int = 0
    items_indexed: int = 0
    bytes_fetched: int = 0
    error_message: str = ""
    retry_attempt: int = 0
    counts: dict[str, int] = {}

    @property
    def has_ended(self) -> bool:
        """Whether its run has ended."""
        return self.status != "running"


class RemoteRun(RemoteObject):
    """A run in the frontier."""

    execution_id: str
    state: str
    """running, closed (no more start URLs come), paused, completed, cancelled or dropped."""
    open: int
    """URLs that are not closed: those that wait for a recrawl are among them."""
    accepted: int


class RemoteJobStats(RemoteObject):
    """Statistics of the kept executions of a job."""

    job_id: str
    executions: int
    completed: int
    failed: int
    cancelled: int
    running: int
    success_rate: float | None
    average_duration_ms: int | None
    items_crawled: int
    items_indexed: int
    next_run_at: AwareDatetime | None = None


class RemoteExecutionMetrics(RemoteObject):
    """Executions that started within the last day."""

    total: int
    success_rate: float | None
    average_duration_ms: int | None
    by_status: dict[str, int] = {}


class RemoteMetrics(RemoteObject):
    """State of all jobs."""

    jobs: dict[str, int]
    executions: RemoteExecutionMetrics
    due: int = 0
    oldest_due_ms: int = 0
    launching: int = 0
    stale_locks_cleared: int = 0


class RemoteSlot(RemoteObject):
    """A quarter of an hour of the day, in UTC."""

    slot: int
    starts_at: str
    jobs: int
    runs: float


class RemoteDistribution(RemoteObject):
    """Recurring jobs over the slots of a day."""

    distribution_score: float
    jobs: int
    slots: tuple[RemoteSlot, ...]


class RemoteMove(RemoteObject):
    """A job that a rebalance moves."""

    job_id: str
    from_slot: int
    to_slot: int
    next_run_at: datetime
    new_next_run_at: datetime


class RemoteRebalance(RemoteObject):
    """Moves of a rebalance."""

    moves: tuple[RemoteMove, ...]
    score_before: float
    score_after: float
    applied: int


class RemoteSource(RemoteObject):
    """A source; its further fields are those of docs/sources.md."""

    id: str
    name: str
    url: str
    enabled: bool
    version: int
    created_at: AwareDatetime
    updated_at: AwareDatetime
    updated_by: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def etag(self) -> str:
        """The ETag of this version, for a change that must meet no other one."""
        return f'"{self.version}"'


class RemoteSyncStep(RemoteObject):
    """One difference between sources and jobs, or between a source-manager and the sources."""

    action: str
    source_id: str
    source: str
    job_id: str = ""
    detail: str = ""


class RemoteSync(RemoteObject):
    """Differences; they were applied, unless it was a dry run."""

    dry_run: bool
    counts: dict[str, int]
    steps: tuple[RemoteSyncStep, ...]


class RemoteEntry(RemoteObject):
    """A URL of a job in the frontier."""

    url_key: str
    job_id: str
    url: str
    host: str
    state: str
    """pending, in_progress, completed or failed."""
    reason: str
    execution_id: str
    status: str = ""
    depth: int = 0
    priority: int = 0
    tries: int = 0
    due_at: AwareDatetime | None = None
    closed_at: AwareDatetime | None = None
    updated_at: AwareDatetime
    open: bool = True
    place: str | None = None
    """Where the working set has it, where one URL is shown."""


class RemoteUrl(RemoteObject):
    """All that is stored of a URL."""

    url_key: str
    url: str
    entries: tuple[RemoteEntry, ...] = ()
    decisions: tuple[dict[str, Any], ...] = ()
    failures: tuple[dict[str, Any], ...] = ()
    pages: tuple[dict[str, Any], ...] = ()
    hosts: tuple[dict[str, Any], ...] = ()


class RemoteSubmission(RemoteObject):
    """A URL that was submitted."""

    url: str
    url_key: str
    job_id: str
    entry: str
    """Path of its entry, once it is accepted."""


class RemoteCancellation(RemoteObject):
    """A URL that is taken out of the queue."""

    url_key: str
    url: str
    reason: str = ""
    cancelled: tuple[dict[str, str], ...] = ()
    """Job and run of each entry."""


class RemoteLink(RemoteObject):
    """A link that was found on a page."""

    id: str
    outcome: str
    """accepted or refused."""
    url: str
    page_url: str
    reason: str
    found_at: AwareDatetime
