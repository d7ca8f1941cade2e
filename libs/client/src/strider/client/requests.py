"""Requests to the API: the token, retries, and problem documents as exceptions."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import httpx

from strider.politeness.retry_policy import RandomSource, RetryPolicy

from .errors import ApiUnreachable, ClientError, ProblemFacts, UnexpectedResponse, problem_of
from .retries import (
    CLIENT_RETRY,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    MAX_RETRY_AFTER_SECONDS,
    RETRY_AFTER,
    STREAM_RETRY,
    is_repeatable,
    is_temporary,
    retry_after_seconds,
)

TIMEOUT_SECONDS: Final = 30.0
"""For the whole of one attempt to connect, and for each part of a response."""
MERGE_PATCH_TYPE: Final = "application/merge-patch+json"
PROBLEM_TYPE: Final = "application/problem+json"
_SHOWN_CHARACTERS: Final = 200
_STANDARD_MEMBERS: Final = frozenset({"type", "title", "status", "detail"})
_NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Failures before any byte of the request was sent."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """The address of an API, and how requests to it are sent."""

    url: str
    token: str = field(default="", repr=False)
    renew: Callable[[], str] | None = None
    """Returns a new token; called where the API refuses the one in use. None: the token stays."""
    timeout_seconds: float = TIMEOUT_SECONDS
    retry: RetryPolicy = CLIENT_RETRY
    transport: httpx.BaseTransport | None = None
    """Another way to send requests than over the network."""
    sleep: Callable[[float], None] = time.sleep
    chance: RandomSource = field(default_factory=random.Random)


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A response with the object that it carries."""

    document: dict[str, Any]
    etag: str = ""


class StreamInterrupted(Exception):
    """A stream that was lost, or did not begin; it may be opened again."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"the stream of {url} was interrupted: {reason}")
        self.url = url
        self.reason = reason


class ApiRequests:
    """Sends requests to one API."""

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self._token = options.token
        self._http = httpx.Client(
            base_url=_base_url(options.url),
            timeout=options.timeout_seconds,
            transport=options.transport,
            trust_env=False,  # a proxy for pages, or a password in .netrc, is not meant for the API
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> ApiResponse:
        """Read something; parameters that are None are left out."""
        return self._send("GET", path, params=params)

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> ApiResponse:
        """Create something or act on it, under an idempotency key: sent again, it is not done again."""
        return self._send("POST", path, body=body or {}, headers={IDEMPOTENCY_KEY: uuid4().hex})

    def put(self, path: str, body: Mapping[str, Any], *, etag: str = "") -> ApiResponse:
        """Change something; only the version of the ETag, where one is given."""
        return self._send("PUT", path, body=body, headers={IF_MATCH: etag} if etag else {})

    def patch(self, path: str, body: Mapping[str, Any], *, etag: str = "") -> ApiResponse:
        """Change members by a JSON Merge Patch; only the version of the ETag, where one is given."""
        headers = {"Content-Type": MERGE_PATCH_TYPE} | ({IF_MATCH: etag} if etag else {})
        return self._send("PATCH", path, body=body, headers=headers)

    def delete(self, path: str, *, params: Mapping[str, Any] | None = None, etag: str = "") -> ApiResponse:
        """Delete something."""
        return self._send("DELETE", path, params=params, headers={IF_MATCH: etag} if etag else {})

    @contextmanager
    def stream(
        self, path: str, params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[Iterator[str]]:
        """Open a stream; gives its lines. Raises StreamInterrupted where it is lost or does not begin."""
        given = {name: value for name, value in (params or {}).items() if value is not None}
        request = self._http.build_request("GET", path, params=given, headers=dict(headers or {}))
        try:
            response = self._send_authorized(request, is_stream=True)
            try:
                if is_temporary(response.status_code, response.headers, has_key=False):
                    response.read()
                    raise StreamInterrupted(_origin(request.url), _detail_of(response))
                if response.is_error:
                    response.read()
                    _read(response)
                yield response.iter_lines()
            finally:
                response.close()
        except httpx.TransportError as failure:
            reason = _reason(failure, self._options.timeout_seconds)
            raise StreamInterrupted(_origin(request.url), reason) from failure

    def wait_for_retry(self, failure: StreamInterrupted, failures: int) -> None:
        """Wait before a stream is opened again; raises ApiUnreachable after too many failures in a row."""
        wait = STREAM_RETRY.wait_seconds(failures, self._options.chance)
        if wait is None:
            raise ApiUnreachable(failure.url, failure.reason, attempts=failures) from failure
        self._options.sleep(wait)

    def wait_to_continue(self, times: int) -> None:
        """Wait before a stream is opened again that the server has ended so many times in a row."""
        self._options.sleep(STREAM_RETRY.base_seconds(times))

    def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ApiResponse:
        given = {name: value for name, value in (params or {}).items() if value is not None}
        request = self._http.build_request(method, path, params=given, json=body, headers=dict(headers or {}))
        return _read(self._send_repeatedly(request))

    def _send_authorized(self, request: httpx.Request, *, is_stream: bool = False) -> httpx.Response:
        """Send a request with the token; where that is refused, and another one can be had, once more."""
        self._authorize(request)
        response = self._http.send(request, stream=is_stream)
        if response.status_code != httpx.codes.UNAUTHORIZED or self._options.renew is None:
            return response
        response.close()
        self._token = self._options.renew()
        self._authorize(request)
        return self._http.send(request, stream=is_stream)

    def _authorize(self, request: httpx.Request) -> None:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"

    def _send_repeatedly(self, request: httpx.Request) -> httpx.Response:
        attempt = 0
        while True:
            attempt += 1
            try:
                response = self._send_authorized(request)
            except httpx.TransportError as failure:
                reason = _reason(failure, self._options.timeout_seconds)
                was_sent, least_seconds = not isinstance(failure, _NOT_SENT), 0.0
            except (httpx.HTTPError, httpx.InvalidURL) as failure:
                raise UnexpectedResponse(f"{request.url}: {failure}") from failure
            else:
                has_key = IDEMPOTENCY_KEY in request.headers
                if not is_temporary(response.status_code, response.headers, has_key=has_key):
                    return response
                reason, was_sent = _detail_of(response), True
                least_seconds = retry_after_seconds(response.headers.get(RETRY_AFTER))
            is_repeated = is_repeatable(request.method, request.headers, was_sent=was_sent)
            wait = self._options.retry.wait_seconds(attempt, self._options.chance) if is_repeated else None
            if wait is None or least_seconds > MAX_RETRY_AFTER_SECONDS:
                raise ApiUnreachable(_origin(request.url), reason, attempts=attempt)
            self._options.sleep(max(wait, least_seconds))


def _base_url(url: str) -> httpx.URL:
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as failure:
        raise ClientError(f"{url[:_SHOWN_CHARACTERS]!r} is not a URL: {failure}") from failure
    if address.scheme not in {"http", "https"} or not address.host:
        raise ClientError(
            f"{url[:_SHOWN_CHARACTERS]!r} is not the URL of an API; expected one such as http://localhost:8060"
        )
    return address


def _origin(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def _reason(failure: httpx.TransportError, timeout_seconds: float) -> str:
    if isinstance(failure, httpx.TimeoutException):
        return f"no response within {timeout_seconds:g} s"
    return str(failure) or type(failure).__name__


def _read(response: httpx.Response) -> ApiResponse:
    """Return the object of a response; raises the exception of a problem document."""
    if response.is_error:
        facts = _facts_of(response)
        if facts is None:
            raise UnexpectedResponse(_unexpected(response, "no problem document"))
        raise problem_of(facts)
    if response.status_code == httpx.codes.NO_CONTENT:
        return ApiResponse({})
    document = _object_of(response)
    if not response.is_success or document is None:
        raise UnexpectedResponse(_unexpected(response, "no JSON object"))
    return ApiResponse(document, response.headers.get("ETag", ""))


def _unexpected(response: httpx.Response, fault: str) -> str:
    place = _origin(response.request.url)
    return f"{place} responds with status {response.status_code} and {fault}; is it an API of Strider?"


def _detail_of(response: httpx.Response) -> str:
    facts = _facts_of(response)
    return facts.detail if facts is not None and facts.detail else f"status {response.status_code}"


def _facts_of(response: httpx.Response) -> ProblemFacts | None:
    if response.headers.get("Content-Type", "").partition(";")[0].strip() != PROBLEM_TYPE:
        return None
    document = _object_of(response)
    if document is None:
        return None
    members = {name: value for name, value in document.items() if name not in _STANDARD_MEMBERS}
    return ProblemFacts(
        response.status_code,
        str(document.get("title", "")),
        str(document.get("detail", "")),
        members,
    )


def _object_of(response: httpx.Response) -> dict[str, Any] | None:
    try:
        document = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
