"""Client of the HTTP API: jobs, executions, sources, logs, scheduler, frontier.

from strider.client import StriderClient

with StriderClient("http://127.0.0.1:8060", token) as client:
job = client.jobs.create(url="https://example.org/", source_id="example", interval_minutes=360)
for execution in client.jobs.executions(job.id):
print(execution.status, execution.items_crawled)
"""

from .client import StriderClient
from .errors import (
    ApiProblem,
    ApiUnreachable,
    AuthenticationProblem,
    ClientError,
    ConflictProblem,
    NotFoundProblem,
    PermissionProblem,
    RefusedField,
    RequestProblem,
    ServerProblem,
    TransitionProblem,
    UnexpectedResponse,
    VersionProblem,
)
from .models import (
    RemoteCancellation,
    RemoteDistribution,
    RemoteEntry,
    RemoteExecution,
    RemoteJob,
    RemoteJobStats,
    RemoteLink,
    RemoteMetrics,
    RemoteMove,
    RemoteRebalance,
    RemoteRun,
    RemoteSlot,
    RemoteSource,
    RemoteSubmission,
    RemoteSync,
    RemoteSyncStep,
    RemoteUrl,
)
from .requests import ClientOptions

__all__ = [
    "ApiProblem",
    "ApiUnreachable",
    "AuthenticationProblem",
    "ClientError",
    "ClientOptions",
    "ConflictProblem",
    "NotFoundProblem",
    "PermissionProblem",
    "RefusedField",
    "RemoteCancellation",
    "RemoteDistribution",
    "RemoteEntry",
    "RemoteExecution",
    "RemoteJob",
    "RemoteJobStats",
    "RemoteLink",
    "RemoteMetrics",
    "RemoteMove",
    "RemoteRebalance",
    "RemoteRun",
    "RemoteSlot",
    "RemoteSource",
    "RemoteSubmission",
    "RemoteSync",
    "RemoteSyncStep",
    "RemoteUrl",
    "RequestProblem",
    "ServerProblem",
    "StriderClient",
    "TransitionProblem",
    "UnexpectedResponse",
    "VersionProblem",
]
