"""Errors of the client: problem documents of the API, and responses that did not come.

ClientError
├── ApiUnreachable            no response, or 502, 503, 504, after all retries
├── UnexpectedResponse        a response that is not one of this API
└── ApiProblem                a problem document (RFC 9457)
├── AuthenticationProblem 401
├── PermissionProblem     403
├── NotFoundProblem       404
├── TransitionProblem     409, with the state and what it allows
├── VersionProblem        412: changed by another client since it was read
├── RequestProblem        400, 413, 415, 422, 428: with the names of the fields
└── ServerProblem         5xx
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final


class ClientError(Exception):
    """A request that did not succeed; the message is one line."""


class ApiUnreachable(ClientError):
    """No response of the API, after all retries; it may succeed later."""

    def __init__(self, url: str, reason: str, *, attempts: int) -> None:
        tries = "" if attempts == 1 else f", tried {attempts} times"
        super().__init__(f"the API at {url} does not answer: {reason}{tries}")
        self.url = url
        self.reason = reason
        self.attempts = attempts


class UnexpectedResponse(ClientError):
    """A response that this API does not send: another server, or a proxy before it."""


@dataclass(frozen=True, slots=True)
class RefusedField:
    """One field that was refused."""

    field: str
    detail: str


@dataclass(frozen=True, slots=True)
class ProblemFacts:
    """The members of a problem document."""

    status: int
    title: str = ""
    detail: str = ""
    members: Mapping[str, Any] = field(default_factory=dict)
    """Those that RFC 9457 does not name, such as `errors` and `allowed`."""

    @property
    def faults(self) -> tuple[RefusedField, ...]:
        """Return the refused fields."""
        errors = self.members.get("errors")
        return tuple(
            RefusedField(str(each.get("field", "")), str(each.get("detail", "")))
            for each in (errors if isinstance(errors, list) else ())
            if isinstance(each, dict)
        )


class ApiProblem(ClientError):
    """An error that the API described."""

    def __init__(self, facts: ProblemFacts) -> None:
        super().__init__(facts.detail or facts.title or f"status {facts.status}")
        self.facts = facts

    @property
    def status(self) -> int:
        """Status of the response."""
        return self.facts.status

    @property
    def faults(self) -> tuple[RefusedField, ...]:
        """Fields of the request that were refused."""
        return self.facts.faults


class AuthenticationProblem(ApiProblem):
    """No token, or one that is not valid any more."""


class PermissionProblem(ApiProblem):
    """The role of the token does not permit it."""


class NotFoundProblem(ApiProblem):
    """There is no object with this name or id."""


class ConflictProblem(ApiProblem):
    """It conflicts with what exists, such as a name that is taken."""


class TransitionProblem(ConflictProblem):
    """The state of a job does not permit it."""

    @property
    def state(self) -> str:
        """State of the job."""
        return str(self.facts.members.get("state", ""))

    @property
    def allowed(self) -> tuple[str, ...]:
        """Actions that its state permits."""
        allowed = self.facts.members.get("allowed")
        return tuple(map(str, allowed)) if isinstance(allowed, list) else ()


class VersionProblem(ApiProblem):
    """It was changed by another client since it was read: read it again."""


class RequestProblem(ApiProblem):
    """A request with fields that cannot be; `faults` names them."""


class ServerProblem(ApiProblem):
    """A fault of the API itself."""


_BY_STATUS: Final[Mapping[int, type[ApiProblem]]] = {
    401: AuthenticationProblem,
    403: PermissionProblem,
    404: NotFoundProblem,
    409: ConflictProblem,
    412: VersionProblem,
}
_SERVER_ERRORS: Final = 500


def problem_of(facts: ProblemFacts) -> ApiProblem:
    """Return the exception for a problem document."""
    default = ServerProblem if facts.status >= _SERVER_ERRORS else RequestProblem
    kind = _BY_STATUS.get(facts.status, default)
    is_transition = kind is ConflictProblem and "state" in facts.members
    return (TransitionProblem if is_transition else kind)(facts)
