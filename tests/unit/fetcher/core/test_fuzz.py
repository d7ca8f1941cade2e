"""Fuzzing: any response has an outcome that can be encoded, and breaks no rule."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.topics import FETCHES_COMPLETED, PAGES_FETCHED
from strider.fetcher.core import (
    AddressPolicy,
    FailedFetch,
    FetchedResponse,
    RedirectRules,
    build_cookie_header,
    decide_body_policy,
    decode_head,
    interpret_result,
    parse_proxy_url,
    parse_set_cookies,
    resolve_redirect,
    update_jar,
    url_refusal,
)
from strider.urls import registrable_domain
from tests.unit.fetcher.builders import TRACE, URL, a_request

CODEC = Codec(SchemaStore.bundled())
CLOSED = RedirectRules(AddressPolicy(allowed_ports=frozenset({80, 443})))

_PLACES = ("127.0.0.1", "[::1]", "[::ffff:10.0.0.1]", "0x7f.1", "2130706433", "169.254.169.254", "localhost")
_SCHEMES = ("http://", "https://", "//", "file://", "javascript:", "metadata.google.internal", "a.test")
_SIGNS = ("user:pw@", "@", "\\", "/../", "%2e", ":80", ":22", ":99999", "?", "#", "\t", "\n", "\x00", " ")
_ODD = ("é", "xn--", "。", "\ud800")
FRAGMENTS = st.sampled_from([*_PLACES, *_SCHEMES, *_SIGNS, *_ODD])
LOCATIONS = st.lists(st.one_of(FRAGMENTS, st.text(max_size=4)), max_size=6).map("".join)
NAMES = st.sampled_from(
    [
        *("Content-Type", "Content-Length", "Content-Encoding", "Location", "Retry-After", "Date", "ETag"),
        *("Last-Modified", "Set-Cookie", "X-Robots-Tag", "Transfer-Encoding"),
    ]
)
VALUES = st.one_of(
    st.binary(max_size=40),
    LOCATIONS.map(lambda text: text.encode("utf-8", "replace")),
    st.sampled_from(
        [b"gzip", b"gzip, br, x", b"-1", b"9" * 30, b"Wed, 99 Foo 9999 99:99:99 GMT", b"image/png"]
    ),
)
HEADERS = st.lists(st.tuples(NAMES.map(str.encode), VALUES), max_size=8)
STATUSES = st.one_of(st.integers(100, 599), st.sampled_from([200, 206, 301, 302, 304, 401, 429, 503]))
KINDS = st.sampled_from([kind.value for kind in RequestKind])


@settings(max_examples=80, deadline=None)
@given(status=STATUSES, headers=HEADERS, body=st.binary(max_size=60), kind=KINDS, is_cut=st.booleans())
def test_fuzzed_responses_have_an_encodable_outcome(
    status: int, headers: list[tuple[bytes, bytes]], body: bytes, kind: str, is_cut: bool
) -> None:
    head = decode_head(status, headers)
    wanted = a_request(kind=kind, etag='"x"')
    reading = decide_body_policy(wanted, head)
    came = (
        reading
        if isinstance(reading, FailedFetch)
        else FetchedResponse(head, body, len(body), is_truncated=is_cut)
    )

    meaning = interpret_result(wanted, came, trace=TRACE, rules=CLOSED)

    CODEC.encode(FETCHES_COMPLETED, meaning.completed)
    assert meaning.completed.has_page == (meaning.page is not None)
    if meaning.page is not None:
        CODEC.encode(PAGES_FETCHED, meaning.page)
    target = meaning.completed.redirect_target
    if target and not meaning.completed.redirect_refused:
        assert url_refusal(target, policy=CLOSED.address_policy) is None


@settings(max_examples=150, deadline=None)
@given(location=LOCATIONS)
def test_fuzzed_redirects_never_reach_forbidden_addresses(location: str) -> None:
    """A redirect target that is allowed is an allowed URL too, and plain HTTP(S)."""
    head = decode_head(302, [(b"Location", location.encode("utf-8", "replace"))])

    found = resolve_redirect(head, url=URL, rules=CLOSED)

    if not found.refusal:
        assert found.target.startswith(("http://", "https://"))
        assert "@" not in found.target[: found.target.index("/", 8)]
        assert url_refusal(found.target, policy=CLOSED.address_policy) is None


@settings(max_examples=80, deadline=None)
@given(
    lines=st.lists(st.one_of(st.text(max_size=60), LOCATIONS), max_size=6),
    name=st.sampled_from(["www.shop.co.uk", "me.github.io", "127.0.0.1", "[::1]", "localhost"]),
)
def test_fuzzed_cookies_stay_within_their_registrable_domain(lines: list[str], name: str) -> None:
    """And the cookies that are sent back fit one header line."""
    url = f"http://{name}/a"
    said = [f"n{number}=v; Domain={line}; Path={line}" for number, line in enumerate(lines)]
    cookies = parse_set_cookies([*lines, *said], url=url, now=1.0)

    own = registrable_domain(name)
    assert all(each.domain == own or each.domain.endswith(f".{own}") for each in cookies)
    header = build_cookie_header(update_jar((), cookies, now=1.0), url=url, now=1.0)
    assert not {"\r", "\n", "\x00"} & {*header}


@settings(max_examples=80, deadline=None)
@given(url=st.one_of(st.text(max_size=40), LOCATIONS))
def test_fuzzed_proxy_urls_are_parsed_or_refused(url: str) -> None:
    try:
        proxy = parse_proxy_url(url)
    except ValueError:
        return
    assert proxy.protocol in {"http", "https", "socks5"}
    assert 1 <= proxy.port <= 65_535
    assert proxy.host
