"""Client of a schema registry with the Confluent interface: Confluent's, Apicurio, Karapace.

Finds or registers the schema that a topic is written with, and finds the schema of an id. A registry that
does not respond is Unavailable and is tried again; one that refuses a schema or our credentials needs a
person, so the start is refused.
"""

from __future__ import annotations

import ssl
from typing import Any, Final
from urllib.parse import quote

import httpx

from .errors import StartRefused, Unavailable

TIMEOUT_SECONDS: Final = 5.0
MAX_RESPONSE_BYTES: Final = 512 * 1024
"""A schema is some kilobytes; a longer response is not from a registry."""

_MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND: Final = frozenset({404})
_RETRYABLE: Final = frozenset({408, 425, 429})


class SchemaRegistryClient:
    """The three requests that Strider sends to a registry."""

    def __init__(
        self,
        url: str,
        *,
        username: str = "",
        password: str = "",
        ca_file: str = "",
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        try:
            verify: ssl.SSLContext | bool = ssl.create_default_context(cafile=ca_file) if ca_file else True
        except (OSError, ssl.SSLError) as error:
            raise StartRefused(f"SCHEMA_REGISTRY_CA_FILE {ca_file} cannot be used: {error}") from error
        self._client = httpx.AsyncClient(
            base_url=url,
            auth=httpx.BasicAuth(username, password) if username else None,
            headers={"Accept": f"{_MEDIA_TYPE}, application/json", "Content-Type": _MEDIA_TYPE},
            timeout=TIMEOUT_SECONDS,
            transport=transport,
            trust_env=False,  # a proxy for pages is none for the registry
            verify=verify,
        )

    async def id_of(self, topic: str, definition: str) -> int:
        """Return the id of the schema that a topic is written with; register it where it is new."""
        subject = f"/subjects/{quote(f'{topic}-value', safe='')}"
        found = await self._request("POST", subject, {"schema": definition})
        if found is None:
            found = await self._request("POST", f"{subject}/versions", {"schema": definition})
        if found is None or not isinstance(found.get("id"), int):
            raise Unavailable("registry", f"no id for {topic}-value")
        return int(found["id"])

    async def definition_of(self, registry_id: int) -> str | None:
        """Return the schema of an id; None where the registry does not know it."""
        found = await self._request("GET", f"/schemas/ids/{registry_id}")
        definition = None if found is None else found.get("schema")
        return definition if isinstance(definition, str) else None

    async def ping(self) -> None:
        """Raise Unavailable where the registry does not respond."""
        await self._request("GET", "/config")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _request(
        self, method: str, path: str, body: dict[str, str] | None = None
    ) -> dict[str, Any] | None:
        """Send a request and return the JSON object of the response; None where it is 404."""
        try:
            async with self._client.stream(method, path, json=body) as response:
                content = await _read_body(response)
        except httpx.HTTPError as error:
            raise Unavailable("registry", str(error) or type(error).__name__) from error
        if response.status_code in _NOT_FOUND:
            return None
        if response.status_code in _RETRYABLE or response.status_code >= 500:  # noqa: PLR2004  # server errors
            raise Unavailable("registry", f"it responds with status {response.status_code}")
        if response.is_error:
            detail = content.decode("utf-8", "replace")[:300]
            raise StartRefused(f"the schema registry refuses {path}: {response.status_code} {detail}")
        return _json_object(response, content)


async def _read_body(response: httpx.Response) -> bytes:
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > MAX_RESPONSE_BYTES:
            raise Unavailable("registry", f"a response of more than {MAX_RESPONSE_BYTES} bytes")
    return bytes(content)


def _json_object(response: httpx.Response, content: bytes) -> dict[str, Any]:
    try:
        answer = httpx.Response(response.status_code, content=content).json()
    except ValueError as error:
        raise Unavailable("registry", "it returned invalid JSON; check SCHEMA_REGISTRY_URL") from error
    if not isinstance(answer, dict):
        raise Unavailable("registry", "it returned no JSON object; check SCHEMA_REGISTRY_URL")
    return answer
