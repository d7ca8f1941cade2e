"""How much of a body is read."""

from __future__ import annotations

from typing import Any

import pytest

from strider.fetcher.core import BodyPolicy, FailedFetch, decide_body_policy, looks_like_markup
from tests.unit.fetcher.builders import a_head, a_request


@pytest.mark.req("S3.7.7", "S3.17.5")
@pytest.mark.parametrize(
    ("status", "headers", "more", "wanted"),
    [
        pytest.param(200, {}, {}, BodyPolicy(10_485_760), id="page"),
        pytest.param(200, {"content_length": "50"}, {"max_body_bytes": 50}, BodyPolicy(50), id="just-fits"),
        pytest.param(200, {"content_length": "51"}, {"max_body_bytes": 50}, "body_too_large", id="too-long"),
        pytest.param(200, {"content_length": "9" * 30}, {}, BodyPolicy(10_485_760), id="no-number"),
        pytest.param(200, {}, {"kind": "robots"}, BodyPolicy(512_000, may_truncate=True), id="robots"),
        pytest.param(
            200,
            {"content_length": "999999"},
            {"kind": "robots"},
            BodyPolicy(512_000, may_truncate=True),
            id="long-robots",
        ),
        pytest.param(
            200, {"content_encoding": "br"}, {"kind": "robots"}, "bad_encoding", id="robots-that-are-noise"
        ),
        pytest.param(
            200, {"content_encoding": "gzip," * 5 + "gzip"}, {}, "too_many_encodings", id="six-encodings"
        ),
        pytest.param(
            200, {"content_encoding": "gzip," * 4 + "gzip"}, {}, BodyPolicy(10_485_760), id="five-encodings"
        ),
        pytest.param(
            200,
            {"content_type": "Image/PNG"},
            {},
            BodyPolicy(10_485_760, must_look_like_markup=True),
            id="picture",
        ),
        pytest.param(
            200,
            {"content_type": "video/mp4", "content_encoding": "gzip"},
            {},
            "unsupported_document",
            id="packed-film",
        ),
        pytest.param(
            404,
            {"content_length": "999999999"},
            {},
            BodyPolicy(65_536, keeps_body=False, may_truncate=True),
            id="error-page",
        ),
        pytest.param(
            302,
            {},
            {"kind": "robots"},
            BodyPolicy(65_536, keeps_body=False, may_truncate=True),
            id="redirect",
        ),
    ],
)
def test_the_head_decides_how_much_is_read(
    status: int, headers: dict[str, str], more: dict[str, Any], wanted: BodyPolicy | str
) -> None:
    found = decide_body_policy(a_request(**more), a_head(status, **headers))

    assert (found.error_class if isinstance(found, FailedFetch) else found) == wanted


@pytest.mark.parametrize(
    ("first", "is_text"),
    [
        pytest.param(b"<!doctype html>", True, id="document"),
        pytest.param(b"\xef\xbb\xbf\r\n  <html>", True, id="mark-and-blanks"),
        pytest.param(b"\x89PNG\r\n", False, id="picture"),
        pytest.param(b"", False, id="nothing"),
    ],
)
def test_markup_is_recognized_whatever_type_is_declared(first: bytes, is_text: bool) -> None:
    assert looks_like_markup(first) == is_text
