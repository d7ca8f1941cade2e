"""Reasons for refusing a URL, returned as values and never raised.

The reasons are values of `decision-reason` in the contracts, so that events carry them unchanged; `detail`
narrows them down and is a closed list as well. The decisions are made elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BAD_URL: Final = "bad_url"
"""The WHATWG parser refuses it, UTF-8 cannot carry it, or no name server can resolve its host."""

TOO_LONG: Final = "url_too_long"
"""Longer than MAX_URL_BYTES in wire form, or too long to be parsed at all."""

REFUSED_SCHEME: Final = "refused_scheme"
"""Neither http nor https; the detail is one of the three below."""

POLICY_BLOCKED: Final = "policy_blocked"
"""The host means this machine, its network, or a cloud metadata service, as the detail says."""

REFUSAL_REASONS: Final = (BAD_URL, TOO_LONG, REFUSED_SCHEME, POLICY_BLOCKED)

NO_PAGE: Final = "no_page"
"""A link that leads to no document: mailto, tel, javascript, data and the like. Not worth an event."""

LOCAL_SCHEME: Final = "local"
"""A link to the reader's own machine: file, and internal pages of browsers."""

OTHER_SCHEME: Final = "other"
"""Any other scheme, which is not fetched: ftp, gopher, ws, magnet …"""

BAD_HOST: Final = "bad_host"
"""An empty label, a label over 63 or a name over 253 characters."""

PRIVATE_ADDRESS: Final = "private_address"
"""Loopback, private, link-local, shared, reserved, or a name that means one of them."""

METADATA_ADDRESS: Final = "metadata_address"
"""A cloud's metadata service: always refused."""

REFUSAL_DETAILS: Final = (
    "",
    NO_PAGE,
    LOCAL_SCHEME,
    OTHER_SCHEME,
    BAD_HOST,
    PRIVATE_ADDRESS,
    METADATA_ADDRESS,
)

_LOCAL_SCHEME_NAMES: Final = (
    "about chrome chrome-extension edge file filesystem jar moz-extension ms-settings resource "
    "safari-web-extension shell view-source"
)

_NO_PAGE_SCHEME_NAMES: Final = (
    "blob callto cid data facetime fax geo intent itms-apps javascript market maps mailto mid mms skype "
    "sip sips sms smsto tel telegram tg vbscript viber webcal whatsapp xmpp"
)

_LOCAL_SCHEMES: Final = frozenset(_LOCAL_SCHEME_NAMES.split())
_NO_PAGE_SCHEMES: Final = frozenset(_NO_PAGE_SCHEME_NAMES.split())


_EXPLANATIONS: Final = {
    BAD_URL: "check its host and port",
    TOO_LONG: "it is longer than 2,048 bytes",
    REFUSED_SCHEME: "only http and https are crawled",
    POLICY_BLOCKED: "its address may not be requested",
    BAD_HOST: "its host name is invalid",
    PRIVATE_ADDRESS: "private addresses are crawled only with STRIDER_ALLOW_PRIVATE",
    METADATA_ADDRESS: "a metadata service is never crawled",
}
"""Detail or reason → what is wrong, for people."""


@dataclass(frozen=True, slots=True)
class RefusedUrl:
    """A text that will not be fetched, with reason and detail."""

    reason: str
    detail: str = ""

    @property
    def explanation(self) -> str:
        """The sentence for people about it."""
        if self.detail in REFUSAL_DETAILS:
            return _EXPLANATIONS.get(self.detail) or _EXPLANATIONS.get(self.reason, self.reason)
        return self.detail

    @property
    def text(self) -> str:
        """Reason and explanation, with a detail of the list: `policy_blocked (private_address): …`."""
        detail = f" ({self.detail})" if self.detail and self.detail in REFUSAL_DETAILS else ""
        return f"{self.reason}{detail}: {self.explanation}"


def scheme_detail(scheme: str) -> str:
    """Return the detail for a scheme other than http and https (lower case, without colon)."""
    if scheme in _LOCAL_SCHEMES:
        return LOCAL_SCHEME
    return NO_PAGE if scheme in _NO_PAGE_SCHEMES else OTHER_SCHEME
