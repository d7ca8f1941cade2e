"""Jobs and their executions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypedDict, Unpack
from urllib.parse import quote

from .models import RemoteExecution, RemoteJob, RemoteJobStats, RemoteRun
from .pagination import iterate
from .parsing import parse
from .requests import ApiRequests

JOBS: Final = "/api/v1/jobs"


class JobSettings(TypedDict, total=False):
    """Settings of a job; what is left out has its default, in a change its present value."""

    source_id: str
    name: str
    interval_minutes: int | None
    """Number of `interval_type` between two runs; None for a job that runs once."""
    interval_type: str
    """minutes, hours or days."""
    schedule_enabled: bool
    adaptive_scheduling: bool
    max_retries: int
    retry_backoff_seconds: int
    crawl_settings: Mapping[str, Any]
    metadata: Mapping[str, Any]


class JobChanges(JobSettings, total=False):
    """Changed settings of a job."""

    url: str


class JobsApi:
    """Create, list, change and command jobs."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def create(self, *, url: str, **settings: Unpack[JobSettings]) -> RemoteJob:
        """Create a job; without an interval it runs once, and at once."""
        return parse(RemoteJob, self._requests.post(JOBS, {"url": url, **settings}).document)

    def get(self, job_id: str) -> RemoteJob:
        """Return a job. Raises NotFoundProblem."""
        return parse(RemoteJob, self._requests.get(_path(job_id)).document)

    def list(
        self,
        *,
        status: str | None = None,
        source_id: str | None = None,
        name: str | None = None,
        id_prefix: str | None = None,
        limit: int | None = None,
    ) -> Iterator[RemoteJob]:
        """Yield jobs, newest first: all of them, or as many as `limit`."""
        filters = {"status": status, "source_id": source_id, "name": name, "id_prefix": id_prefix}
        return iterate(self._requests, JOBS, filters, read=lambda item: parse(RemoteJob, item), limit=limit)

    def change(self, job_id: str, *, etag: str = "", **changes: Unpack[JobChanges]) -> RemoteJob:
        """Change settings; `crawl_settings` and `metadata` replace what is there.

        With the ETag of a job only that version. Raises VersionProblem.
        """
        return parse(RemoteJob, self._requests.put(_path(job_id), dict(changes), etag=etag).document)

    def patch(self, job_id: str, *, etag: str = "", **changes: Unpack[JobChanges]) -> RemoteJob:
        """Change settings; members of `crawl_settings` and `metadata` are set, or removed by None.

        With the ETag of a job only that version. Raises VersionProblem.
        """
        return parse(RemoteJob, self._requests.patch(_path(job_id), dict(changes), etag=etag).document)

    def delete(self, job_id: str) -> None:
        """Delete a job with its executions. Raises TransitionProblem for one that is running."""
        self._requests.delete(_path(job_id))

    def pause(self, job_id: str) -> RemoteJob:
        """Pause a scheduled job."""
        return self._command(_path(job_id, "pause"))

    def resume(self, job_id: str) -> RemoteJob:
        """Resume a paused job."""
        return self._command(_path(job_id, "resume"))

    def cancel(self, job_id: str) -> RemoteJob:
        """Cancel a job for good, with its run."""
        return self._command(_path(job_id, "cancel"))

    def retry(self, job_id: str) -> RemoteJob:
        """Run a failed job again."""
        return self._command(_path(job_id, "retry"))

    def force_run(self, job_id: str) -> RemoteJob:
        """Run a scheduled job now."""
        return self._command(f"/api/v2/jobs/{quote(job_id, safe='')}/force-run")

    def executions(self, job_id: str, *, limit: int | None = None) -> Iterator[RemoteExecution]:
        """Yield the executions of a job, newest first."""
        return iterate(
            self._requests,
            _path(job_id, "executions"),
            {},
            read=lambda item: parse(RemoteExecution, item),
            limit=limit,
        )

    def execution(self, execution_id: str) -> RemoteExecution:
        """Return one execution. Raises NotFoundProblem."""
        path = f"/api/v1/executions/{quote(execution_id, safe='')}"
        return parse(RemoteExecution, self._requests.get(path).document)

    def run(self, execution_id: str) -> RemoteRun:
        """Return the run of an execution, with its URLs so far. Raises NotFoundProblem before it begins."""
        return parse(RemoteRun, self._requests.get(f"/api/v1/runs/{quote(execution_id, safe='')}").document)

    def stats(self, job_id: str) -> RemoteJobStats:
        """Return statistics of the kept executions of a job."""
        return parse(RemoteJobStats, self._requests.get(_path(job_id, "stats")).document)

    def status_counts(self) -> dict[str, int]:
        """Return the number of jobs in each state."""
        counts = self._requests.get(f"{JOBS}/status-counts").document.get("counts", {})
        return {str(state): int(count) for state, count in counts.items()}

    def _command(self, path: str) -> RemoteJob:
        return parse(RemoteJob, self._requests.post(path).document)


def _path(job_id: str, *more: str) -> str:
    return "/".join((JOBS, quote(job_id, safe=""), *more))
