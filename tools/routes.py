"""The table of the API's routes: method and path, role, and the first sentence of the function."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final, cast

from strider.api.routes import ApiParts, LiveParts, build_app
from strider.api.routes.auth import route_roles

METHODS: Final = ("get", "post", "put", "patch", "delete")


def table() -> str:
    """Render every route that the OpenAPI document describes."""
    # The description of a route needs none of the parts that serve it.
    live = cast("Any", LiveParts)(logs=None, feeds=None)
    parts = cast("Any", ApiParts)(
        **dict.fromkeys(field.name for field in fields(ApiParts)) | {"version": "0", "live": live}
    )
    app = build_app(parts)
    roles = {(method, path): role for method, path, role in route_roles(app)}
    lines = ["| route | role | what it does |", "|---|---|---|"]
    for path, operations in app.openapi()["paths"].items():
        for method in METHODS:
            if method in operations:
                meaning = operations[method]["description"].split("\n")[0]
                role = roles[method.upper(), path] or "anyone"
                lines.append(f"| `{method.upper()} {path}` | {role} | {meaning} |")
    return "\n".join(lines) + "\n"
