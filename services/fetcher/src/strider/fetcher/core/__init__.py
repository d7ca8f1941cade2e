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

from .answers import Answer, Failed, Head, Making, head_of
from .asking import Headers, Identity, headers_of, identity_of, url_refusal, user_agent_of
from .cookies import Cookie, cookie_header, cookies_of, jar_with
from .interpret import Meaning, crash_of, interpret, page_room
from .outcomes import is_doubtful, outcome_of_error, outcome_of_status
from .places import Network, Places
from .proxies import MOST_FAILURES, Proxy, Standing, proxy_of
from .reading import Reading, looks_like_text, reading_of, unread
from .redirects import Redirect, RedirectRules, is_redirect, redirect_of
from .retryafter import retry_after_seconds
from .robots import robots_text

__all__ = [
    "MOST_FAILURES",
    "Answer",
    "Cookie",
    "Failed",
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
    "unread",
    "url_refusal",
    "user_agent_of",
]
