"""The schedule of all jobs: metrics, distribution, rebalance."""

from __future__ import annotations

from typing import Final

from .models import RemoteDistribution, RemoteMetrics, RemoteRebalance
from .parsing import parse
from .requests import ApiRequests

SCHEDULER: Final = "/api/v1/scheduler"


class SchedulerApi:
    """Read and rebalance the schedule."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def metrics(self) -> RemoteMetrics:
        """Return the numbers of jobs, and the success rate of a day."""
        return parse(RemoteMetrics, self._requests.get(f"{SCHEDULER}/metrics").document)

    def distribution(self) -> RemoteDistribution:
        """Return the jobs in each quarter of an hour of the day."""
        return parse(RemoteDistribution, self._requests.get(f"{SCHEDULER}/distribution").document)

    def rebalance_preview(self) -> RemoteRebalance:
        """Return the moves that a rebalance would make."""
        return parse(RemoteRebalance, self._requests.post(f"{SCHEDULER}/rebalance/preview").document)

    def rebalance(self) -> RemoteRebalance:
        """Move jobs from loaded slots to others."""
        return parse(RemoteRebalance, self._requests.post(f"{SCHEDULER}/rebalance").document)
