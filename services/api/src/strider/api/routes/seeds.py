"""Route of seeds: POST /api/v1/seeds, validate, publish as the owner's, respond 202.

The JSON Schema of a seed is derived from the generated event class.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any, Final, Protocol, get_args, get_type_hints

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from strider.api.core import BAD_SEED, SeedDocument, SeedResult, read_body, refused, validate_seed
from strider.contracts import DecodeError, EncodeError
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.owner_signature import SenderRole
from strider.contracts.specs.fields import FIELD_READERS, PLANNED_FIELDS
from strider.politeness import HeaderRefused, ProtectHeaders, refuse_clear_values
from strider.urls import origin_of

from .auth import USER, require_json
from .idempotency import IdempotentRoute
from .problem_details import ProblemError, read_request_body
from .response_models import SeedsResponse, problems

_KINDS: Final = {str: "string", int: "integer", float: "number", bool: "boolean"}
_PRIORITY: Final = {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}
"""A number, or a name of one: `strider.contracts.seeds` takes both."""
_MAP_VALUES: Final = {"type": ["string", "number", "boolean", "null"]}
"""Values of maps of texts: others become their JSON text, null is left out."""


def seed_schema() -> dict[str, Any]:
    """Return the schema of one seed."""
    hints = get_type_hints(SeedSubmitted)
    required = [
        field.name
        for field in fields(SeedSubmitted)
        if field.default is MISSING and field.default_factory is MISSING
    ]
    return {
        "title": "Seed",
        "description": (SeedSubmitted.__doc__ or "").replace("\n    ", " "),
        "type": "object",
        "required": required,
        "additionalProperties": False,
        "properties": {
            name: _described(hint) if name in required else _or_null(_described(hint))
            for name, hint in ((field.name, hints[field.name]) for field in fields(SeedSubmitted))
        }
        | {"priority": _PRIORITY, "spec": spec_schema()},
    }


def described_field(event: type[Any], name: str, *, is_required: bool) -> dict[str, Any]:
    """Return the schema of one field of an event, as a request has it."""
    found = _described(get_type_hints(event)[name])
    return found if is_required else _or_null(found)


def spec_schema() -> dict[str, Any]:
    """Return the schema of a seed's field `spec`: the fields of a crawl spec that can be set."""
    hints = get_type_hints(CrawlSpecDeclared)
    properties = {
        field.name: _or_null(_described(hints[field.name]))
        for field in fields(CrawlSpecDeclared)
        if field.name in FIELD_READERS or field.name in PLANNED_FIELDS
    }
    whole = {
        "title": "Settings",
        "description": "Further settings of the run; fields of the seed come first.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
    return _or_null(whole)


def _or_null(described: dict[str, Any]) -> dict[str, Any]:
    """Null stands for the default, in every field that has one."""
    return described if "anyOf" in described else {"anyOf": [described, {"type": "null"}]}


def _described(hint: Any) -> dict[str, Any]:
    if (kind := _KINDS.get(hint)) is not None:
        return {"type": kind}
    inner = [part for part in get_args(hint) if part not in {type(None), Ellipsis}]
    if type(None) in get_args(hint):
        return {"anyOf": [_described(inner[0]), {"type": "null"}]}
    if len(inner) > 1:
        return {"type": "object", "additionalProperties": _MAP_VALUES}
    # A text stands for a list with that text alone.
    return {
        "anyOf": [{"type": "array", "items": _described(inner[0])}, _described(inner[0]), {"type": "null"}]
    }


SENDER: Final = "api"

CLOSE_ELSEWHERE: Final = (
    "close: this route submits URLs only; once all of its seeds are accepted, close a run with "
    "POST /api/v1/runs/{id}/close"
)

SEEDS_PER_YIELD: Final = 16
"""Seeds after which other requests are served: the patterns of each need up to a millisecond to compile."""

ReadSeed = Callable[[bytes], SeedSubmitted]
"""The parser of JSON seeds; raises DecodeError."""


class SeedPublisher(Protocol):
    """Publishes seeds."""

    async def publish(self, seeds: Sequence[SeedSubmitted]) -> None:
        """Return when all are acknowledged; may raise Unavailable, or EncodeError for too large seeds."""


@dataclass(frozen=True, slots=True)
class SeedLimits:
    """Limits of a request, and which addresses may be crawled."""

    max_seeds: int
    max_body_bytes: int
    allow_private: bool
    sender: SenderRole = SenderRole.OWNER
    """Role in which the API publishes seeds: an owner, where it has the key to sign them."""


@dataclass(frozen=True, slots=True)
class SeedSubmission:
    """Validates and publishes seeds."""

    publisher: SeedPublisher
    read: ReadSeed
    now_ms: Callable[[], int]
    rules: SeedLimits
    protect_headers: ProtectHeaders = refuse_clear_values
    """Encrypts personal headers before they are published."""

    async def submit(self, body: bytes, *, sender: str = "") -> list[SeedResult]:
        """Validate every seed, publish those that can be crawled, and return a result for each.

        `sender` is named as the one who submits seeds that name none.
        """
        checked = []
        for number, document in enumerate(read_body(body, max_seeds=self.rules.max_seeds), 1):
            if number % SEEDS_PER_YIELD == 0:
                await asyncio.sleep(0)
            checked.append(self._check(document, sender or SENDER))
        seeds = [seed for _, seed in checked if seed is not None]
        if seeds:
            await self.publisher.publish(seeds)
        return [result for result, _ in checked]

    def _check(self, sent: SeedDocument, sender: str) -> tuple[SeedResult, SeedSubmitted | None]:
        try:
            seed = self.read(sent.document)
        except DecodeError as failure:
            return refused(sent.url, failure.reason, failure.detail), None
        if seed.close:
            return refused(sent.url, BAD_SEED, CLOSE_ELSEWHERE), None
        result = validate_seed(seed, sender=self.rules.sender, allow_private=self.rules.allow_private)
        if not result.accepted:
            return result, None
        try:
            headers = self.protect_headers(seed.headers, (origin_of(result.url),)) if seed.headers else {}
        except HeaderRefused as failure:
            return refused(result.url, BAD_SEED, str(failure)), None
        stamped = replace(
            seed,
            headers=headers,
            submitted_by=seed.submitted_by or sender,
            submitted_at_ms=seed.submitted_at_ms or self.now_ms(),
        )
        return result, stamped


def seed_routes(submission: SeedSubmission, schema: dict[str, Any]) -> APIRouter:
    """Build the routes; `schema` describes one seed."""
    router = APIRouter(tags=["seeds"], dependencies=[USER], route_class=IdempotentRoute)

    @router.post(
        "/api/v1/seeds",
        status_code=202,
        response_model=SeedsResponse,
        responses=problems(401, 413, 415, 422, 503),
        openapi_extra={"requestBody": _request_body_schema(schema)},
    )
    async def submit(request: Request) -> Response:
        """Submit URLs to crawl: one seed, or a list of seeds or URLs. 202: the broker acknowledged them."""
        require_json(request)
        body = await read_request_body(request, limit=submission.rules.max_body_bytes)
        try:
            results = await submission.submit(body)
        except EncodeError as failure:
            raise ProblemError(422, f"a seed is larger than a message may be: {failure}") from failure
        return _response_of(results)

    return router


def _response_of(results: Sequence[SeedResult]) -> Response:
    accepted = sum(result.accepted for result in results)
    summary: dict[str, Any] = {
        "accepted": accepted,
        "refused": len(results) - accepted,
        "seeds": [asdict(one) for one in results],
    }
    if accepted:
        return JSONResponse(summary, 202)
    raise ProblemError(
        422, f"no seed can be crawled: {results[0].reason} {results[0].detail}".strip(), **summary
    )


def _request_body_schema(seed: dict[str, Any]) -> dict[str, Any]:
    many = {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "string"}, seed]}}
    whole = {"type": "object", "required": ["seeds"], "properties": {"seeds": many}}
    examples = {
        "one": {"value": {"url": "https://example.org/", "max_depth": 2}},
        "settings": {"value": {"url": "https://example.org/", "spec": {"use_cookies": True}}},
        "many": {"value": ["https://example.org/", "https://example.net/"]},
    }
    schema = {"anyOf": [seed, many, whole]}
    return {"required": True, "content": {"application/json": {"schema": schema, "examples": examples}}}
