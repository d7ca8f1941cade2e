"""Parse a date, time and zone from free text in many languages.

Reads dates with month names in the languages of common pages and feeds, numeric dates where only one order is
possible, times with a.m. and p.m., zones by name and by offset. Nothing is guessed: the day of 05/03/2024 is
ambiguous, so it is not parsed.
"""

# ruff: noqa: RUF001  # letters of other scripts are what this is about

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class ParsedDate(NamedTuple):
    """A date in the precision of its text."""

    year: int
    month: int
    day: int
    time: tuple[int, int, int] | None
    utc_offset_minutes: int | None
    """Minutes ahead of UTC; None if there is no zone, or an unknown one."""


MAX_DATE_CHARS: Final = 80

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            *(
                "jan ene gen ian янв січ ιαν oca sty led tammi ledna يناير",
                "feb fév fev фев φεβ şub úno helmi",
            ),
            *(
                "mar mär mrt maa mär már bře μαρ мар бер maalis مارس",
                "apr avr abr ápr kwi nis dub απρ апр huhti",
            ),
            *(
                "may mai maj mag mei máj kvě май мая тра μαΐ μαι μάι touko مايو",
                "jun juin giu iun červn cze haz",
            ),
            *(
                "jul juil lug iul lip lipc července červenec tem июл ιουλ heinä يوليو",
                "aug aoû ago ağu sie srp авг",
            ),
            *(
                "sep set szept wrz eyl zář сен вер σεπ syys سبتمبر",
                "oct okt ott out eki paź říj окт жов οκτ loka",
            ),
            *(
                "nov noi kas лис ноя νοέ νοε marras نوفمبر",
                "dec déc dic dez des dek gru ara pros дек δεκ joulu",
            ),
        ),
        start=1,
    )
    for name in names.split()
} | {
    "lis": 11,
    "лист": 11,
    "فبراير": 2,
    "أبريل": 4,
    "ابريل": 4,
    "يونيو": 6,
    "أغسطس": 8,
    "أكتوبر": 10,
    "ديسمبر": 12,
    "лют": 2,
    "lut": 2,
    "кві": 4,
    "июн": 6,
    "чер": 6,
    "ιουν": 6,
    "kesä": 6,
    "červen": 6,
    "лип": 7,
    "сер": 8,
    "αυγ": 8,
    "elo": 8,
    "гру": 12,
    "kası": 11,
}
"""Month numbers by the first letters of a name; longer prefixes are matched first."""

_LONGEST_MONTH: Final = max(map(len, _MONTHS))
_SHORTEST_MONTH: Final = 3

_ZONES: Final = {
    "z": 0,
    "ut": 0,
    "utc": 0,
    "gmt": 0,
    "wet": 0,
    "bst": 60,
    "cet": 60,
    "west": 60,
    "wat": 60,
    "met": 60,
    "cest": 120,
    "mez": 60,
    "mesz": 120,
    "eet": 120,
    "sast": 120,
    "cat": 120,
    "eest": 180,
    "msk": 180,
    "eat": 180,
    "trt": 180,
    "gst": 240,
    "pkt": 300,
    "ist": 330,
    "ict": 420,
    "wib": 420,
    "sgt": 480,
    "hkt": 480,
    "pht": 480,
    "awst": 480,
    "jst": 540,
    "kst": 540,
    "acst": 570,
    "aest": 600,
    "acdt": 630,
    "aedt": 660,
    "nzst": 720,
    "nzdt": 780,
    "brt": -180,
    "adt": -180,
    "ast": -240,
    "edt": -240,
    "est": -300,
    "cdt": -300,
    "cst": -360,
    "mdt": -360,
    "mst": -420,
    "pdt": -420,
    "pst": -480,
    "akdt": -480,
    "akst": -540,
    "hst": -600,
    "at": -240,
    "et": -300,
    "ct": -360,
    "mt": -420,
    "pt": -480,
}
"""Zone abbreviations to minutes ahead of UTC; ambiguous ones stand for the most common zone."""

_LETTERS: Final = "|".join(sorted((name for name in _ZONES if len(name) > 2), key=len, reverse=True))  # noqa: PLR2004
_PM: Final = "下午|午後|晚上|오후"
_AM: Final = "上午|午前|오전"
_CLOCK: Final = re.compile(
    rf"(?:(?P<before>{_PM}|{_AM})\s*)?(?<![\d:])(?P<hour>\d{{1,2}})(?:[:h]|\s?시\s?)(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:[.,]\d+)?)?(?![\d:])(?:\s*(?P<half>[ap])\.?\s?m\b\.?)?"
    rf"(?:\s*(?P<zone>(?:{_LETTERS})\b|[zZ]\b|(?-i:[ACEMP]T|UT)\b))?"
    r"(?:\s?\(?(?:UTC|GMT)?(?P<sign>[+\u2212-])(?P<hours>\d{1,2})(?::?(?P<minutes>[0-5]\d))?(?!\d))?",
    re.IGNORECASE,
)
_WORD: Final = r"(?P<month>[^\W\d_]{3,14})"
_WORD_SEPARATOR: Final = r"[\s.,]*(?:(?:de|del|of)\b|d['\u2019])?\s*"
_NUMERIC_FORMS: Final = (
    re.compile(
        r"(?<!\d)(?P<year>\d{4})\s?[-/.年년]\s?(?P<month>\d{1,2})\s?[-/.月월]\s?(?P<day>\d{1,2})(?!\d)"
    ),
    re.compile(r"(?<!\d)(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})(?!\d)"),
)
_NAMED_MONTH_FORMS: Final = (
    # 1 January 2004; 1er janvier 2004; 1 de enero de 2004; 01-Jan-04
    re.compile(
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|º)?(?:{_WORD_SEPARATOR}|-){_WORD}"
        rf"(?:{_WORD_SEPARATOR}|-)(?P<year>(?<!-)\d{{4}}|(?<=[\w.,]-)\d{{4}}|\d\d)(?!\d)"
    ),
    # January 1, 2004
    re.compile(rf"{_WORD}\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?,?\s+(?P<year>\d{{4}})(?!\d)"),
    # 2004. január 1.
    re.compile(rf"(?<!\d)(?P<year>\d{{4}})\.?\s+{_WORD}\.?\s+(?P<day>\d{{1,2}})(?!\d)"),
)
_AMBIGUOUS_ORDER: Final = re.compile(r"(?<!\d)(\d{1,2})([/-])(\d{1,2})\2(\d{4})(?!\d)")
_CENTURY_PIVOT: Final = 70
"""Years of two digits below this belong to the current century."""

_NOON: Final = 12


def parse_date_text(text: str) -> ParsedDate | None:
    """Return the first date in a short text; None if there is none."""
    normalized = " ".join(text[:MAX_DATE_CHARS].split())
    if not normalized.isascii():
        normalized = "".join(str(int(char)) if char.isdecimal() else char for char in normalized)
    time = _CLOCK.search(normalized)
    days = normalized if time is None else f"{normalized[: time.start()]} {normalized[time.end() :]}"
    day = next(_days(days), None)
    if day is None:
        return None
    return ParsedDate(*day, *((None, None) if time is None else _time_of(time)))


def _days(text: str) -> Iterator[tuple[int, int, int]]:
    for form in _NUMERIC_FORMS:
        if match := form.search(text):
            yield int(match["year"]), int(match["month"]), int(match["day"])
    for form in _NAMED_MONTH_FORMS:
        for match in form.finditer(text):
            if month := _month_number(match["month"]):
                yield _full_year(match["year"]), month, int(match["day"])
    if match := _AMBIGUOUS_ORDER.search(text):
        first, second = int(match[1]), int(match[3])
        if first > _NOON >= second:  # cannot be a month
            yield int(match[4]), second, first
        elif second > _NOON >= first or first == second:
            yield int(match[4]), first, second


def _month_number(name: str) -> int:
    lower = name.lower()
    lengths = range(min(len(lower), _LONGEST_MONTH), _SHORTEST_MONTH - 1, -1)
    return next((_MONTHS[lower[:size]] for size in lengths if lower[:size] in _MONTHS), 0)


def _full_year(text: str) -> int:
    year = int(text)
    if len(text) > 2:  # noqa: PLR2004  # two digits are short for more
        return year
    return year + (2_000 if year < _CENTURY_PIVOT else 1_900)


def _time_of(match: re.Match[str]) -> tuple[tuple[int, int, int] | None, int | None]:
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    half, before = (match["half"] or "").lower(), match["before"] or ""
    is_late = half == "p" or (before != "" and before in _PM)
    is_early = half == "a" or (before != "" and before in _AM)
    if hour <= _NOON and (is_late or is_early):
        hour = hour % _NOON + (_NOON if is_late else 0)
    offset = _ZONES[match["zone"].lower()] if match["zone"] else None
    if match["sign"] and offset in {None, 0}:
        hours = int(match["hours"])
        distance = 60 * hours + int(match["minutes"] or 0)
        offset = distance if match["sign"] == "+" else -distance
    return (hour, minute, min(second, 59)), offset
