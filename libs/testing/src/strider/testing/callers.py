"""Callers of the API for tests: the secret of its tokens, and the headers of a request."""

from __future__ import annotations

import time
from typing import Final

from strider.runtime.access_tokens import Caller, Role, issue_token

JWT_SECRET: Final = "secret-of-tokens-in-tests-0123456789abcdef"  # noqa: S105  # of tests alone
AUTH_SETTINGS: Final = {"AUTH_JWT_SECRET": JWT_SECRET}
"""Environment of the API."""
LIFETIME_SECONDS: Final = 3600


def access_token(role: Role = Role.ADMIN, *, subject: str = "tests") -> str:
    """Return a token for an hour."""
    return issue_token(
        JWT_SECRET, Caller(subject, role), now_seconds=time.time(), lifetime_seconds=LIFETIME_SECONDS
    )


def bearer(role: Role = Role.ADMIN, *, subject: str = "tests") -> dict[str, str]:
    """Return the headers of a request."""
    return {"Authorization": f"Bearer {access_token(role, subject=subject)}"}
