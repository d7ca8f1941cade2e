"""Decrypts the personal headers of a request, just before it is made.

The clear values are in the request that is sent, and in no event: what is published about a request is made
of the one that was received.
"""

from __future__ import annotations

from dataclasses import replace

from strider.contracts.generated.enums import ErrorClass
from strider.contracts.generated.events import FetchRequested
from strider.politeness import DecryptHeader, HeaderRefused
from strider.urls import origin_of

from .error_mapping import FetchFailure


def decrypt_headers(request: FetchRequested, decrypt: DecryptHeader) -> FetchRequested:
    """Return a request with clear headers; raises FetchFailure where one cannot be decrypted."""
    origin = origin_of(request.url)
    pairs = zip(request.header_names, request.header_values, strict=True)
    try:
        values = tuple(decrypt(name, value, origin=origin) for name, value in pairs)
    except HeaderRefused as refused:
        raise FetchFailure(ErrorClass.INTERNAL, f"no request without its header: {refused}") from None
    return replace(request, header_values=values)
