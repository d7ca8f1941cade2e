"""Dates, prices and charsets: the cases of the unit tests, and charsets of re-encoded pages."""

from __future__ import annotations

import email.utils
import gzip
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from strider.parser.core.document.charsets import guess_charset
from strider.parser.core.document.encoding_labels import canonical_encoding, declared_encoding, python_codec
from strider.parser.core.lists.timestamps import to_iso_utc
from strider.parser.core.products.prices import parse_price
from tests.unit.parser import test_odd_inputs
from tests.unit.parser.document import test_charsets
from tests.unit.parser.html import test_dates
from tests.unit.parser.lists import test_list_documents
from tests.unit.parser.products import test_extract_products

from .comparison import OWN, Candidate, Case, Read, Task, parameters

CORPORA: Final = Path(__file__).parents[4] / "shared" / "corpora"
BASE_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Supplies the parts that a text leaves out."""


def _to_utc(found: datetime | None) -> str:
    if found is None:
        return ""
    moment = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _dateutil() -> Read:
    from dateutil.parser import parse  # noqa: PLC0415  # optional

    return lambda text: _to_utc(parse(text, default=BASE_DAY.replace(tzinfo=None)))


def _dateparser() -> Read:
    from dateparser import parse  # noqa: PLC0415  # optional

    settings = {"RELATIVE_BASE": BASE_DAY.replace(tzinfo=None), "REQUIRE_PARTS": ["day", "month", "year"]}
    return lambda text: _to_utc(parse(text, settings={"PARSERS": ["timestamp", "absolute-time"], **settings}))


def _ciso8601() -> Read:
    from ciso8601 import parse_datetime  # noqa: PLC0415  # optional

    return lambda text: _to_utc(parse_datetime(text))


def dates() -> Task:
    """Texts to a moment in UTC; refused texts are cases as well."""
    expected: list[tuple[str, str]] = [
        *((text, to_iso_utc(text) if day else "") for text, day in parameters(test_dates.test_iso)),
        *parameters(test_list_documents.test_dates_of_feeds),
        *(
            (text, test_odd_inputs.MOMENT)
            for (text,) in parameters(test_odd_inputs.test_spellings_of_one_moment)
        ),
        *((text, "") for (text,) in parameters(test_odd_inputs.test_what_is_no_moment_or_two)),
    ]
    return Task(
        "Dates",
        [
            Candidate(OWN, "", lambda: to_iso_utc),
            Candidate(
                "datetime.fromisoformat", "", lambda: lambda text: _to_utc(datetime.fromisoformat(text))
            ),
            Candidate(
                "email.utils", "", lambda: lambda text: _to_utc(email.utils.parsedate_to_datetime(text))
            ),
            Candidate("ciso8601", "ciso8601", _ciso8601),
            Candidate("python-dateutil", "python-dateutil", _dateutil),
            Candidate("dateparser", "dateparser", _dateparser),
        ],
        [Case(text, lambda found, iso=iso: (found or "") == iso) for text, iso in expected],
        {
            "5,000 digits": "9" * 5_000,
            "100,000 digits": "9" * 100_000,
            "numbers and dashes": "1-" * 50_000,
            "months": "Jan " * 25_000,
            "80 characters": "1 Jan " * 13,
        },
    )


def _price_parser() -> Read:
    from price_parser import Price  # noqa: PLC0415  # optional

    def read(text: str) -> Any:
        found = Price.fromstring(text)
        return None if found.amount is None else (str(found.amount), found.currency)

    return read


def prices() -> Task:
    """Texts to the amount; currencies are not compared, since the library returns no codes."""
    test = test_extract_products.test_prices_are_read_in_whatever_land_they_were_written
    return Task(
        "Prices",
        [
            Candidate(OWN, "", lambda: parse_price),
            Candidate("price-parser", "price-parser", _price_parser),
        ],
        [Case(text, lambda found, amount=amount: found[0] == amount) for text, amount, _ in parameters(test)],
        {
            "200 digits": "9" * 200,
            "100,000 digits": "9" * 100_000,
            "digits in groups": "1 " * 50_000,
            "symbols": "$" * 100_000,
        },
    )


def _w3lib() -> Read:
    from w3lib.encoding import html_body_declared_encoding  # noqa: PLC0415  # optional

    return html_body_declared_encoding  # type: ignore[no-any-return]


def declarations() -> Task:
    """The head of a document to the encoding that it declares."""
    return Task(
        "Declared encodings",
        [Candidate(OWN, "", lambda: declared_encoding), Candidate("w3lib", "w3lib", _w3lib)],
        [
            Case(head, lambda found, label=label: _same_codec(found or "", label))
            for head, label in parameters(test_charsets.test_a_declaration_is_an_element_of_its_own)
        ],
        {"tags": b"<meta " * 100_000, "quotes": b"<a '" * 100_000, "comments": b"<!-- " * 100_000},
    )


def _same_codec(one: str, other: str) -> bool:
    names = [canonical_encoding(label.replace("big5hkscs", "big5")) for label in (one, other)]
    return names[0] == names[1]


def _charset_normalizer() -> Read:
    from charset_normalizer import from_bytes  # noqa: PLC0415  # optional

    return lambda content: getattr(from_bytes(content).best(), "encoding", "")


def _detector(module: str) -> Callable[[], Read]:
    def load() -> Read:
        detect = __import__(module).detect
        return lambda content: detect(content)["encoding"]

    return load


def _resiliparse() -> Read:
    from resiliparse.parse.encoding import detect_encoding  # noqa: PLC0415  # optional

    return lambda sample: detect_encoding(sample, html5_compatible=False)


SCRIPTS: Final = (
    ("[\u0400-\u04ff]", ("cp1251", "koi8-r")),
    ("[\u0370-\u03ff]", ("cp1253",)),
    ("[\u0590-\u05ff]", ("cp1255",)),
    ("[\u0600-\u06ff]", ("cp1256",)),
    ("[\u3040-\u30ff]", ("cp932", "euc_jp")),
    ("[\uac00-\ud7af]", ("cp949",)),
    ("[\u4e00-\u9fff]", ("gb18030",)),
    ("[\u00c0-\u024f]", ("cp1252", "cp1250")),
)
"""Legacy encodings by the letters of a text; of the last two the first that has all letters."""
SAMPLE_BYTES: Final = 16 * 1024
_SCRIPT_ELEMENT: Final = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL | re.IGNORECASE)


def _reencoded_pages() -> Iterator[tuple[bytes, str]]:
    for path in sorted([*CORPORA.glob("wcxb-dev/html/*.gz"), *CORPORA.glob("pagination/html/*.gz")]):
        try:
            text = _SCRIPT_ELEMENT.sub("", gzip.decompress(path.read_bytes()).decode())
        except UnicodeDecodeError:
            continue
        letters = "".join(re.findall("[\u00a1-\u1fff\u3040-\ud7ff]", text))
        counts = Counter({names: len(re.findall(letter, letters)) for letter, names in SCRIPTS})
        names = counts.most_common(1)[0][0] if counts.total() else SCRIPTS[-1][1]
        if names == SCRIPTS[-1][1]:
            lossless = (name for name in names if len(letters.encode(name, "ignore")) >= 0.98 * len(letters))
            names = (next(lossless, ""),)
        for name in filter(None, names):
            sample = text.encode(name, "ignore")[:SAMPLE_BYTES]
            if not sample.isascii():
                yield sample, name


def _decodes_like(name: str) -> Callable[[bytes], Callable[[Any], bool]]:
    def of(sample: bytes) -> Callable[[Any], bool]:
        wanted = sample.decode(name, "replace")

        def is_right(found: Any) -> bool:
            label = canonical_encoding(str(found or "windows-1252").replace("_", "-")) or "windows-1252"
            return sample.decode(python_codec(label), "replace") == wanted

        return is_right

    return of


def charsets() -> Task:
    """Undeclared text to its encoding: pages of the corpora in the legacy encoding of their letters."""
    return Task(
        "Charsets of undeclared pages",
        [
            Candidate(OWN, "", lambda: guess_charset),
            Candidate("charset-normalizer", "charset-normalizer", _charset_normalizer),
            Candidate("chardet", "chardet", _detector("chardet")),
            Candidate("faust-cchardet", "faust-cchardet", _detector("cchardet")),
            Candidate("resiliparse", "resiliparse", _resiliparse),
        ],
        [Case(sample, _decodes_like(name)(sample)) for sample, name in _reencoded_pages()],
        {"all bytes": bytes(range(0x80, 0x100)) * 128, "one letter": b"\xe9" * SAMPLE_BYTES},
    )
