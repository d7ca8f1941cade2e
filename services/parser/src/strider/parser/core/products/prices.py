"""Which amount of which money does a text name, in whatever land it was written?

`1.234,56 €`, `₹1,23,456` and `US$ 1,234.56` are amounts; a text that names none gives none. Amounts are
decimal numbers in text, never floats: money is not rounded.
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
"""How numbers in Arabic digits mark cents and thousands."""
_CURRENCY_CODE: Final = re.compile(r"(?<![A-Za-z])([A-Z]{3})(?![A-Za-z])")
_SPACES: Final = re.compile(r"['\u2019\s\u00a0\u202f]")
_CURRENCIES: Final = frozenset(
    [
        *("AED", "ARS", "AUD", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR"),
        *("GBP", "HKD", "HUF", "IDR", "ILS", "INR", "JPY", "KRW", "MAD", "MXN", "MYR", "NGN", "NOK", "NZD"),
        *("PEN", "PHP", "PKR", "PLN", "QAR", "RON", "RSD", "RUB", "SAR", "SEK", "SGD", "THB", "TRY", "TWD"),
        *("UAH", "USD", "UYU", "VND", "ZAR"),
    ]
)
"""Codes that count wherever they stand in a text."""

_RARE_CODE_LIST: Final = (
    "AFN AOA AWG AZN BBD BDT BHD BIF BMD BND BOB BSD BTN BWP BYN BZD CDF CRC CVE DJF DOP DZD ERN ETB FJD "
    "FKP GHS GIP GMD GNF GTQ GYD HNL HTG IQD IRR ISK JMD JOD KES KGS KHR KMF KPW KWD KYD KZT LAK LBP LKR "
    "LRD LSL LYD MDL MGA MKD MMK MNT MRU MUR MVR MWK MZN NAD NIO NPR OMR PGK PYG RWF SBD SCR SDG SHP SLE "
    "SRD SSP STN SVC SYP SZL TJS TMT TND TTD TZS UGX UZS VES VUV WST XAF XCD XOF XPF YER ZMW ZWG"
)
_FURTHER: Final = frozenset(_RARE_CODE_LIST.split())
"""Codes that count beside a number alone: letters in capitals are mostly something else."""

_AMBIGUOUS_CODES: Final = frozenset({"ALL", "AMD", "ANG", "BAM", "CUP", "GEL", "MOP", "SOS", "TOP"})
"""Codes, and words of texts in capitals: only data may mean money by them."""
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

_KRONA_BY_COUNTRY: Final = {"se": "SEK", "no": "NOK", "dk": "DKK"}
"""Whose crown is meant, by the top-level domain of a site."""

_YEN_BY_COUNTRY: Final = {"cn": "CNY"}
"""Whose ¥ is meant, by the top-level domain of a site or the land of its language; else Japan's."""

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
"""Whose dollar or peso is meant by its bare sign, by the top-level domain of a site."""
_GROUP: Final = 3


class Price(NamedTuple):
    """An amount, and its currency where it is said."""

    amount: str
    currency: str


def parse_price(text: str, *, country: str = "") -> Price | None:
    """Read the first amount beside money, or else the first of all; None where a text has none."""
    said = text[:MAX_CHARS].translate(_ARABIC)
    match = _find_amount(said)
    if match is None:
        return None
    digits = "".join(str(int(char)) if char.isdecimal() else char for char in _SPACES.sub("", match[0]))
    amount, behind = _decimal(f"0{digits}" if digits[0] in ".," else digits), said[match.end() :]
    if _CENT_SYMBOL.match(behind) and "." not in amount:
        amount = f"{int(amount) // 100}.{int(amount) % 100:02}"
    elif (
        (cents := _CENTS_AFTER_SYMBOL.match(behind))
        and "." not in amount
        and not _CURRENCY_BEFORE.search(said[: match.start()])
    ):
        amount = f"{amount}.{cents[1]}"
    return Price(amount, parse_currency(said, country=country))


MAX_CHARS: Final = 200
_CENT_SYMBOL: Final = re.compile(r"\s?¢")
_CENTS_AFTER_SYMBOL: Final = re.compile(r"[€£](\d\d)(?![\d.,])")
"""As in 10€50."""

_CURRENCY_MARK: Final = "|".join(
    [
        *(re.escape(sign) for sign, _ in _SIGNS),
        rf"(?<![A-Za-z])(?:{'|'.join(sorted(_CURRENCIES | _FURTHER))})(?![A-Za-z])",
        _WORD.pattern,
    ]
)
_HAS_CURRENCY: Final = re.compile(_CURRENCY_MARK)
_CURRENCY_BEFORE: Final = re.compile(rf"(?:{_CURRENCY_MARK})[\s.:]*$")
_CURRENCY_AFTER: Final = re.compile(rf"(?:\s|[,.][-\u2013])*(?:{_CURRENCY_MARK})")
_RANGE_SEPARATOR: Final = re.compile(r"\s*(?:[-\u2013\u2014~]|to|bis|à|a|al|do|до|até|tot)\s*$")
_SHARE: Final = re.compile(r"\s?%")
_MINUS: Final = re.compile(r"^\s*[-\u2212]\s*$")


def _find_amount(text: str) -> re.Match[str] | None:
    """Choose: of `3 for $10` the ten, of `-20 % 80 €` the eighty, and of 10 - 20 € where it begins."""
    first: re.Match[str] | None = None
    end = 0
    for match in _AMOUNT.finditer(text):
        before = text[end : match.start()]
        end = match.end()
        if _SHARE.match(text, end) or _MINUS.search(text[: match.start()]):
            continue
        if _CURRENCY_BEFORE.search(before) or _CURRENCY_AFTER.match(text, end):
            return first if first is not None and _RANGE_SEPARATOR.match(before) else match
        first = first or match
    return first


def mentions_currency(text: str) -> bool:
    """Say whether a text bears a sign, a code or a word for money."""
    return _HAS_CURRENCY.search(text[:MAX_CHARS]) is not None


def parse_currency(text: str, *, country: str = "") -> str:
    """Give the ISO 4217 code that a text names by code or sign; empty for none."""
    for code in _CURRENCY_CODE.findall(text[:MAX_CHARS]):
        if code in _CURRENCIES or (code in _FURTHER and _CODE_NEXT_TO_NUMBER.search(text[:MAX_CHARS])):
            return str(code)
    sign, code = next(((sign, code) for sign, code in _SIGNS if sign in text[:MAX_CHARS]), ("", ""))
    if sign in {"$", "\uff04"}:
        return _DOLLAR_BY_COUNTRY.get(country, code)
    if sign in {"¥", "\uffe5"}:
        return _YEN_BY_COUNTRY.get(country, code)
    word = None if sign else _WORD.search(text[:MAX_CHARS])
    return code if word is None else _WORDS.get(word[0].lower(), _KRONA_BY_COUNTRY.get(country, ""))


_CODE_NEXT_TO_NUMBER: Final = re.compile(r"\d\s?[A-Z]{3}(?![A-Za-z])|(?<![A-Za-z])[A-Z]{3}\s?\d")


def is_ambiguous_dollar(text: str, country: str) -> bool:
    """Say whether a text says dollars without saying whose, and neither does the country."""
    bare = "$" in text and not any(sign in text for sign, _ in _SIGNS if len(sign) > 1 and "$" in sign)
    return (
        bare
        and country not in _DOLLAR_BY_COUNTRY
        and country != "us"
        and not _CURRENCY_CODE.search(text[:MAX_CHARS])
    )


def parse_currency_field(text: str) -> str:
    """Give the ISO 4217 code that a field for currencies names, by its code, sign or word; empty for none."""
    bare = text.strip()
    code = bare[:3].upper()
    if bare[3:4].isalpha() and bare.upper() not in {"EURO", "EUROS"}:
        code = ""
    return code if code in _CURRENCIES | _FURTHER | _AMBIGUOUS_CODES else parse_currency(bare)


def country_of(url: str) -> str:
    """Give the country by which a bare sign of money is read; empty where the address names none."""
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
    """Give the currency in which a land's shops mostly sell; empty where it is not known."""
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
"""Where a language without its land is mostly spoken, as far as a sign of money hangs on it."""


def country_for_prices(url: str, language: str) -> str:
    """Give the country by which a bare sign of money is read: the address's, else the language's."""
    country = country_of(url)
    if len(country) == COUNTRY_CODE_CHARS:
        return country
    tag = language.lower().replace("_", "-")
    land = tag.rpartition("-")[2]
    return land if "-" in tag and len(land) == COUNTRY_CODE_CHARS else _COUNTRY_OF_LANGUAGE.get(tag, country)


COUNTRY_CODE_CHARS: Final = 2


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
