"""Client of an HTTP source-manager: the list of its sources, and one source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import httpx

from strider.api.core import ImportedSource, InvalidListingError, read_list, read_source, remote_source
from strider.messaging.errors import Unavailable

DEPENDENCY: Final = "source-manager"
TIMEOUT_SECONDS: Final = 10.0
MAX_ANSWER_BYTES: Final = 32 * 1024 * 1024
MAX_PAGES: Final = 1_000

_NOT_THERE: Final = frozenset({404, 410})
_REFUSALS: Final = frozenset(range(400, 500)) - {401, 403, 407, 408, 425, 429}
"""Statuses of a request that will never succeed."""
_SUCCESS: Final = range(200, 300)


class SourceManagerClient:
    """Reads sources; a failure is Unavailable, and names what answered how."""

    def __init__(self, url: str, *, token: str = "", timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._url = url.rstrip("/")
        self._shown = str(httpx.URL(self._url).copy_with(userinfo=b""))
        """Without user and password."""
        self._client = httpx.AsyncClient(headers=headers, timeout=timeout_seconds, trust_env=False)

    async def sources(self) -> tuple[list[ImportedSource], list[str]]:
        """Return all sources, and the faults of items that are none. Raises Unavailable."""
        found: list[ImportedSource] = []
        faults: list[str] = []
        cursor = ""
        for _ in range(MAX_PAGES):
            status, body = await self._get(self._url, {"cursor": cursor} if cursor else {})
            if status not in _SUCCESS:
                raise Unavailable(DEPENDENCY, f"{self._shown} answers {status}")
            try:
                items, cursor = read_list(body)
            except InvalidListingError as failure:
                raise Unavailable(DEPENDENCY, f"{self._shown}: {failure}") from failure
            for item in items:
                try:
                    found.append(remote_source(item))
                except InvalidListingError as failure:
                    faults.append(str(failure))
            if not cursor:
                return found, faults
        raise Unavailable(DEPENDENCY, f"{self._shown} has more than {MAX_PAGES} pages")

    async def source(self, source_id: str) -> ImportedSource | None:
        """Return one source; None where there is none.

        Raises Unavailable, and InvalidListingError where what is there, or the response, is no source: a
        repeat gets the same.
        """
        path = f"/{quote(source_id, safe='')}"
        status, body = await self._get(f"{self._url}{path}", {})
        if status in _NOT_THERE:
            return None
        if status not in _SUCCESS:
            if status in _REFUSALS:
                raise InvalidListingError(f"{self._shown}{path} answers {status}")
            raise Unavailable(DEPENDENCY, f"{self._shown}{path} answers {status}")
        try:
            return read_source(body)
        except InvalidListingError as failure:
            raise InvalidListingError(f"{self._shown}{path}: {failure}") from failure

    async def close(self) -> None:
        """Close its connections."""
        await self._client.aclose()

    async def _get(self, url: str, params: Mapping[str, str]) -> tuple[int, bytes]:
        body = bytearray()
        try:
            async with self._client.stream("GET", url, params=params) as response:
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > MAX_ANSWER_BYTES:
                        raise Unavailable(
                            DEPENDENCY, f"{self._shown} sends more than {MAX_ANSWER_BYTES} bytes"
                        )
                return response.status_code, bytes(body)
        except (httpx.HTTPError, httpx.InvalidURL) as failure:
            detail = str(failure) or type(failure).__name__
            raise Unavailable(DEPENDENCY, f"{self._shown}: {detail}") from failure
