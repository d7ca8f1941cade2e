"""httpx's transport over the engine: what is asked and answered are httpx's requests and responses.

The fetcher asks it directly, because a client on top costs more than the request itself; anybody
else may put a client there. Bodies come as they were sent, encodings and all. What is raised is a
Failure, which is one of httpx's transport errors.

Extensions of a request, besides httpx's `timeout`: `target` is what is put on the wire for the path
(httpx would escape what it thinks odd), `exchange` the notes of this request, `insecure` whether any
certificate will do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple, Self

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from .connector import HttpConnector
from .error_mapping import FetchFailure, Phase, failure_of
from .exchange import IncomingReply
from .httpx_types import AsyncBaseTransport, AsyncByteStream, Request, Response
from .timeline import CURRENT, RequestTimeline


class EngineTransport(AsyncBaseTransport):
    """The engine, as httpx wants it."""

    def __init__(self, engine: HttpConnector) -> None:
        self._engine = engine

    async def ask(
        self,
        url: str,
        headers: list[tuple[str, str]],
        *,
        exchange: RequestTimeline,
        is_insecure: bool = False,
        method: str = "GET",
        timeout: aiohttp.ClientTimeout | None = None,  # noqa: ASYNC109  # the library's, for parts of a request
    ) -> HttpResponse:
        """Make a request with what there is anyway: httpx's objects around it cost a fifth of it."""
        token = CURRENT.set(exchange)
        try:
            answer = await self._engine.send(
                url, headers, is_insecure=is_insecure, method=method, timeout=timeout
            )
        finally:
            CURRENT.reset(token)
        exchange.has_response_head = True
        major, minor = answer.version
        return HttpResponse(
            answer.status, answer.raw_headers, f"{major}.{minor}", ResponseBody(answer, exchange)
        )

    async def handle_async_request(self, request: Request) -> Response:
        """Make the request; the response's stream is its body, raw."""
        more = request.extensions
        answered = await self.ask(
            _url_of(request),
            [(name.decode("latin-1"), value.decode("utf-8")) for name, value in request.headers.raw],
            exchange=more.get("exchange") or RequestTimeline(asyncio.get_running_loop().time),
            is_insecure=bool(more.get("insecure")),
            method=request.method,
            timeout=_timeout_of(more.get("timeout")),
        )
        return Response(
            answered.status,
            headers=answered.raw_headers,
            stream=answered.body,
            extensions={"http_version": f"HTTP/{answered.http_version}".encode()},
            request=request,
        )

    async def aclose(self) -> None:
        """Close the engine's connections."""
        await self._engine.close()


class HttpResponse(NamedTuple):
    """The head of an answer, and its body on its way."""

    status: int
    raw_headers: Sequence[tuple[bytes, bytes]]
    http_version: str
    body: ResponseBody


class ResponseBody(AsyncByteStream, AsyncIterator[bytes]):
    """A body on its way."""

    def __init__(self, answer: IncomingReply, exchange: RequestTimeline) -> None:
        self._answer = answer
        self._timeline = exchange
        self._wire = answer.protocol

    def __aiter__(self) -> Self:
        """Begin; a body can be read once."""
        return self

    async def __anext__(self) -> bytes:
        """Give what has come; raises Failure where the body does not come to its end."""
        try:
            chunk = await self._answer.content.readany()
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            raise self._failure(error) from error
        if chunk:
            return chunk
        # A body without a length ends with the connection; whether in order, only the connection knows.
        truncated_by = None if self._wire is None else self._wire.truncated_by
        if truncated_by is not None:
            raise self._failure(truncated_by)
        raise StopAsyncIteration

    @property
    def is_complete(self) -> bool:
        """Whether all of it is here, read or not."""
        return self._answer.content.is_eof()

    def close(self, *, is_whole: bool) -> None:
        """Give the connection back, or close it where something of the body is still to come."""
        if is_whole and self._answer.content.is_eof():
            self._answer.release()
        else:
            self._answer.close()

    async def aclose(self) -> None:
        """End: as httpx's clients do it."""
        self.close(is_whole=True)

    def _failure(self, error: BaseException) -> FetchFailure:
        return self._timeline.failure or failure_of(error, Phase.RESPONSE_STARTED)


def _timeout_of(limits: Mapping[str, float | None] | None) -> aiohttp.ClientTimeout | None:
    """Take over the limits of a client on top; the fetcher has its own around the whole."""
    if limits is None:
        return None
    return aiohttp.ClientTimeout(total=None, sock_connect=limits.get("connect"), sock_read=limits.get("read"))


def _url_of(request: Request) -> str:
    """Write the URL with the target that was asked for, untouched."""
    url = request.url
    target: bytes = request.extensions.get("target") or url.raw_path
    return f"{url.scheme}://{url.netloc.decode('ascii')}{target.decode('latin-1')}"
