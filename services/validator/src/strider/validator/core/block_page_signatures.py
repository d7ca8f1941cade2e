"""Phrases that identify block pages: challenges, captchas, denials, errors, logins.

One table, open for additions: a phrase in lower case, the reason that it stands for, and the longest page on
which it counts, as long pages only mention such things. Phrases are compared literally, with text whose white
space is single and whose apostrophes are plain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.enums import RejectionReason

TITLE: Final = "title"
TEXT: Final = "text"
NOSCRIPT: Final = "noscript"


@dataclass(frozen=True, slots=True)
class Signature:
    """Phrases with the same meaning."""

    reason: str
    places: tuple[str, ...]
    """Where they count: title, text, noscript."""
    max_text_chars: int
    """On pages with more text they do not count."""
    phrases: tuple[str, ...]


SIGNATURES: Final = (
    Signature(
        RejectionReason.CHALLENGE_PAGE,
        (TITLE, TEXT),
        1_500,
        (
            "checking your browser",
            "checking if the site connection is secure",
            "verifying you are human",
            "verify you are human by completing",
            "just a moment...",
            "attention required! | cloudflare",
            "needs to review the security of your connection",
            "ddos protection by",
            "please wait while we verify",
            "pardon our interruption",
            "please stand by, while we are checking",
        ),
    ),
    Signature(
        RejectionReason.CAPTCHA,
        (TITLE, TEXT),
        1_000,
        (
            "i'm not a robot",
            "i am not a robot",
            "are you a robot",
            "are you a human?",
            "prove you are human",
            "prove that you are human",
            "complete the captcha",
            "solve the captcha",
            "enter the characters you see",
            "unusual traffic from your computer network",
            "our systems have detected unusual traffic",
        ),
    ),
    Signature(
        RejectionReason.ACCESS_DENIED,
        (TITLE, TEXT),
        1_500,
        (
            "access denied",
            "access to this page has been denied",
            "you don't have permission to access",
            "you do not have permission to access",
            "you are not authorized to access",
            "you have been blocked",
            "your ip address has been blocked",
            "your ip has been blocked",
            "sorry, you have been blocked",
            "request blocked",
            "the request is blocked",
            "the requested url was rejected",
            "not available in your country",
            "not available in your region",
        ),
    ),
    Signature(
        RejectionReason.FORBIDDEN,
        (TITLE, TEXT),
        1_000,
        ("403 forbidden", "403 - forbidden", "403: forbidden", "error 403", "http 403", "http error 403"),
    ),
    Signature(
        RejectionReason.JAVASCRIPT_REQUIRED,
        (TITLE, TEXT),
        600,
        (
            "please enable javascript",
            "please enable java script",
            "enable javascript to",
            "enable javascript and",
            "javascript is disabled",
            "javascript is required",
            "javascript must be enabled",
            "requires javascript",
            "needs javascript",
            "turn on javascript",
            "javascript in your browser",
            "without javascript enabled",
            "your browser does not support javascript",
            "bitte aktivieren sie javascript",
            "veuillez activer javascript",
            "por favor, active javascript",
        ),
    ),
    Signature(
        RejectionReason.JAVASCRIPT_REQUIRED,
        (NOSCRIPT,),
        200,
        ("javascript",),
    ),
    Signature(
        RejectionReason.SOFT_NOT_FOUND,
        (TITLE,),
        6_000,
        (
            "404 not found",
            "404 - not found",
            "404 error",
            "error 404",
            "page not found",
            "page cannot be found",
            "page can't be found",
            "page could not be found",
            "page doesn't exist",
            "page does not exist",
            "file not found",
            "seite nicht gefunden",
            "page introuvable",
            "página no encontrada",
            "pagina non trovata",
        ),
    ),
    Signature(
        RejectionReason.SOFT_NOT_FOUND,
        (TEXT,),
        800,
        (
            "404 not found",
            "error 404",
            "page not found",
            "the page you requested could not be found",
            "the page you are looking for",
            "this page doesn't exist",
            "this page does not exist",
            "this page isn't available",
            "the requested url was not found on this server",
            "no longer available",
            "seite wurde nicht gefunden",
        ),
    ),
    Signature(
        RejectionReason.ERROR_PAGE,
        (TITLE, TEXT),
        800,
        (
            "500 internal server error",
            "internal server error",
            "502 bad gateway",
            "503 service unavailable",
            "service temporarily unavailable",
            "504 gateway time-out",
            "gateway timeout",
            "error establishing a database connection",
            "a fatal error has occurred",
            "there has been a critical error on this website",
            "an unexpected error has occurred",
            "an application error occurred",
            "site is under maintenance",
            "down for maintenance",
        ),
    ),
    Signature(
        RejectionReason.PARKED_DOMAIN,
        (TITLE, TEXT),
        2_500,
        (
            "this domain is for sale",
            "this domain may be for sale",
            "domain is parked",
            "this domain is parked",
            "parked domain",
            "buy this domain",
            "domain has expired",
            "this domain name has been registered with",
            "the domain name is for sale",
            "diese domain steht zum verkauf",
            "welcome to nginx!",
            "apache2 debian default page",
            "apache2 ubuntu default page",
            "this is the default web page for this server",
        ),
    ),
    Signature(
        RejectionReason.LOGIN_WALL,
        (TITLE, TEXT),
        1_000,
        (
            "please log in to continue",
            "please login to continue",
            "please sign in to continue",
            "you must be logged in",
            "you need to be logged in",
            "you need to log in",
            "you need to sign in",
            "log in to view this",
            "sign in to view this",
            "sign in to your account to continue",
            "login required",
        ),
    ),
    Signature(
        RejectionReason.PAYWALL,
        (TITLE, TEXT),
        800,
        ("subscribe to continue reading", "subscribe to read this", "this article is for subscribers only"),
    ),
    Signature(
        RejectionReason.CONSENT_WALL,
        (TITLE, TEXT),
        800,
        ("before you continue to", "consent to the use of cookies to continue"),
    ),
)
"""The first match in this order decides: a challenge also asks for JavaScript, which is less specific."""

MAX_TEXT_CHARS: Final = max(signature.max_text_chars for signature in SIGNATURES)


@dataclass(frozen=True, slots=True)
class SignatureMatch:
    """The phrase that was found, and where."""

    reason: str
    phrase: str
    location: str


def find_signature(
    *,
    title: str,
    text: str,
    noscript: str,
    text_chars: int,
    signatures: Iterable[Signature] = SIGNATURES,
) -> SignatureMatch | None:
    """Return the first phrase that counts on a page of this length; None if there is none."""
    if text_chars > MAX_TEXT_CHARS:
        return None
    texts = {
        TITLE: _normalize(title),
        TEXT: _normalize(text[:MAX_TEXT_CHARS]),
        NOSCRIPT: _normalize(noscript),
    }
    for signature in signatures:
        if text_chars > signature.max_text_chars:
            continue
        for place in signature.places:
            searched = texts[place]
            if searched and (phrase := next((each for each in signature.phrases if each in searched), None)):
                return SignatureMatch(signature.reason, phrase, place)
    return None


def _normalize(text: str) -> str:
    lower = text.lower()
    if lower.isascii():
        return lower
    return lower.replace("\u2019", "'").replace("\u2026", "...").replace("\xa0", " ")
