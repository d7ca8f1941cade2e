"""Personal headers: encrypted on their way to the fetcher, clear on the wire to their own site alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.contracts.generated.topics import FETCHES_COMPLETED, PAGES_FETCHED
from strider.storage.encryption import HeaderCipher
from strider.testing.hostile import http_response, sends, serve_hostile
from strider.testing.owner import HEADERS_KEY
from strider.urls import origin_of

from .test_in_process import InProcessFetcher, in_process

CIPHER = HeaderCipher(HEADERS_KEY)
SECRET = "Bearer of-the-owner"
CLEAR = {"Authorization": SECRET, "Cookie": "own=0", "X-A": "1"}


def published(one: InProcessFetcher) -> bytes:
    topics = (PAGES_FETCHED.name, FETCHES_COMPLETED.name)
    logs = [log for name in topics for log in one.broker.topic(name).partitions]
    return b"".join(bytes(record.value or b"") for log in logs for record in log.records)


@pytest.mark.fault("A7", part="decrypted by the fetcher alone")
async def test_encrypted_headers_are_sent_in_clear_to_the_origin_that_they_are_for() -> None:
    """A cookie of the run and those of its jar are one header, as without encryption."""
    plays = {"/in": sends(http_response(headers=("Set-Cookie: s=1; Path=/",))), "/b": sends(http_response())}
    async with (
        serve_hostile(plays) as server,
        in_process(max_in_flight=9, decrypt_header=CIPHER.decrypt) as one,
    ):
        urls = [server.url("/in", host="a.localhost"), server.url("/b", host="a.localhost")]
        headers = CIPHER.protect(CLEAR, [origin_of(urls[0])])
        for number, request in enumerate(await one.leasing.lease(*urls), 1):
            names, values = tuple(headers), tuple(headers.values())
            one.write(replace(request, header_names=names, header_values=values, cookie_jar="run"))
            await one.until(lambda count=number: len(one.ends) == count)

        heads = server.request_heads
        assert [f"Authorization: {SECRET}" in head for head in heads] == [True, True]
        assert ["X-A: 1" in head for head in heads] == [True, True]
        assert ["Cookie: own=0\r\n" in heads[0], "Cookie: own=0; s=1\r\n" in heads[1]] == [True, True]
        assert SECRET.encode() not in published(one)


@pytest.mark.fault("A7", part="no request where a header is for another origin")
@pytest.mark.parametrize(
    ("cipher", "origin", "reason"),
    [
        pytest.param(CIPHER, "https://elsewhere.test", "is not given for http://a.localhost:", id="origin"),
        pytest.param(HeaderCipher(""), "", "STRIDER_HEADERS_KEY is not set", id="no-key"),
        pytest.param(HeaderCipher("x" * 32), "", "with another key", id="another-key"),
    ],
)
async def test_no_request_is_made_with_a_header_that_cannot_be_decrypted_for_it(
    cipher: HeaderCipher, origin: str, reason: str
) -> None:
    """Without its header the page would be another one, such as a login form."""
    async with (
        serve_hostile({"/a": sends(http_response())}) as server,
        in_process(decrypt_header=cipher.decrypt) as one,
    ):
        url = server.url("/a", host="a.localhost")
        (request,) = await one.leasing.lease(url)
        headers = CIPHER.protect({"Authorization": SECRET}, [origin or origin_of(url)])
        one.write(replace(request, header_names=tuple(headers), header_values=tuple(headers.values())))
        await one.until(lambda: one.ends)

        (end,) = one.ends
        assert (end.outcome, end.error_class) == ("crashed", "internal")
        assert reason in end.error_message
        assert server.request_heads == []
