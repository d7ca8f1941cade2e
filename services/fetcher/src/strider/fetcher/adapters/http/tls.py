"""TLS contexts: TLS 1.2 or later, and the trusted certificate authorities.

Certificates are verified on every connection, unless a request asks not to.
"""

from __future__ import annotations

import ssl
from typing import Any

from strider.messaging.errors import StartRefused

from .timeline import CURRENT_TIMELINE


class _TimedContext(ssl.SSLContext):
    """A TLS context that records when a handshake starts."""

    def wrap_bio(self, *args: Any, **more: Any) -> ssl.SSLObject:
        """Start a handshake."""
        timeline = CURRENT_TIMELINE.get()
        if timeline is not None:
            timeline.on_tls_handshake()
        return super().wrap_bio(*args, **more)


def make_tls_context(ca_file: str, *, is_verified: bool, records_handshake: bool = True) -> ssl.SSLContext:
    """Make a TLS context; StartRefused if the file of certificate authorities cannot be used."""
    context = (_TimedContext if records_handshake else ssl.SSLContext)(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if not is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        if ca_file:
            context.load_verify_locations(cafile=ca_file)
        else:
            context.load_default_certs()
    except (OSError, ssl.SSLError) as error:
        raise StartRefused(
            f"FETCHER_CA_FILE {ca_file} cannot be read as certificates (PEM): {error}"
        ) from error
    return context
