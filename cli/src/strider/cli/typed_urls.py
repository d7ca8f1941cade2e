"""Read URLs as people type them: the same reading, and the same refusal, in every command.

A host name without a scheme is completed, and the command prints how it was read. A word that is no host name
on the internet is refused with a suggestion instead: it is more likely a misspelt option or file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from strider.urls import HOST_NAME, RefusedUrl, host_kind, host_of, to_wire_url

from .output import warn

MAX_SHOWN_CHARS: Final = 200
"""Of a typed text in a message."""

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d+(?:[/?#]|$))", re.IGNORECASE)
"""Beginning of a URL; what follows the colon of a bare host name is a port."""
_HOST_AND_PORT: Final = re.compile(r"(?!-(?:$|[/?#]))[^/?#\s@]*[^/?#\s@:](?=[/?#]|$)")
"""Beginning of a URL without a scheme; a mail address and a lone hyphen are none."""

_NOT_ABSOLUTE: Final = ("/", "?", "#")


class BadTypedUrl(ValueError):
    """A text that no crawler takes; the message is one line."""


@dataclass(frozen=True, slots=True)
class TypedUrl:
    """A URL as it was typed and completed."""

    text: str
    """With its scheme."""
    wire: str
    """As it is requested."""
    note: str = ""
    """How it was read, where that is not what was typed."""


def read_url(text: str) -> TypedUrl:
    """Read a URL; a host name without a scheme is completed. Raises BadTypedUrl."""
    typed = text.strip()
    found = to_wire_url(typed)
    if not isinstance(found, RefusedUrl):
        return TypedUrl(typed, found)
    guess = _completed(typed)
    wire = to_wire_url(guess) if guess else found
    if isinstance(wire, RefusedUrl) or not _is_host_certain(host_of(wire), typed):
        raise BadTypedUrl(refusal_text(typed, found))
    return TypedUrl(guess, wire, f"{typed} is read as {guess}")


def announce(url: TypedUrl) -> TypedUrl:
    """Print how a URL was read, where that is not what was typed."""
    if url.note:
        warn(url.note)
    return url


def refusal_text(text: str, refused: RefusedUrl) -> str:
    """Return the sentence about a URL that is refused: the text, the reason as in events, and what to do."""
    shown = repr(text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…")
    verdict = "is not a URL" if refused.reason == "bad_url" else "is refused"
    return f"{shown} {verdict} ({refused.reason}): {_hint(text.strip()) or refused.explanation}"


def has_scheme(text: str) -> bool:
    """Return whether a text begins with a scheme (`mailto:` too), and not with a host and port."""
    return bool(_SCHEME.match(text))


def is_loopback(name: str) -> bool:
    """Whether a host is this machine."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _completed(text: str) -> str:
    """Return a host name with a scheme: http for this machine, where certificates are rare, else https.

    Empty for a text that is complete, or is no host name.
    """
    bare = text.removeprefix("//")
    if has_scheme(bare) or not _HOST_AND_PORT.match(bare):
        return ""
    found = to_wire_url(f"https://{bare}")
    if isinstance(found, RefusedUrl):
        return ""
    return f"{'http' if is_loopback(host_of(found)) else 'https'}://{bare}"


def _is_host_certain(host: str, text: str) -> bool:
    """Whether a text without a scheme means this host: `word` and `3.5` may mean something else."""
    if host_kind(host) != HOST_NAME and host not in text.lower():
        return False  # a number that is read as an address
    return "." in host or is_loopback(host) or text.startswith(("//", "["))


def _hint(text: str) -> str:
    if not text:
        return "it is empty"
    if text == "-":
        return "give URLs as arguments, this command reads none from a pipe"
    if text.startswith(_NOT_ABSOLUTE) and not text.startswith("//"):
        return f"give all of it, https://host{text[:40]}"
    guess = to_wire_url(_completed(text))
    return "" if isinstance(guess, RefusedUrl) else f"it has no scheme; did you mean {guess}?"
