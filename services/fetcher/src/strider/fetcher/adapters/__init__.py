"""What the fetcher waits for: names, connections, marks; and the limits around them.

interface  httpx, in the one module that imports it
transport  httpx's transport over the engine
engine     connections (aiohttp)
talking    what is asked on one
listening  what comes on one, up to the parser
names      resolver and the guard of addresses
exchange   notes of one request, by the engine's hooks
rotation   which proxy is next
proxybook  proxies from a table, and back
tunnels    connections by way of proxies
handshakes what is said to a proxy
encryption how connections are encrypted
failures   both libraries' errors in our words
requests   one request from its mark to its end
budget     bytes of bodies in hand
jars       cookies of runs
leases     marks of one turn together
uplink     whether we have a network at all
asker      all of it, in order
tally      what is in hand and was done, as metrics
heartbeats signs of life
files      how many connections the system allows

What keeps things on servers (proxybook, redisjars) and counts for them (tally, heartbeats) is imported from
its own module: a crawl in one process needs no library of servers.
"""

from .http.client import FetchClient, open_fetch_client, rules_of
from .http.connector import ConnectorOptions, HttpConnector, receive_buffer_bytes
from .http.deadlines import RequestLimits
from .http.dns import DnsOptions, Guard, Names
from .http.error_mapping import FetchFailure
from .http.open_file_limit import raise_open_file_limit
from .http.request_runner import Fetched, RequestRunner
from .http.timeline import RequestTimeline
from .http.transport import EngineTransport
from .proxies.pool import PooledProxy, ProxyPool
from .state.body_budget import BodyBudget, Holding
from .state.connectivity import ConnectivityMonitor, ConnectivityOptions
from .state.cookie_jars import CookieJars, MemoryCookieJars
from .state.lease_marker import Leases, StartedLease

__all__ = [
    "Budget",
    "Engine",
    "EngineOptions",
    "EngineTransport",
    "Exchange",
    "Failure",
    "FetchClient",
    "Fetched",
    "Guard",
    "Holding",
    "Jars",
    "Leases",
    "MemoryJars",
    "NameOptions",
    "Names",
    "RequestOptions",
    "RequestRunner",
    "Rotation",
    "Seat",
    "Started",
    "Uplink",
    "UplinkOptions",
    "allow_connections",
    "open_asker",
    "receive_bytes",
    "rules_of",
]
