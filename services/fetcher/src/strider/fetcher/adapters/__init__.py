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

from .asker import Asker, open_asker, rules_of
from .budget import Budget, Holding
from .course import RequestOptions
from .engine import Engine, EngineOptions, receive_bytes
from .exchange import Exchange
from .failures import Failure
from .files import allow_connections
from .jars import Jars, MemoryJars
from .leases import Leases, Started
from .names import Guard, NameOptions, Names
from .requests import Fetched, Requests
from .rotation import Rotation, Seat
from .transport import EngineTransport
from .uplink import Uplink, UplinkOptions

__all__ = [
    "Asker",
    "Budget",
    "Engine",
    "EngineOptions",
    "EngineTransport",
    "Exchange",
    "Failure",
    "Fetched",
    "Guard",
    "Holding",
    "Jars",
    "Leases",
    "MemoryJars",
    "NameOptions",
    "Names",
    "RequestOptions",
    "Requests",
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
