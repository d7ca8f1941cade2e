"""Decisions of the fetcher, as pure functions of values.

A request goes through `address_policy` (refused or allowed), `request_headers` and `cookies`. Its response is
a value of `response_models`; `body_limits` decides how much of the body is read, `outcome` what the result
means, with `outcome_mapping`, `redirects`, `retry_after` and `robots_body`.
"""

from .address_policy import AddressPolicy, Network, is_loopback_name, url_refusal
from .body_limits import BodyPolicy, decide_body_policy, looks_like_markup, unsupported_type
from .cookies import Cookie, build_cookie_header, parse_set_cookies, update_jar
from .outcome import (
    FetchEvents,
    build_crash_event,
    interpret_result,
    max_inline_body_bytes,
    may_be_local_outage,
    outcome_of_error,
)
from .proxies import MAX_CONSECUTIVE_FAILURES, Proxy, ProxyHealth, parse_proxy_url
from .redirects import RedirectRules, is_redirect, resolve_redirect, resolve_robots_redirect
from .request_headers import (
    CrawlerIdentity,
    build_identity,
    build_request_headers,
    select_user_agent,
)
from .response_models import (
    FailedFetch,
    FetchedResponse,
    FetchResult,
    FinishedRequest,
    HeldBody,
    RequestTrace,
    ResponseHead,
    decode_head,
)
from .retry_after import parse_retry_after
from .robots_body import decode_robots_body

__all__ = [
    "MAX_CONSECUTIVE_FAILURES",
    "AddressPolicy",
    "BodyPolicy",
    "Cookie",
    "CrawlerIdentity",
    "FailedFetch",
    "FetchEvents",
    "FetchResult",
    "FetchedResponse",
    "FinishedRequest",
    "HeldBody",
    "Network",
    "Proxy",
    "ProxyHealth",
    "RedirectRules",
    "RequestTrace",
    "ResponseHead",
    "build_cookie_header",
    "build_crash_event",
    "build_identity",
    "build_request_headers",
    "decide_body_policy",
    "decode_head",
    "decode_robots_body",
    "interpret_result",
    "is_loopback_name",
    "is_redirect",
    "looks_like_markup",
    "max_inline_body_bytes",
    "may_be_local_outage",
    "outcome_of_error",
    "parse_proxy_url",
    "parse_retry_after",
    "parse_set_cookies",
    "resolve_redirect",
    "resolve_robots_redirect",
    "select_user_agent",
    "unsupported_type",
    "update_jar",
    "url_refusal",
]
