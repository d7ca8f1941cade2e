"""The OpenAPI document: every route has examples that fit its schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema

SUCCESSES = {"200", "201", "202"}


def responses_of(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, response in operation["responses"].items():
                yield f"{method} {path}", status, response


async def test_every_response_has_an_example_that_fits_its_schema(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    found = list(responses_of(document))

    for route, status, response in found:
        if status == "204":
            continue
        ((kind, content),) = response["content"].items()
        schema = content["schema"]
        if status in SUCCESSES:
            named = schema["$ref"].rpartition("/")[2]
            (example,) = document["components"]["schemas"][named]["examples"]
        elif kind == "application/json":  # health, which is degraded
            continue
        else:
            example = content["example"]
            assert (kind, example["status"]) == ("application/problem+json", int(status)), route
        jsonschema.validate(example, {**schema, "components": document["components"]})
    assert {status for _, status, _ in found} == {
        *("200", "201", "202", "204"),
        *("401", "403", "404", "409", "412", "413", "415", "422", "503"),
    }
