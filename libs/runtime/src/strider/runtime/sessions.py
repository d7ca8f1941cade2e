"""Sessions of browsers: signed cookies, CSRF tokens, records.

A cookie is the id of a session and its signature, so that a forged one is refused without a look at any
store. The record of a session, which ends it at any time, is kept elsewhere. Of several secrets the first
signs and each verifies, as with tokens.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets as random_secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from strider.runtime.access_tokens import Caller, Role, is_subject
from strider.runtime.settings.types import split_words

MAX_COOKIE_CHARACTERS: Final = 200
_ID_BYTES: Final = 32
_COOKIE: Final = re.compile(r"([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})")
_COOKIE_PURPOSE: Final = b"strider session cookie"
_CSRF_PURPOSE: Final = b"strider session csrf"


@dataclass(frozen=True, slots=True)
class Session:
    """A caller who logged in, until a time."""

    session_id: str
    caller: Caller
    created_at_seconds: int
    ends_at_seconds: int


def new_session(caller: Caller, *, now_seconds: float, ends_at_seconds: float) -> Session:
    """Return a session with an id that cannot be guessed."""
    return Session(
        _text(random_secrets.token_bytes(_ID_BYTES)), caller, int(now_seconds), int(ends_at_seconds)
    )


def sign_cookie(session_id: str, secrets: str) -> str:
    """Return the value of a session's cookie."""
    return f"{session_id}.{_digest(_keys(secrets)[0], _COOKIE_PURPOSE, session_id)}"


def read_cookie(value: str, secrets: str) -> str | None:
    """Return the id of the session in a cookie; None for one that none of the secrets signed."""
    if len(value) > MAX_COOKIE_CHARACTERS or (found := _COOKIE.fullmatch(value)) is None:
        return None
    session_id, signature = found.groups()
    signed = (_digest(key, _COOKIE_PURPOSE, session_id) for key in _keys(secrets))
    return session_id if any(hmac.compare_digest(signature, each) for each in signed) else None


def csrf_token(session_id: str, secrets: str) -> str:
    """Return what a page of ours sends with each request that changes something: no other page knows it."""
    return _digest(_keys(secrets)[0], _CSRF_PURPOSE, session_id)


def is_csrf_token(given: str, session_id: str, secrets: str) -> bool:
    """Whether a request of a session has its token."""
    tokens = (_digest(key, _CSRF_PURPOSE, session_id) for key in _keys(secrets))
    return any(hmac.compare_digest(given.encode(), each.encode()) for each in tokens)


def write_session(session: Session) -> bytes:
    """Return the record of a session."""
    document = {
        "userId": session.caller.subject,
        "role": str(session.caller.role),
        "createdAt": session.created_at_seconds,
        "endsAt": session.ends_at_seconds,
    }
    return json.dumps(document).encode()


def read_session(session_id: str, stored: bytes) -> Session | None:
    """Return a session by its record; None for a record that is none."""
    try:
        document = json.loads(stored)
        caller = Caller(str(document["userId"]), Role(document["role"]))
        session = Session(session_id, caller, int(document["createdAt"]), int(document["endsAt"]))
    except (ValueError, TypeError, KeyError):
        return None
    return session if is_subject(caller.subject) else None


def _keys(secrets: str) -> list[bytes]:
    return [each.encode() for each in split_words(secrets) if each]


def _digest(key: bytes, purpose: bytes, session_id: str) -> str:
    return _text(hmac.digest(key, purpose + b"\n" + session_id.encode(), sha256))


def _text(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")
