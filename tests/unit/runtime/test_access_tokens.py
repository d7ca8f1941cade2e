"""Tokens of the API: whom they identify, and everything that is refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.runtime.access_tokens import (
    LEEWAY_SECONDS,
    MAX_TOKEN_CHARACTERS,
    Caller,
    Role,
    TokenRefused,
    issue_token,
    verify_token,
)

SECRET = "first-secret-of-tokens-0123456789abcdef"
OLDER = "older-secret-of-tokens-0123456789abcdef"
NOW = 1_700_000_000.0
CLAIMS: dict[str, Any] = {"sub": "ada", "role": "user", "exp": NOW + 60}


def refusal(token: str, *, secrets: str = SECRET, now: float = NOW) -> tuple[str, str]:
    with pytest.raises(TokenRefused) as refused:
        verify_token(token, secrets, now_seconds=now)
    assert not token or token not in refused.value.detail
    return refused.value.reason, refused.value.detail


def segment(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def signed(header: object, claims: object, secret: str = SECRET) -> str:
    """Sign without the library's checks of what it signs."""
    text = f"{segment(header)}.{segment(claims)}"
    mark = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(mark).rstrip(b'=').decode()}"


@pytest.mark.parametrize("role", Role)
def test_a_token_identifies_its_caller_until_it_ends(role: Role) -> None:
    caller = Caller("ada", role)
    token = issue_token(SECRET, caller, now_seconds=NOW, lifetime_seconds=60)

    assert verify_token(token, SECRET, now_seconds=NOW + 60 + LEEWAY_SECONDS - 0.5) == caller
    assert refusal(token, now=NOW + 60 + LEEWAY_SECONDS) == ("expired", "the token has expired")


def test_other_programs_make_and_read_such_tokens() -> None:
    """The form is that of RFC 7519: any library will do."""
    made = jwt.encode(CLAIMS, SECRET, "HS256")
    ours = issue_token(SECRET, Caller("ada", Role.ADMIN), now_seconds=NOW, lifetime_seconds=9e9)

    assert verify_token(made, SECRET, now_seconds=NOW) == Caller("ada", Role.USER)
    assert jwt.decode(ours, SECRET, algorithms=["HS256"])["role"] == "admin"


def test_of_several_secrets_the_first_signs_and_each_verifies() -> None:
    """A secret is replaced by putting the new one first, and removing the old one when its tokens end."""
    caller = Caller("ada", Role.USER)
    before = issue_token(OLDER, caller, now_seconds=NOW, lifetime_seconds=60)
    between = issue_token(f"{SECRET}, {OLDER}", caller, now_seconds=NOW, lifetime_seconds=60)

    assert verify_token(before, f"{SECRET},{OLDER}", now_seconds=NOW) == caller
    assert verify_token(between, SECRET, now_seconds=NOW) == caller
    assert refusal(before)[0] == "signature"


def test_an_admin_may_do_what_a_user_may() -> None:
    assert [(had, needed) for had in Role for needed in Role if had.includes(needed)] == [
        (Role.USER, Role.USER),
        (Role.ADMIN, Role.USER),
        (Role.ADMIN, Role.ADMIN),
    ]


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        pytest.param("", "missing", id="none"),
        pytest.param("x" * (MAX_TOKEN_CHARACTERS + 1), "too_long", id="oversized"),
        pytest.param("abc", "malformed", id="a-word"),
        pytest.param("a.b.c", "malformed", id="no-base64"),
        pytest.param("....", "malformed", id="dots"),
        pytest.param("é.é.é", "malformed", id="no-ascii"),
        pytest.param("\ud800.a.b", "malformed", id="no-unicode"),
        pytest.param(signed({"alg": "HS256"}, ["sub"]), "malformed", id="claims-in-a-list"),
        pytest.param(f"{segment({'alg': 'none'})}.{segment(CLAIMS)}.", "algorithm", id="alg-none"),
        pytest.param(f"{segment({'alg': 'NONE'})}.{segment(CLAIMS)}.", "algorithm", id="alg-NONE"),
        pytest.param(signed({"alg": "none"}, CLAIMS), "algorithm", id="alg-none-signed"),
        pytest.param(signed({}, CLAIMS), "algorithm", id="no-alg"),
        pytest.param(signed({"alg": "hs256"}, CLAIMS), "algorithm", id="alg-in-lower-case"),
        pytest.param(signed({"alg": "HS256", "crit": ["x"]}, CLAIMS), "malformed", id="unknown-crit"),
        pytest.param(jwt.encode(CLAIMS, SECRET * 2, "HS512"), "algorithm", id="HS512"),
        pytest.param(signed({"alg": "RS256"}, CLAIMS), "algorithm", id="RS256"),
        pytest.param(jwt.encode(CLAIMS, OLDER, "HS256"), "signature", id="another-secret"),
        pytest.param(f"{segment({'alg': 'HS256'})}.{segment(CLAIMS)}.", "signature", id="unsigned"),
    ],
)
def test_what_no_secret_of_ours_signed_is_refused(token: str, reason: str) -> None:
    assert refusal(token)[0] == reason


def test_a_token_whose_claims_were_changed_is_refused() -> None:
    head, _, mark = issue_token(SECRET, Caller("ada", Role.USER), now_seconds=NOW, lifetime_seconds=60).split(
        "."
    )

    assert refusal(f"{head}.{segment(CLAIMS | {'role': 'admin'})}.{mark}")[0] == "signature"


@pytest.mark.parametrize(
    ("changed", "reason", "names"),
    [
        pytest.param({"exp": None}, "claim", "exp: the token has no end", id="no-end"),
        pytest.param({"exp": "soon"}, "claim", "exp: must be a time", id="end-is-a-word"),
        pytest.param({"exp": True}, "claim", "exp: must be a time", id="end-is-true"),
        pytest.param({"exp": float("inf")}, "claim", "exp: must be a time", id="end-is-infinite"),
        pytest.param({"exp": float("nan")}, "claim", "exp: must be a time", id="end-is-no-number"),
        pytest.param({"exp": NOW - 6}, "expired", "expired", id="expired"),
        pytest.param({"exp": -(10**400)}, "expired", "expired", id="expired-for-ever"),
        pytest.param({"nbf": NOW + 6}, "not_yet_valid", "not valid yet", id="not-yet"),
        pytest.param({"nbf": []}, "claim", "nbf: must be a time", id="beginning-is-a-list"),
        pytest.param({"sub": None}, "claim", "sub: must be a name", id="no-subject"),
        pytest.param({"sub": ""}, "claim", "sub: ", id="empty-subject"),
        pytest.param({"sub": 7}, "claim", "sub: ", id="subject-is-a-number"),
        pytest.param({"sub": "x" * 201}, "claim", "sub: ", id="long-subject"),
        pytest.param({"sub": "a\nb"}, "claim", "sub: ", id="subject-of-two-lines"),
        pytest.param({"role": None}, "claim", "role: must be one of user, admin", id="no-role"),
        pytest.param({"role": "root"}, "claim", "role: must be one of user, admin", id="unknown-role"),
        pytest.param({"role": ["admin"]}, "claim", "role: ", id="roles-in-a-list"),
        pytest.param({"aud": "billing"}, "claim", "aud: ", id="for-another-program"),
    ],
)
def test_a_claim_that_is_wrong_is_named(changed: dict[str, Any], reason: str, names: str) -> None:
    claims = {name: value for name, value in (CLAIMS | changed).items() if value is not None}

    found, detail = refusal(signed({"alg": "HS256"}, claims))

    assert found == reason
    assert names in detail


def test_clocks_may_differ_a_little() -> None:
    early = signed({"alg": "HS256"}, CLAIMS | {"nbf": NOW + LEEWAY_SECONDS})

    assert verify_token(early, SECRET, now_seconds=NOW).subject == "ada"


@given(st.text(max_size=200) | st.from_regex(r"\A[\w-]{0,40}\.[\w-]{0,80}\.[\w-]{0,50}\Z"))
def test_no_text_is_more_than_a_refusal(text: str) -> None:
    with pytest.raises(TokenRefused):
        verify_token(text, SECRET, now_seconds=NOW)


CLAIM_NAMES = ["sub", "role", "exp", "nbf", "aud", "iat", "jti", "iss"]
CLAIM_VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.lists(st.integers())
)


@given(st.dictionaries(st.sampled_from(CLAIM_NAMES), CLAIM_VALUES))
def test_signed_claims_are_a_caller_or_a_refusal(claims: dict[str, Any]) -> None:
    """Also those that were signed by mistake: never another error."""
    try:
        caller = verify_token(signed({"alg": "HS256"}, claims), SECRET, now_seconds=NOW)
    except TokenRefused:
        return
    assert (caller.subject, caller.role) == (claims["sub"], claims["role"])
