"""What the fetcher waits for: names, connections, marks; and the limits around them.

interface  httpx, in the one module that imports it
transport  httpx's transport over the engine
engine     connections (aiohttp)
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
"""

from .asker import Asker, open_asker, rules_of
from .budget import Budget, Holding
from .course import RequestOptions
from .engine import Engine, EngineOptions
from .exchange import Exchange
from .failures import Failure
from .files import allow_connections
from .heartbeats import Heartbeats
from .jars import Jars, MemoryJars, RedisJars
from .leases import Leases, Started
from .names import Guard, NameOptions, Names
from .proxybook import ProxyBook, row_of, standing_of
from .requests import Fetched, Requests
from .rotation import Rotation, Seat
from .tally import FETCHER_METRICS, Tally
from .transport import EngineTransport
from .uplink import Uplink, UplinkOptions

__all__ = [
    "FETCHER_METRICS",
    "Asker",
    "Budget",
    "Engine",
    "EngineOptions",
    "EngineTransport",
    "Exchange",
    "Failure",
    "Fetched",
    "Guard",
    "Heartbeats",
    "Holding",
    "Jars",
    "Leases",
    "MemoryJars",
    "NameOptions",
    "Names",
    "ProxyBook",
    "RedisJars",
    "RequestOptions",
    "Requests",
    "Rotation",
    "Seat",
    "Started",
    "Tally",
    "Uplink",
    "UplinkOptions",
    "allow_connections",
    "open_asker",
    "row_of",
    "rules_of",
    "standing_of",
]
