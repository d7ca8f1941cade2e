"""SSRF guard: refuses private and metadata addresses right before a connection is made.

Checked for every address that a name resolves to (`dns`) and again when a socket is made (`connector`). What
is allowed is decided by `core.address_policy`; URLs were refused there before their name was resolved.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.core import AddressPolicy

from .error_mapping import FetchFailure

_NO_CONTACT: Final = (
    ErrorClass.NO_CONTACT,
    "STRIDER_CONTACT is not set: sites could not contact us, so only loopback addresses are fetched",
)


class AddressGuard:
    """Checks addresses before they are connected to."""

    def __init__(self, policy: AddressPolicy, *, has_contact: bool = True) -> None:
        """Without a contact, which sites could write to, only loopback is allowed."""
        self._policy = policy
        self._has_contact = has_contact

    def check(self, address: str) -> FetchFailure | None:
        """Return why an address, in the form used by the socket, is refused; None if it is allowed."""
        refused = self._policy.address_refusal(address)
        if refused is None:
            return (
                None if self._has_contact or ip_address(address).is_loopback else FetchFailure(*_NO_CONTACT)
            )
        return FetchFailure(ErrorClass.REFUSED_ADDRESS, f"{address} is a {refused.detail.replace('_', ' ')}")
