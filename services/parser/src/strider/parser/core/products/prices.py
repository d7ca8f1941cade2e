"""Parse prices and currencies from text of any country.

`1.234,56 €`, `₹1,23,456` and `US$ 1,234.56` are prices. Amounts are decimal numbers in text, never floats:
money is not rounded.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from strider.urls import host_of

_AMOUNT: Final = re.compile(
    r"\d{1,3}(?:[\s'\u2019\u00a0\u202f]\d{3}(?!\d))+(?:[.,]\d+)?|\d{1,15}(?:[.,]\d{1,9}){0,6}"
    r"|(?<![\w.,])[.,]\d\d(?!\d)"
)
_ARABIC: Final = str.maketrans({"\u066b": ".", "\u066c": ","})
"""Decimal and thousands separators used with Arabic digits."""
_CURRENCY_CODE: Final = re.compile(r"(?<![A-Za-z])([A-Z]{3})(?![A-Za-z])")
_SPACES: Final = re.compile(r"['\u2019\s\u00a0\u202f]")
_COMMON_CODES: Final = frozenset(
    [
        *("AED", "ARS", "AUD", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR"),
        *("GBP", "HKD", "HUF", "IDR", "ILS", "INR", "JPY", "KRW", "MAD", "MXN", "MYR", "NGN", "NOK", "NZD"),
        *("PEN", "PHP", "PKR", "PLN", "QAR", "RON", "RSD", "RUB", "SAR", "SEK", "SGD", "THB", "TRY", "TWD"),
        *("UAH", "USD", "UYU", "VND", "ZAR"),
    ]
)
"""Codes that count anywhere in a text."""

_RARE_CODE_LIST: Final = (
    "AFN AOA AWG AZN BBD BDT BHD BIF BMD BND BOB BSD BTN BWP BYN BZD CDF CRC CVE DJF DOP DZD ERN ETB FJD "
    "FKP GHS GIP GMD GNF GTQ GYD HNL HTG IQD IRR ISK JMD JOD KES KGS KHR KMF KPW KWD KYD KZT LAK LBP LKR "
    "LRD LSL LYD MDL MGA MKD MMK MNT MRU MUR MVR MWK MZN NAD NIO NPR OMR PGK PYG RWF SBD SCR SDG SHP SLE "
    "SRD SSP STN SVC SYP SZL TJS TMT TND TTD TZS UGX UZS VES VUV WST XAF XCD XOF XPF YER ZMW ZWG"
)
_RARE_CODES: Final = frozenset(_RARE_CODE_LIST.split())
"""Codes that count only next to a number, as they are likely to be something else."""

_AMBIGUOUS_CODES: Final = frozenset({"ALL", "AMD", "ANG", "BAM", "CUP", "GEL", "MOP", "SOS", "TOP"})
"""Codes that are also words in capitals; they count in currency fields only."""
_SYMBOLS: Final = (
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
        ("J$", "JMD"),
        ("RD$", "DOP"),
        ("₱", "PHP"),
        ("₦", "NGN"),
        ("₵", "GHS"),
        ("₸", "KZT"),
        ("₾", "GEL"),
        ("₼", "AZN"),
        ("৳", "BDT"),
        ("₡", "CRC"),
        ("₲", "PYG"),
        ("₭", "LAK"),
        ("₮", "MNT"),
        ("៛", "KHR"),
        ("S/.", "PEN"),
        ("KSh", "KES"),
        ("ر.س", "SAR"),
        ("د.إ", "AED"),
        ("ج.م", "EGP"),
        ("د.ك", "KWD"),
        ("₫", "VND"),
        ("฿", "THB"),
        ("zł", "PLN"),
        ("Kč", "CZK"),
        ("¥", "JPY"),
        ("\uffe5", "JPY"),
        ("\uff04", "USD"),
        ("\uffe1", "GBP"),
        ("円", "JPY"),
        ("元", "CNY"),
        ("$", "USD"),
    ),
)
"""Longer symbols first: the dollar sign is part of many."""

_ROUBLES: Final = "руб"  # noqa: RUF001  # so it is written
_CURRENCY_OF_WORD: Final = {
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
_CURRENCY_WORD: Final = re.compile(
    rf"(?<![^\W\d_])(?:{_ROUBLES}|грн|TL|RM|Rp|Rs|Ft|[Ll]ei|лв|원|đ|[Kk]r)(?![^\W\d_])"
)
"""Currency words, which count only without a symbol."""

_KRONA_BY_COUNTRY: Final = {"se": "SEK", "no": "NOK", "dk": "DKK"}
"""The currency of `kr`, by the top-level domain of a site."""

_YEN_BY_COUNTRY: Final = {"cn": "CNY"}
"""The currency of ¥, by the top-level domain of a site or the country of its language; the default is JPY."""

_DOLLAR_BY_COUNTRY: Final = {
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
"""The currency of a bare dollar sign, by the top-level domain of a site."""
_GROUP_DIGITS: Final = 3


class Price(NamedTuple):
    """An amount, and its currency if known."""

    amount: str
    currency: str


MAX_CHARS: Final = 200


_CENT_SYMBOL: Final = re.compile(r"\s?¢")


_CENTS_AFTER_SYMBOL: Final = re.compile(r"[€£](\d\d)(?![\d.,])")
"""As in 10€50."""


_CURRENCY_MARK: Final = "|".join(
    [
        *(re.escape(sign) for sign, _ in _SYMBOLS),
        rf"(?<![A-Za-z])(?:{'|'.join(sorted(_COMMON_CODES | _RARE_CODES))})(?![A-Za-z])",
        _CURRENCY_WORD.pattern,
    ]
)
_HAS_CURRENCY: Final = re.compile(_CURRENCY_MARK)
_CURRENCY_BEFORE: Final = re.compile(rf"(?:{_CURRENCY_MARK})[\s.:]*$")
_CURRENCY_AFTER: Final = re.compile(rf"(?:\s|[,.][-\u2013])*(?:{_CURRENCY_MARK})")
_RANGE_SEPARATOR: Final = re.compile(r"\s*(?:[-\u2013\u2014~]|to|bis|à|a|al|do|до|até|tot)\s*$")
_PERCENT: Final = re.compile(r"\s?%")
_MINUS: Final = re.compile(r"^\s*[-\u2212]\s*$")


def parse_price(text: str, *, country: str = "") -> Price | None:
    """Return the first amount next to a currency, else the first amount; None if there is none."""
    translated = text[:MAX_CHARS].translate(_ARABIC)
    match = _find_amount(translated)
    if match is None:
        return None
    digits = "".join(str(int(char)) if char.isdecimal() else char for char in _SPACES.sub("", match[0]))
    amount, behind = _to_decimal(f"0{digits}" if digits[0] in ".," else digits), translated[match.end() :]
    if _CENT_SYMBOL.match(behind) and "." not in amount:
        amount = f"{int(amount) // 100}.{int(amount) % 100:02}"
    elif (
        (cents := _CENTS_AFTER_SYMBOL.match(behind))
        and "." not in amount
        and not _CURRENCY_BEFORE.search(translated[: match.start()])
    ):
        amount = f"{amount}.{cents[1]}"
    return Price(amount, parse_currency(translated, country=country))


def _find_amount(text: str) -> re.Match[str] | None:
    """Return the match of the price: 10 in `3 for $10`, 80 in `-20 % 80 €`, and 10 in `10 - 20 €`."""
    first: re.Match[str] | None = None
    end = 0
    for match in _AMOUNT.finditer(text):
        before = text[end : match.start()]
        end = match.end()
        if _PERCENT.match(text, end) or _MINUS.search(text[: match.start()]):
            continue
        if _CURRENCY_BEFORE.search(before) or _CURRENCY_AFTER.match(text, end):
            return first if first is not None and _RANGE_SEPARATOR.match(before) else match
        first = first or match
    return first


def mentions_currency(text: str) -> bool:
    """Whether a text contains a currency symbol, code or word."""
    return _HAS_CURRENCY.search(text[:MAX_CHARS]) is not None


_CODE_NEXT_TO_NUMBER: Final = re.compile(r"\d\s?[A-Z]{3}(?![A-Za-z])|(?<![A-Za-z])[A-Z]{3}\s?\d")


def parse_currency(text: str, *, country: str = "") -> str:
    """Return the ISO 4217 code of the currency in a text; empty if there is none."""
    for code in _CURRENCY_CODE.findall(text[:MAX_CHARS]):
        if code in _COMMON_CODES or (code in _RARE_CODES and _CODE_NEXT_TO_NUMBER.search(text[:MAX_CHARS])):
            return str(code)
    sign, code = next(((sign, code) for sign, code in _SYMBOLS if sign in text[:MAX_CHARS]), ("", ""))
    if sign in {"$", "\uff04"}:
        return _DOLLAR_BY_COUNTRY.get(country, code)
    if sign in {"¥", "\uffe5"}:
        return _YEN_BY_COUNTRY.get(country, code)
    word = None if sign else _CURRENCY_WORD.search(text[:MAX_CHARS])
    return (
        code if word is None else _CURRENCY_OF_WORD.get(word[0].lower(), _KRONA_BY_COUNTRY.get(country, ""))
    )


def is_ambiguous_dollar(text: str, country: str) -> bool:
    """Whether a text has a dollar sign whose currency neither the text nor the country determines."""
    bare = "$" in text and not any(sign in text for sign, _ in _SYMBOLS if len(sign) > 1 and "$" in sign)
    return (
        bare
        and country not in _DOLLAR_BY_COUNTRY
        and country != "us"
        and not _CURRENCY_CODE.search(text[:MAX_CHARS])
    )


def parse_currency_field(text: str) -> str:
    """Return the ISO 4217 code in a currency field: a code, symbol or word; empty if unknown."""
    bare = text.strip()
    code = bare[:3].upper()
    if bare[3:4].isalpha() and bare.upper() not in {"EURO", "EUROS"}:
        code = ""
    return code if code in _COMMON_CODES | _RARE_CODES | _AMBIGUOUS_CODES else parse_currency(bare)


def country_of(url: str) -> str:
    """Return the top-level domain as country for ambiguous symbols; empty for a relative URL."""
    return host_of(url).rpartition(".")[2] if "://" in url else ""


_CURRENCY_COUNTRIES: Final = (
    "EUR:de at fr it es nl be ie pt fi gr sk si ee lv lt lu mt cy hr;GBP:uk gb;USD:us;CHF:ch;SEK:se;NOK:no"
    ";DKK:dk"
    ";PLN:pl;CZK:cz;HUF:hu;RON:ro;RUB:ru;UAH:ua;TRY:tr;INR:in;JPY:jp;CNY:cn;KRW:kr;BRL:br;MXN:mx;AUD:au;NZD:nz"
    ";CAD:ca;ZAR:za;SGD:sg;MYR:my;IDR:id;THB:th;VND:vn;PHP:ph;ILS:il;AED:ae;SAR:sa;HKD:hk;TWD:tw;ARS:ar;CLP:cl"
    ";COP:co;PEN:pe;ISK:is"
)
_CURRENCY_OF_COUNTRY: Final = {
    land: code
    for code, _, lands in (one.partition(":") for one in _CURRENCY_COUNTRIES.split(";"))
    for land in lands.split()
}


def default_currency(country: str) -> str:
    """Return the usual currency of shops in a country; empty if unknown."""
    return _CURRENCY_OF_COUNTRY.get(country, "")


_COUNTRY_OF_LANGUAGE: Final = {
    "sv": "se",
    "da": "dk",
    "nb": "no",
    "nn": "no",
    "no": "no",
    "zh": "cn",
    "zh-hans": "cn",
}
"""The main country of a language without region, where a currency symbol depends on it."""


COUNTRY_CODE_CHARS: Final = 2


def country_for_prices(url: str, language: str) -> str:
    """Return the country for ambiguous symbols: of the URL, else of the language."""
    country = country_of(url)
    if len(country) == COUNTRY_CODE_CHARS:
        return country
    tag = language.lower().replace("_", "-")
    land = tag.rpartition("-")[2]
    return land if "-" in tag and len(land) == COUNTRY_CODE_CHARS else _COUNTRY_OF_LANGUAGE.get(tag, country)


def _to_decimal(digits: str) -> str:
    """Convert digits with separators to a decimal number: tell decimal from thousands separators."""
    last = max(digits.rfind("."), digits.rfind(","))
    if last < 0:
        return digits
    separator, after = digits[last], len(digits) - last - 1
    is_mixed = "." in digits and "," in digits
    is_grouping = digits.count(separator) > 1 or (
        not is_mixed and after == _GROUP_DIGITS and not digits.startswith("0")
    )
    if is_grouping:
        return digits.replace(".", "").replace(",", "")
    whole = digits[:last].replace(".", "").replace(",", "")
    return f"{whole}.{digits[last + 1 :]}"
