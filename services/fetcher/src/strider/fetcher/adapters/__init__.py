"""I/O of the fetcher: HTTP, proxies and state around requests.

The names below are what other members use. Whatever needs a server's library (`proxies.table_sync`,
`state.redis_cookie_jars`, `state.metrics`, `state.heartbeat`) is imported from its own module, so that a
crawl in one process does not load it.
"""

from .http.client import FetchClient, open_fetch_client, redirect_rules_of
from .http.deadlines import RequestLimits
from .http.error_mapping import FetchFailure
from .state.open_files import raise_open_file_limit

__all__ = [
    "FetchClient",
    "FetchFailure",
    "RequestLimits",
    "open_fetch_client",
    "raise_open_file_limit",
    "redirect_rules_of",
]
