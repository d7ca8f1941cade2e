"""Which amount of which money does a text name, in whatever land it was written?

`1.234,56 €`, `₹1,23,456` and `US$ 1,234.56` are amounts; a text that names none gives none. Amounts are
decimal numbers in text, never floats: money is not rounded.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from strider.urls import host

_AMOUNT: Final = re.compile(
    r"\d{1,3}(?:[\s'\u2019\u00a0\u202f]\d{3}(?!\d))+(?:[.,]\d+)?|\d{1,15}(?:[.,]\d{1,9}){0,6}"
)
_CODE: Final = re.compile(r"(?<![A-Za-z])([A-Z]{3})(?![A-Za-z])")
_SPACES: Final = re.compile(r"['\u2019\s\u00a0\u202f]")
_CURRENCIES: Final = frozenset(
    [
        *("AED", "ARS", "AUD", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR"),
        *("GBP", "HKD", "HUF", "IDR", "ILS", "INR", "JPY", "KRW", "MAD", "MXN", "MYR", "NGN", "NOK", "NZD"),
        *("PEN", "PHP", "PKR", "PLN", "QAR", "RON", "RSD", "RUB", "SAR", "SEK", "SGD", "THB", "TRY", "TWD"),
        *("UAH", "USD", "UYU", "VND", "ZAR"),
    ]
)
_SIGNS: Final = (
    *(("US$", "USD"), ("CA$", "CAD"), ("C$", "CAD"), ("A$", "AUD"), ("AU$", "AUD"), ("NZ$", "NZD")),
    *(
        ("HK$", "HKD"),
        ("S$", "SGD"),
        ("R$", "BRL"),
        ("NT$", "TWD"),
        ("MX$", "MXN"),
        ("€", "EUR"),
        ("£", "GBP"),
    ),
    *(("₹", "INR"), ("Rs.", "INR"), ("₩", "KRW"), ("₽", "RUB"), ("₺", "TRY"), ("₴", "UAH"), ("₪", "ILS")),
    *(
        ("₫", "VND"),
        ("฿", "THB"),
        ("zł", "PLN"),
        ("Kč", "CZK"),
        ("¥", "JPY"),
        ("円", "JPY"),
        ("元", "CNY"),
        ("$", "USD"),
    ),
)
"""Longer ones first: a dollar is one of many."""

_ROUBLES: Final = "руб"  # noqa: RUF001  # so it is written
_WORDS: Final = {
    _ROUBLES: "RUB",
    "грн": "UAH",
    "tl": "TRY",
    "rm": "MYR",
    "rp": "IDR",
    "rs": "INR",
    "ft": "HUF",
    "lei": "RON",
    "лв": "BGN",
    "원": "KRW",
    "đ": "VND",
}
_WORD: Final = re.compile(rf"(?<![^\W\d_])(?:{_ROUBLES}|грн|TL|RM|Rp|Rs|Ft|[Ll]ei|лв|원|đ|[Kk]r)(?![^\W\d_])")
"""Words for money, which count behind all signs."""

_CROWNS: Final = {"se": "SEK", "no": "NOK", "dk": "DKK"}
"""Whose crown is meant, by the top-level domain of a site."""

_DOLLARS: Final = {
    "au": "AUD",
    "ca": "CAD",
    "cl": "CLP",
    "co": "COP",
    "hk": "HKD",
    "mx": "MXN",
    "nz": "NZD",
    "sg": "SGD",
    "tw": "TWD",
    "ar": "ARS",
}
"""Whose dollar or peso is meant by its bare sign, by the top-level domain of a site."""
_GROUP: Final = 3


class Price(NamedTuple):
    """An amount, and its currency where it is said."""

    amount: str
    currency: str


def read_price(text: str, *, country: str = "") -> Price | None:
    """Read the first amount of a text; None where there is none."""
    match = _AMOUNT.search(text[:200])
    if match is None:
        return None
    digits = "".join(str(int(char)) if char.isdecimal() else char for char in _SPACES.sub("", match[0]))
    return Price(_decimal(digits), read_currency(text, country=country))


def read_currency(text: str, *, country: str = "") -> str:
    """Give the ISO 4217 code that a text names by code or sign; empty for none."""
    for code in _CODE.findall(text[:200]):
        if code in _CURRENCIES:
            return str(code)
    sign, code = next(((sign, code) for sign, code in _SIGNS if sign in text[:200]), ("", ""))
    if sign == "$":
        return _DOLLARS.get(country, code)
    word = None if sign else _WORD.search(text[:200])
    return code if word is None else _WORDS.get(word[0].lower(), _CROWNS.get(country, ""))


def country_of(url: str) -> str:
    """Give the country by which a bare sign of money is read; empty where the address names none."""
    return host(url).rpartition(".")[2] if "://" in url else ""


def _decimal(digits: str) -> str:
    """Tell the sign before the cents from those between thousands."""
    last = max(digits.rfind("."), digits.rfind(","))
    if last < 0:
        return digits
    mark, after = digits[last], len(digits) - last - 1
    is_mixed = "." in digits and "," in digits
    is_grouping = digits.count(mark) > 1 or (not is_mixed and after == _GROUP and not digits.startswith("0"))
    if is_grouping:
        return digits.replace(".", "").replace(",", "")
    whole = digits[:last].replace(".", "").replace(",", "")
    return f"{whole}.{digits[last + 1 :]}"
