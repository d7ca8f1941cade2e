"""A schema registry that speaks the Confluent interface: Confluent's, Apicurio, Karapace.

Finds or registers what a topic is written with, and finds what an id stands for. A registry that
does not answer is Unavailable and will be asked again; one that refuses a schema or our name is for
a person to look at, so the start is refused.
"""

from __future__ import annotations

import ssl
from typing import Any, Final
from urllib.parse import quote

import httpx

from .errors import StartRefused, Unavailable

TIMEOUT_SECONDS: Final = 5.0
MAX_RESPONSE_BYTES: Final = 512 * 1024
"""A schema is some kilobytes; what is longer is no answer to our question."""

_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND: Final = frozenset({404})
_RETRYABLE: Final = frozenset({408, 425, 429})


class SchemaRegistryClient:
    """The three questions that we ask of a registry."""

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
            headers={"Accept": f"{_TYPE}, application/json", "Content-Type": _TYPE},
            timeout=TIMEOUT_SECONDS,
            transport=transport,
            trust_env=False,  # a proxy for pages is none for the registry
            verify=verify,
        )

    async def id_of(self, topic: str, definition: str) -> int:
        """Find the id of what a topic is written with; registers it where it is new."""
        subject = f"/subjects/{quote(f'{topic}-value', safe='')}"
        found = await self._ask("POST", subject, {"schema": definition})
        if found is None:
            found = await self._ask("POST", f"{subject}/versions", {"schema": definition})
        if found is None or not isinstance(found.get("id"), int):
            raise Unavailable("registry", f"no id for {topic}-value")
        return int(found["id"])

    async def definition_of(self, registry_id: int) -> str | None:
        """Find the schema that an id stands for; None where the registry has none of it."""
        found = await self._ask("GET", f"/schemas/ids/{registry_id}")
        definition = None if found is None else found.get("schema")
        return definition if isinstance(definition, str) else None

    async def ping(self) -> None:
        """Raise Unavailable where the registry does not answer."""
        await self._ask("GET", "/config")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _ask(self, method: str, path: str, body: dict[str, str] | None = None) -> dict[str, Any] | None:
        """Ask, and give the answer's object; None for what is not there."""
        try:
            async with self._client.stream(method, path, json=body) as response:
                content = await _read(response)
        except httpx.HTTPError as error:
            raise Unavailable("registry", str(error) or type(error).__name__) from error
        if response.status_code in _NOT_FOUND:
            return None
        if response.status_code in _RETRYABLE or response.status_code >= 500:  # noqa: PLR2004  # server errors
            raise Unavailable("registry", f"it answers {response.status_code}")
        if response.is_error:
            detail = content.decode("utf-8", "replace")[:300]
            raise StartRefused(f"the schema registry refuses {path}: {response.status_code} {detail}")
        return _object(response, content)


async def _read(response: httpx.Response) -> bytes:
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > MAX_RESPONSE_BYTES:
            raise Unavailable("registry", f"an answer of more than {MAX_RESPONSE_BYTES} bytes")
    return bytes(content)


def _object(response: httpx.Response, content: bytes) -> dict[str, Any]:
    try:
        answer = httpx.Response(response.status_code, content=content).json()
    except ValueError as error:
        raise Unavailable("registry", "an answer that is no JSON: is this the registry's address?") from error
    if not isinstance(answer, dict):
        raise Unavailable("registry", "an answer that is no object: is this the registry's address?")
    return answer
