"""Log events of the fetcher."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import error, info, warning

CONTACT_NOT_CONFIGURED: Final = warning(
    "Contact not configured", "STRIDER_CONTACT is not set, so only loopback addresses are fetched."
)
PROXY_DISABLED: Final = warning(
    "Proxy disabled", "A proxy failed too often in a row and is not used until a check succeeds."
)
PROXY_CHECK_FAILED: Final = info(
    "Proxy check failed", "A disabled proxy was checked and could not be reached; it is checked again later."
)
PROXY_RECOVERED: Final = info("Proxy recovered", "A disabled proxy was reached by a check and is used again.")
PROXY_TABLE_NOT_UPDATED: Final = warning(
    "Proxy table not updated", "PostgreSQL was unavailable; what became of the proxies is written later."
)
PROXY_PASSWORD_NOT_DECRYPTED: Final = error(
    "Proxy password not decrypted", "No key of CRAWLER_PROXY_KEY opens a proxy's password; it is not used."
)
COOKIES_NOT_STORED: Final = warning(
    "Cookies not stored", "Redis was unavailable; the cookies that a response set are lost, its page is not."
)
NETWORK_LOST: Final = warning(
    "Network lost", "None of the endpoints in FETCHER_NETWORK_CHECKS could be reached; fetching is paused."
)
NETWORK_STILL_LOST: Final = warning(
    "Network still lost", "The network has not come back; repeated every 30 s while fetching is paused."
)
NETWORK_RECOVERED: Final = info("Network recovered", "An endpoint was reached again and fetching continues.")
RESPONSES_RECEIVED: Final = info(
    "Responses received", "Requests for pages of a run were answered, by status."
)
REQUESTS_UNANSWERED: Final = info(
    "Requests unanswered", "Requests for pages of a run brought no response, by error class or outcome."
)
