"""Access tokens of the API: JSON Web Tokens (HS256) with caller, role and end.

    claims   sub   name of the caller
             role  user or admin
             exp   end, in seconds since 1970; nbf, the beginning, where it is given

Of several secrets the first signs and each verifies, so that a secret is replaced without an interruption.
The time is an argument. No message quotes a token.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import jwt

from strider.runtime.settings.types import split_words

ALGORITHM: Final = "HS256"
LEEWAY_SECONDS: Final = 5
"""Difference between the clocks of two machines that does not matter."""
MAX_TOKEN_CHARACTERS: Final = 4096
MAX_SUBJECT_CHARACTERS: Final = 200

_OPTIONS: Final[Any] = {"verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_sub": False}
"""Claims that are verified here, by the clock of the process. A token for an audience is refused: it is for
another program.
"""


class Role(StrEnum):
    """Role of a caller; an admin may do all that a user may."""

    USER = "user"
    ADMIN = "admin"

    def includes(self, needed: Role) -> bool:
        """Whether a caller with this role may do what needs another one."""
        return self is Role.ADMIN or self is needed


class TokenFault(StrEnum):
    """Reason why a token is refused."""

    MISSING = "missing"
    TOO_LONG = "too_long"
    MALFORMED = "malformed"
    ALGORITHM = "algorithm"
    SIGNATURE = "signature"
    CLAIM = "claim"
    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"


class TokenRefused(Exception):
    """A token that identifies no caller, with the reason in a word and in a sentence."""

    def __init__(self, reason: TokenFault, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request."""

    subject: str
    role: Role


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A verified token."""

    caller: Caller
    ends_at_seconds: float


def issue_token(secrets: str, caller: Caller, *, now_seconds: float, lifetime_seconds: float) -> str:
    """Return a token that the first secret signs."""
    claims = {
        "sub": caller.subject,
        "role": str(caller.role),
        "iat": int(now_seconds),
        "exp": math.ceil(now_seconds + lifetime_seconds),
    }
    return jwt.encode(claims, split_words(secrets)[0], ALGORITHM)


def verify_token(token: str, secrets: str, *, now_seconds: float) -> Caller:
    """Return the caller that a token identifies; raises TokenRefused."""
    return read_token(token, secrets, now_seconds=now_seconds).caller


def read_token(token: str, secrets: str, *, now_seconds: float) -> AccessToken:
    """Return what a token says; raises TokenRefused for one that is not valid."""
    if not token:
        raise TokenRefused(TokenFault.MISSING, "send a token as `Authorization: Bearer …`")
    if len(token) > MAX_TOKEN_CHARACTERS:
        raise TokenRefused(TokenFault.TOO_LONG, f"the token is longer than {MAX_TOKEN_CHARACTERS} characters")
    claims = _signed_claims(token, secrets)
    ends = _checked_end(claims, now_seconds)
    return AccessToken(Caller(_subject(claims), _role(claims)), ends)


def _signed_claims(token: str, secrets: str) -> Mapping[str, Any]:
    """Return the claims of a token that one of the secrets signed."""
    for secret in filter(None, split_words(secrets)):
        try:
            return jwt.decode(token, secret, algorithms=[ALGORITHM], options=_OPTIONS)
        except jwt.InvalidSignatureError:
            continue
        except jwt.InvalidAlgorithmError as failure:
            raise TokenRefused(
                TokenFault.ALGORITHM, f"the algorithm of the token is not {ALGORITHM}"
            ) from failure
        except jwt.InvalidAudienceError as failure:
            raise TokenRefused(TokenFault.CLAIM, "aud: the token is for another audience") from failure
        except (jwt.InvalidTokenError, UnicodeError) as failure:
            raise TokenRefused(TokenFault.MALFORMED, "the token is no JSON Web Token") from failure
    raise TokenRefused(TokenFault.SIGNATURE, "the token is not signed with the secret of this API")


def _checked_end(claims: Mapping[str, Any], now_seconds: float) -> float:
    """Return the end of a token; raises TokenRefused outside of its time."""
    ends, begins = _seconds(claims, "exp"), _seconds(claims, "nbf")
    if ends is None:
        raise TokenRefused(TokenFault.CLAIM, "exp: the token has no end")
    if now_seconds >= ends + LEEWAY_SECONDS:
        raise TokenRefused(TokenFault.EXPIRED, "the token has expired")
    if begins is not None and now_seconds < begins - LEEWAY_SECONDS:
        raise TokenRefused(TokenFault.NOT_YET_VALID, "the token is not valid yet")
    return ends


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, float) and math.isfinite(value)):
        raise TokenRefused(TokenFault.CLAIM, f"{name}: must be a time in seconds since 1970")
    seconds: float = value
    return seconds


def _subject(claims: Mapping[str, Any]) -> str:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not is_subject(subject):
        raise TokenRefused(
            TokenFault.CLAIM,
            f"sub: must be a name of 1 to {MAX_SUBJECT_CHARACTERS} printable characters",
        )
    return subject


def is_subject(name: str) -> bool:
    """Whether a name may be the subject of a token."""
    return 0 < len(name) <= MAX_SUBJECT_CHARACTERS and name.isprintable() and name == name.strip()


def _role(claims: Mapping[str, Any]) -> Role:
    role = claims.get("role")
    if not isinstance(role, str) or role not in set(Role):
        raise TokenRefused(TokenFault.CLAIM, f"role: must be one of {', '.join(Role)}")
    return Role(role)
