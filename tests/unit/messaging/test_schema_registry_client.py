"""The registry's client, against a registry of a dozen lines behind httpx's own test transport."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import pytest

from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.schema_registry_client import MAX_RESPONSE_BYTES, SchemaRegistryClient

SCHEMA = '{"type": "string"}'


class SmallRegistry:
    """Knows subjects and ids as the Confluent interface has them."""

    def __init__(self) -> None:
        self.schemas: list[str] = []
        self.requests: list[tuple[str, str]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        self.requests.append((request.method, path))
        if request.headers.get("authorization") != "Basic dTpw":
            return httpx.Response(401, json={"error_code": 401})
        if request.method == "GET":
            number = int(path.rsplit("/", 1)[1])
            known = 0 < number <= len(self.schemas)
            return httpx.Response(200, json={"schema": self.schemas[number - 1]}) if known else absent()
        definition = json.loads(request.content)["schema"]
        if path.endswith("/versions"):
            self.schemas.append(definition)
        if definition not in self.schemas:
            return absent()
        return httpx.Response(200, json={"id": self.schemas.index(definition) + 1})


def absent() -> httpx.Response:
    return httpx.Response(404, json={"error_code": 40403, "message": "Schema not found"})


def client(
    answer: Callable[[httpx.Request], httpx.Response], *, username: str = "u", url: str = "http://registry"
) -> SchemaRegistryClient:
    return SchemaRegistryClient(url, username=username, password="p", transport=httpx.MockTransport(answer))


async def test_a_new_schema_is_registered_under_its_topic() -> None:
    registry = SmallRegistry()

    number = await client(registry).id_of("echoes", SCHEMA)

    assert number == 1
    assert registry.schemas == [SCHEMA]
    assert registry.requests == [
        ("POST", "/subjects/echoes-value"),
        ("POST", "/subjects/echoes-value/versions"),
    ]


async def test_a_known_schema_is_only_looked_up() -> None:
    """Registering again would need rights that a service need not have."""
    registry = SmallRegistry()
    registry.schemas.append(SCHEMA)

    assert await client(registry).id_of("echoes", SCHEMA) == 1
    assert registry.requests == [("POST", "/subjects/echoes-value")]


async def test_a_registry_below_a_path_is_found_there() -> None:
    """Apicurio serves the interface below /apis/ccompat/v7."""
    registry = SmallRegistry()

    await client(registry, url="http://registry/apis/ccompat/v7").id_of("echoes", SCHEMA)

    assert registry.requests[0] == ("POST", "/apis/ccompat/v7/subjects/echoes-value")


async def test_an_id_is_resolved_or_absent() -> None:
    registry = SmallRegistry()
    registry.schemas.append(SCHEMA)

    assert await client(registry).definition_of(1) == SCHEMA
    assert await client(registry).definition_of(2) is None


@pytest.mark.fault("F19", part="answers of a registry")
@pytest.mark.parametrize("status", [500, 502, 503, 408, 429])
async def test_a_registry_that_is_down_is_unavailable(status: int) -> None:
    with pytest.raises(Unavailable, match=f"registry is unavailable: it responds with status {status}"):
        await client(lambda _request: httpx.Response(status)).definition_of(1)


async def test_a_registry_that_cannot_be_reached_is_unavailable() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused", request=request)

    with pytest.raises(Unavailable, match="connection refused"):
        await client(refuse).ping()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param(409, '{"message": "incompatible"}', id="incompatible"),
        pytest.param(422, '{"message": "invalid"}', id="invalid"),
        pytest.param(403, "forbidden", id="forbidden"),
    ],
)
async def test_a_refusal_is_for_a_person(status: int, body: str) -> None:
    """A retry would change nothing; the message has the registry's reason."""
    with pytest.raises(StartRefused, match=f"{status} .*{body[:9]}"):
        await client(lambda _request: httpx.Response(status, text=body)).id_of("echoes", SCHEMA)


async def test_a_wrong_password_is_for_a_person() -> None:
    with pytest.raises(StartRefused, match="401"):
        await client(SmallRegistry(), username="somebody-else").id_of("echoes", SCHEMA)


@pytest.mark.parametrize(
    "body",
    [pytest.param("<html>", id="no-json"), pytest.param("[1]", id="no-object"), pytest.param("", id="empty")],
)
async def test_a_malformed_response_is_unavailable(body: str) -> None:
    with pytest.raises(Unavailable, match="check SCHEMA_REGISTRY_URL"):
        await client(lambda _request: httpx.Response(200, text=body)).definition_of(1)


async def test_an_endless_response_is_cut_off() -> None:
    with pytest.raises(Unavailable, match="more than"):
        await client(lambda _request: httpx.Response(200, content=b"x" * (MAX_RESPONSE_BYTES + 1))).ping()


def test_a_missing_certificate_file_refuses_the_start() -> None:
    with pytest.raises(StartRefused, match="SCHEMA_REGISTRY_CA_FILE /nowhere"):
        SchemaRegistryClient("https://registry", ca_file="/nowhere")
