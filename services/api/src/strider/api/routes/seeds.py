"""POST /api/v1/seeds -> judge -> seeds-submitted, acknowledged -> 202."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Protocol

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from strider.api.core import SeedDocument, SeedResult, read_body, refused, validate_seed
from strider.contracts import DecodeError, EncodeError
from strider.contracts.generated.events import SeedSubmitted

from .auth import require_json
from .problem_details import ProblemError
from .response_models import SeedsResponse, problems

SENDER: Final = "api"

ReadSeed = Callable[[bytes], SeedSubmitted]
"""The door that every JSON seed goes through; raises DecodeError."""


class SeedPublisher(Protocol):
    """Where seeds go."""

    async def publish(self, seeds: Sequence[SeedSubmitted]) -> None:
        """Have them acknowledged; may raise Unavailable, and EncodeError for one that is too large."""


@dataclass(frozen=True, slots=True)
class SeedLimits:
    """How much is taken, and what may be crawled."""

    max_seeds: int
    max_body_bytes: int
    allow_private: bool


@dataclass(frozen=True, slots=True)
class SeedSubmission:
    """Takes seeds."""

    publisher: SeedPublisher
    read: ReadSeed
    now_ms: Callable[[], int]
    rules: SeedLimits

    async def submit(self, body: bytes) -> list[SeedResult]:
        """Judge every seed, submit those that can be crawled, and say what became of each."""
        judged = [self._judge(sent) for sent in read_body(body, max_seeds=self.rules.max_seeds)]
        seeds = [seed for _, seed in judged if seed is not None]
        if seeds:
            await self.publisher.publish(seeds)
        return [answer for answer, _ in judged]

    def _judge(self, sent: SeedDocument) -> tuple[SeedResult, SeedSubmitted | None]:
        try:
            seed = self.read(sent.document)
        except DecodeError as failure:
            return refused(sent.url, failure.reason, failure.detail), None
        answer = validate_seed(seed, allow_private=self.rules.allow_private)
        if not answer.accepted:
            return answer, None
        stamped = replace(
            seed,
            submitted_by=seed.submitted_by or SENDER,
            submitted_at_ms=seed.submitted_at_ms or self.now_ms(),
        )
        return answer, stamped


def seed_routes(submission: SeedSubmission, schema: dict[str, Any]) -> APIRouter:
    """Make the routes; `schema` describes one seed."""
    router = APIRouter(tags=["seeds"])

    @router.post(
        "/api/v1/seeds",
        status_code=202,
        response_model=SeedsResponse,
        responses=problems(401, 413, 415, 422, 503),
        openapi_extra={"requestBody": _request_body_schema(schema)},
    )
    async def submit(request: Request) -> Response:
        """Ask for URLs to be crawled: one seed, or a list of seeds or URLs. 202: the broker has them."""
        require_json(request)
        body = await _body_of(request, limit=submission.rules.max_body_bytes)
        try:
            answers = await submission.submit(body)
        except EncodeError as failure:
            raise ProblemError(422, f"a seed is too large to travel: {failure}") from failure
        return _response_of(answers)

    return router


def _response_of(answers: Sequence[SeedResult]) -> Response:
    taken = sum(answer.accepted for answer in answers)
    told: dict[str, Any] = {
        "accepted": taken,
        "refused": len(answers) - taken,
        "seeds": [asdict(one) for one in answers],
    }
    if taken:
        return JSONResponse(told, 202)
    raise ProblemError(
        422, f"no seed can be crawled: {answers[0].reason} {answers[0].detail}".strip(), **told
    )


async def _body_of(request: Request, *, limit: int) -> bytes:
    """Read the body, and not a byte more than the limit allows."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise ProblemError(413, f"the body is larger than {limit} bytes; send it in parts")
    return bytes(body)


def _request_body_schema(seed: dict[str, Any]) -> dict[str, Any]:
    many = {"type": "array", "items": {"anyOf": [{"type": "string"}, seed]}}
    whole = {"type": "object", "required": ["seeds"], "properties": {"seeds": many}}
    examples = {
        "one": {"value": {"url": "https://example.org/", "max_depth": 2}},
        "many": {"value": ["https://example.org/", "https://example.net/"]},
    }
    schema = {"anyOf": [seed, many, whole]}
    return {"required": True, "content": {"application/json": {"schema": schema, "examples": examples}}}
