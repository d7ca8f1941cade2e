"""Examples of responses, for the OpenAPI document."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

MOMENT: Final = "2026-11-18T12:00:00.005Z"
URL: Final = "https://example.org/news/1"
CURSOR: Final = "WyIyMDI2LTExLTE4VDEyOjAwOjAwLjAwNVoiXQ"
URL_KEY: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

HEALTH: Final[dict[str, Any]] = {
    "status": "ok",
    "service": "api",
    "version": "1.0.0",
    "dependencies": {"kafka": True, "postgres": True, "redis": True},
}

SESSION: Final[dict[str, Any]] = {
    "subject": "ada",
    "role": "admin",
    "created_at": MOMENT,
    "ends_at": "2026-11-19T12:00:00.005Z",
    "csrf_token": "n2Yc3v0fJrB1pX9qkT5uWz8sLmDhGe4oA7iRbVtQxKc",
}

STATS: Final[dict[str, Any]] = {
    "pages": 1_204,
    "urls": 9_120,
    "hosts": 12,
    "runs": {"running": 1, "ended": 7},
    "fetchers": 2,
    "pages_fetched": 48_112,
    "bytes_fetched": 1_402_118_331,
    "at": MOMENT,
}

SEEDS: Final[dict[str, Any]] = {
    "accepted": 1,
    "refused": 1,
    "seeds": [
        {"url": URL, "accepted": True, "url_key": URL_KEY, "job_id": "adhoc", "reason": "", "detail": ""},
        {
            "url": "example.net",
            "accepted": False,
            "url_key": "",
            "job_id": "",
            "reason": "bad_url",
            "detail": "without a scheme; did you mean https://example.net/?",
        },
    ],
}

PAGE: Final[dict[str, Any]] = {
    "url": URL,
    "url_key": URL_KEY,
    "job_id": "news",
    "host": "example.org",
    "domain": "example.org",
    "title": "A harbour opens",
    "text": "The harbour has opened after two years of work.",
    "status_code": 200,
}
"""Fields that an example shows; the others are empty."""

DECISION: Final[dict[str, Any]] = {
    "id": "5e1f6a1c-0f7e-5b9c-9a53-1c1a2b3c4d5e",
    "url_key": URL_KEY,
    "job_id": "news",
    "url": "https://example.org/private/1",
    "host": "example.org",
    "domain": "example.org",
    "execution_id": "news-2026-11-18",
    "decision": "refused",
    "reason": "robots_denied",
    "detail": "Disallow: /private/",
    "decided_by": "scheduler",
    "status_code": 200,
    "depth": 1,
    "page_url": "https://example.org/",
    "redirect_target": "",
    "decided_at": MOMENT,
}

_DETAILS: Final = {
    401: "the token has expired",
    403: "POST /api/v1/frontier/recover needs the role admin; this token has the role user",
    404: "there is nothing at /api/v2; see /openapi.json",
    409: "Idempotency-Key: the request with this key is in progress; send it again later",
    412: "job 0c8f2d7e was changed meanwhile: version 2 was given, 3 is current; read it again",
    413: "the body is larger than 4194304 bytes; send it in parts",
    415: "send JSON, with `Content-Type: application/json`",
    422: "limit: should be less than or equal to 500",
    503: "kafka does not respond now",
}


def problem(status: int) -> dict[str, Any]:
    """Return an error with a status."""
    title = HTTPStatus(status).phrase
    return {"type": "about:blank", "title": title, "status": status, "detail": _DETAILS.get(status, title)}


RUN: Final[dict[str, Any]] = {
    "execution_id": "spring",
    "job_id": "news",
    "state": "completed",
    "by": "ann",
    "reason": "",
    "open": 0,
    "accepted": 4,
    "crawl_spec_ids": [],
    "ended_at": MOMENT,
    "pages": 3,
    "bytes": 12_288,
    "seconds": 60,
    "outcomes": {"settled": 3, "budget": 1},
}
