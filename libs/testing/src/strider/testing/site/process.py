"""Runs a generated site as a process of its own, and reads its access log.

Hosts are `*.localhost` names (one address, distinguished by the Host header), names of another domain that a
name server of the test serves, or loopback addresses of their own, for clients that would resolve such names
by DNS.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from .models import SitePlan, SiteShape
from .plan import make_plan

_STOP_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class AccessLogLine:
    """One request to the site; times are seconds of the machine's monotonic clock."""

    host: str
    path: str
    method: str
    status: int
    started: float
    """When it was logged; it may have arrived as early as `earliest`, where the site was not scheduled."""
    earliest: float
    ended: float
    connection: int
    agent: str

    @property
    def url(self) -> str:
        """Requested URL."""
        return f"http://{self.host}{self.path}"


@dataclass(frozen=True, slots=True)
class ServedSite:
    """A site that is being served."""

    plan: SitePlan
    port: int
    log_path: Path | None
    pid: int

    def access_log(self) -> list[AccessLogLine]:
        """Return the answered requests, in the order of the responses."""
        return [AccessLogLine(**line) for line in self._lines() if line["ended"] is not None]

    def unanswered(self) -> Mapping[str, float]:
        """Return the unanswered requests, and their start times."""
        open_since: dict[tuple[int, float], tuple[str, float]] = {}
        for line in self._lines():
            request = line["connection"], line["started"]
            if line["ended"] is None:
                open_since[request] = f"http://{line['host']}{line['path']}", line["started"]
            else:
                open_since.pop(request, None)
        return dict(open_since.values())

    def _lines(self) -> list[dict[str, Any]]:
        if self.log_path is None:
            raise ValueError("this site keeps no log")
        whole, _, _ = self.log_path.read_text(encoding="utf-8").rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def requests_by_host(self) -> Mapping[str, Sequence[AccessLogLine]]:
        """Return the requests of each host, in the order of their start."""
        hosts: dict[str, list[AccessLogLine]] = defaultdict(list)
        for line in sorted(self.access_log(), key=lambda line: line.started):
            hosts[line.host].append(line)
        return hosts

    def request_counts(self) -> Counter[str]:
        """Return how often each URL was requested."""
        return Counter(line.url for line in self.access_log())

    def overlapping_requests(self) -> list[tuple[AccessLogLine, AccessLogLine]]:
        """Return requests of one host that began while another one was answered."""
        return [
            (before, after)
            for lines in self.requests_by_host().values()
            for before, after in pairwise(lines)
            if after.started < before.ended
        ]

    def shortest_intervals(self) -> Mapping[str, float]:
        """Return, for each host, the shortest time between the starts of two requests to it.

        Where the site logged the first of two late, it is the longest time that may have passed: only a time
        that is surely less than a delay counts.
        """
        return {
            host: min(after.started - before.earliest for before, after in pairwise(lines))
            for host, lines in self.requests_by_host().items()
            if len(lines) > 1
        }


def host_names(hosts: int, name: str, domain: str = "localhost") -> list[str]:
    """Return host names of the form `siteN.localhost`."""
    return [f"{name}{number}.{domain}" for number in range(hosts)]


def host_addresses(hosts: int) -> list[str]:
    """Return a loopback address for each host."""
    return [f"127.{64 + number // 62500}.{number // 250 % 250}.{number % 250 + 1}" for number in range(hosts)]


@contextmanager
def serve_site(
    seed: int,
    shape: SiteShape = SiteShape(),  # noqa: B008  # frozen
    *,
    log: Path | None = None,
    own_addresses: bool = False,
    name: str = "site",
    domain: str = "localhost",
    address: str = "127.0.0.1",
    port: int = 0,
) -> Iterator[ServedSite]:
    """Serve a site while the context lasts.

    A `name` of its own separates its hosts from those of other sites, of which a crawler may still have
    state. Names of another `domain` than `localhost` need a name server that knows the `address`.
    """
    names = host_addresses(shape.hosts) if own_addresses else host_names(shape.hosts, name, domain)
    order = {
        "seed": seed,
        "shape": asdict(shape),
        "names": names,
        "addresses": names if own_addresses else [address],
        "log": str(log) if log else "",
        "port": port,
    }
    if log:
        log.touch()
    with _running_server(order) as (given, process_id):
        plan = make_plan(seed, [f"http://{name}:{given}" for name in names], shape)
        yield ServedSite(plan, given, log, process_id)


@contextmanager
def _running_server(order: dict[str, object]) -> Iterator[tuple[int, int]]:
    """Run a server of this order; yield its port and its process id."""
    process = subprocess.Popen(  # noqa: S603  # our own interpreter and our own module
        [sys.executable, "-m", "strider.testing.site.server", json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = process.stdout.readline()
        if not port:
            raise RuntimeError("the generated site did not start; its standard error says why")
        yield int(port), process.pid
    finally:
        process.stdin.close()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
