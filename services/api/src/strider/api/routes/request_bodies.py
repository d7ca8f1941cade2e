"""Bodies of requests as models: one JSON object, each wrong field named with its fault."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, ValidationError

from strider.api.core import text_fault
from strider.runtime.settings.loader import validation_message

from .auth import require_json
from .problem_details import ProblemError, read_request_body

T = TypeVar("T", bound="RequestDocument")

MAX_FAULTS: Final = 20
"""Faults that a response names."""
SHOWN_CHARACTERS: Final = 60
"""Of the name of a field, in a response."""


NO_FIELDS: Final[dict[str, Any]] = {
    "requestBody": {
        "required": False,
        "content": {"application/json": {"schema": {"type": "object", "maxProperties": 0}}},
    }
}
"""Description of a request without a body, or with an empty object."""


class RequestDocument(BaseModel):
    """A body of a request: no other fields, and no text in the place of a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


def refuse(*faults: tuple[str, str]) -> ProblemError:
    """Return the error of fields that cannot be; each with its fault."""
    named = [{"field": field, "detail": detail} for field, detail in faults[:MAX_FAULTS]]
    return ProblemError(422, "; ".join(f"{each['field']}: {each['detail']}" for each in named), errors=named)


async def read_document(request: Request, model: type[T], *, limit: int) -> T:
    """Read the body of a request; raises ProblemError, which names every wrong field."""
    require_json(request)
    document = _object_of(await read_request_body(request, limit=limit))
    if faults := list(_text_faults(document)):
        raise refuse(*faults)
    try:
        return model.model_validate(document)
    except ValidationError as failure:
        known = [field.alias or name for name, field in model.model_fields.items()]
        raise refuse(*(_fault(error, known) for error in failure.errors(include_url=False))) from None


async def refuse_fields(request: Request, *, limit: int = 64 * 1024) -> None:
    """Accept no body, or an empty object; as JSON where it is one."""
    body = (await read_request_body(request, limit=limit)).strip()
    if body:
        require_json(request)
    if body not in {b"", b"{}"}:
        raise ProblemError(422, "the body has no fields here; send {} or nothing")


def body_schema(
    model: type[RequestDocument], examples: Mapping[str, Any], *, kinds: Sequence[str] = ("application/json",)
) -> dict[str, Any]:
    """Return the description of a body, for the OpenAPI document."""
    schema = model.model_json_schema(by_alias=True)
    shown = {name: {"value": value} for name, value in examples.items()}
    return {
        "requestBody": {
            "required": True,
            "content": {kind: {"schema": schema, "examples": shown} for kind in kinds},
        }
    }


def _object_of(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as failure:
        raise ProblemError(422, f"the body is not JSON: {failure}") from failure
    if not isinstance(value, dict):
        raise ProblemError(422, "the body must be one JSON object")
    return value


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{_shown(repeated)} is given more than once")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def _text_faults(document: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields with texts that the database cannot keep; without recursion, however deep they are."""
    waiting: list[tuple[Any, str]] = [(document, "")]
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, str) and (fault := text_fault(value)):
            yield path, fault
        elif isinstance(value, dict):
            for name, inner in value.items():
                if fault := text_fault(name):
                    yield path or "the name of a field", fault
                waiting.append((inner, path or _shown(name)))
        elif isinstance(value, list):
            waiting.extend((inner, path) for inner in value)


def _fault(error: Mapping[str, Any], known: Sequence[str]) -> tuple[str, str]:
    path = [str(part) for part in error["loc"]]
    name = ".".join(_shown(part) for part in path) or "body"
    if error["type"] == "extra_forbidden":
        near = get_close_matches(path[-1][:SHOWN_CHARACTERS], known, n=1)
        return name, f"no such field; did you mean {near[0]}?" if near else (
            f"no such field; known are {', '.join(known)}"
        )
    if error["type"] == "missing":
        return name, "it is missing"
    return name, validation_message(error)


def _shown(name: str) -> str:
    return name if len(name) <= SHOWN_CHARACTERS else f"{name[:SHOWN_CHARACTERS]}…"
