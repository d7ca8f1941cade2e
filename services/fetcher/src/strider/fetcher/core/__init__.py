"""What one request asks, and what one answer means. Pure.

asking      what is put on the wire, and whether a URL may be asked at all
cookies     which cookies are set, and which are sent
places      which addresses and ports are open
proxies     who asks in our place, and how well
reading     how much of a body is wanted
answers     what came back, as values
outcomes    errors and statuses to outcomes
redirects   where a redirect leads, and whether its target may be asked
retryafter  how long a server wants to be left alone
robots      the text of a robots.txt
interpret   request and answer to the events that are spoken
"""

from .address_policy import Network, Places
from .body_limits import Reading, decide_body_policy, looks_like_markup, unsupported_type
from .cookies import Cookie, build_cookie_header, parse_set_cookies, update_jar
from .interpret_result import FetchEvents, build_crash_event, interpret_result, max_inline_body_bytes
from .outcome_mapping import may_be_local_outage, outcome_of_error, outcome_of_status
from .proxies import MAX_CONSECUTIVE_FAILURES, Proxy, Standing, parse_proxy_url
from .redirects import RedirectRules, ResolvedRedirect, is_redirect, resolve_redirect
from .request_headers import CrawlerIdentity, Headers, headers_of, identity_of, url_refusal, user_agent_of
from .response_models import FailedFetch, FetchedResponse, RequestTrace, ResponseHead, head_of
from .retry_after import retry_after_seconds
from .robots_body import robots_text

__all__ = [
    "MOST_FAILURES",
    "Cookie",
    "Failed",
    "FetchedResponse",
    "Head",
    "Headers",
    "Identity",
    "Making",
    "Meaning",
    "Network",
    "Places",
    "Proxy",
    "Reading",
    "Redirect",
    "RedirectRules",
    "Standing",
    "cookie_header",
    "cookies_of",
    "crash_of",
    "head_of",
    "headers_of",
    "identity_of",
    "interpret",
    "is_doubtful",
    "is_redirect",
    "jar_with",
    "looks_like_text",
    "outcome_of_error",
    "outcome_of_status",
    "page_room",
    "proxy_of",
    "reading_of",
    "redirect_of",
    "retry_after_seconds",
    "robots_text",
    "unsupported_type",
    "url_refusal",
    "user_agent_of",
]
