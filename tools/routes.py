"""The table of the API's routes in its README: method, path, and the first sentence of the function."""

from __future__ import annotations

from typing import Any, Final, cast

from strider.api.routes import ApiParts, build_app

METHODS: Final = ("get", "post", "put", "patch", "delete")


def table() -> str:
    """Render every route that the OpenAPI document describes."""
    # The description of a route needs none of the parts that serve it.
    parts = cast("Any", ApiParts)(
        seeds=None, records=None, leases=None, runs=None, condition=None, version="0"
    )
    lines = ["| route | what it does |", "|---|---|"]
    for path, operations in build_app(parts).openapi()["paths"].items():
        for method in METHODS:
            if method in operations:
                meaning = operations[method]["description"].split("\n")[0]
                lines.append(f"| `{method.upper()} {path}` | {meaning} |")
    return "\n".join(lines) + "\n"
