"""Claims of requests on places and memory: by group of senders, flow of the run, and host.

Flows are those by which the scheduler takes turns (`strider.frontier.turns`): those of owners' runs, and
those of raw senders. Robots.txt files that other origins wait for are the crawler's own. Within a flow, hosts
that have not answered promptly, in this process and lately, have a share in common: most of a crawl's hosts
answer within a second, and one that never does holds its place until the deadline.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from typing import Final

from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.enums import ErrorClass
from strider.contracts.generated.events import FetchRequested
from strider.contracts.generated.topics import FETCH_REQUESTS
from strider.fetcher.core import FailedFetch, FinishedRequest
from strider.frontier.turns import flow_of, is_raw_flow
from strider.messaging.ports import Record
from strider.runtime.consumer.start_order import Claim
from strider.runtime.shares import SharePath

PROMPT_SECONDS: Final = 5.0
"""A host answers promptly if its last request was over within this time, with a response."""
MAX_RESPONSIVE: Final = 20_000
"""Host groups that are remembered as responsive."""
_CAUSED_HERE: Final = frozenset({ErrorClass.OFFLINE, ErrorClass.CANCELLED})
RESERVED_NAMES: Final = "."
"""Beginning of the names of the crawler's own jobs and runs."""


@lru_cache(maxsize=4_096)
def sender_path(execution_id: str) -> SharePath:
    """Return the path of a run's sender: its group, and its flow."""
    if execution_id.startswith(RESERVED_NAMES):
        return ("crawler", "crawler's own")
    flow = flow_of(execution_id)
    return ("raw" if is_raw_flow(flow) else "owners", flow)


@lru_cache(maxsize=4_096)
def _silent_path(sender: SharePath) -> SharePath:
    return (*sender, (sender[-1], "silent"))


def request_path(request: FetchRequested, hosts: ResponsiveHosts) -> SharePath:
    """Return the path of a request: that of its sender, or of the sender's hosts without prompt answers."""
    path = sender_path(request.execution_id)
    return path if request.group in hosts else _silent_path(path)


class ResponsiveHosts:
    """Host groups whose last request had a prompt response; the oldest are forgotten."""

    def __init__(self) -> None:
        self._groups: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, group: str) -> bool:
        return group in self._groups

    def record(self, group: str, finished: FinishedRequest) -> None:
        """Record how a request to a host group ended."""
        result = finished.result
        if isinstance(result, FailedFetch) and result.error_class in _CAUSED_HERE:
            return
        has_response = result.head is not None
        self._groups.pop(group, None)
        if has_response and finished.trace.total_us < PROMPT_SECONDS * 1_000_000:
            self._groups[group] = None
            if len(self._groups) > MAX_RESPONSIVE:
                self._groups.popitem(last=False)


class RequestClaims:
    """Claims of fetch requests on the places of this process."""

    def __init__(self, codec: Codec, hosts: ResponsiveHosts) -> None:
        self._codec = codec
        self._hosts = hosts

    def claim_of(self, record: Record) -> Claim:
        """Return the claim of a request; an undecodable one has no sender, and becomes a dead letter."""
        try:
            request: FetchRequested = self._codec.decode(FETCH_REQUESTS, record.value, record.headers)
        except DecodeError:
            return Claim(())
        lease_ms = request.lease_expires_at_ms - request.issued_at_ms
        return Claim(request_path(request, self._hosts), max(lease_ms, 0) / 1000, request)
