"""What does the label of an encoding mean?

What the WHATWG Encoding Standard says it means (`latin1` is windows-1252), and where it says nothing what
Python's codecs know. Looks at no page.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Final

MAX_LABEL_CHARS: Final = 40

_ALIASES: Final = {
    "windows-1252": (
        "ascii us-ascii ansi_x3.4-1968 iso-8859-1 iso_8859-1 iso_8859-1:1987 iso-ir-100 latin1 latin-1 l1"
        " csisolatin1 cp819 ibm819 x-user-defined cp1252 ansi"
    ),
    "windows-1254": "iso-8859-9 iso_8859-9 iso_8859-9:1989 iso-ir-148 latin5 l5 csisolatin5",
    "windows-874": "tis-620 tis620 iso-8859-11 dos-874",
    "utf-8": "utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8 utf-8-sig utf8mb4",
    "gb18030": "gbk gb2312 gb_2312 gb_2312-80 x-gbk chinese csgb2312 csiso58gb231280 iso-ir-58",
    "shift_jis": "sjis x-sjis ms_kanji shift-jis windows-31j ms932 csshiftjis",
    "euc-kr": (
        "ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 korean windows-949 cseuckr csksc56011987 iso-ir-149"
    ),
    "big5": "big5-hkscs cn-big5 x-x-big5 csbig5",
    "euc-jp": "x-euc-jp cseucpkdfmtjapanese",
    "koi8-r": "koi koi8 koi8_r",
    "koi8-u": "koi8-ru",
    "iso-8859-6": "iso-8859-6-e iso-8859-6-i csiso88596e csiso88596i",
    "iso-8859-7": "sun_eu_greek",
    "iso-8859-8": "iso-8859-8-e iso-8859-8-i csiso88598e csiso88598i visual logical",
    "iso-8859-15": "csisolatin9",
    "macintosh": "mac x-mac-roman csmacintosh",
    "x-mac-cyrillic": "x-mac-ukrainian",
    "utf-16le": "utf-16 ucs-2 unicode unicodefeff csunicode iso-10646-ucs-2",
    "utf-16be": "unicodefffe",
}
_LABELS: Final = {label: name for name, labels in _ALIASES.items() for label in labels.split()}
_CODECS: Final = {
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
}
"""Where Python's codec of that name knows less than the browsers' one, or has another name."""

_NOT_ENCODINGS: Final = frozenset(
    {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "mbcs", "oem"}
)
"""What Python calls text encodings and no page is written in."""

_SHORT_ISO: Final = re.compile(r"^iso-?8859-?(\d{1,2})$")
_SHORT_WINDOWS: Final = re.compile(r"^x-cp(\d{3,4})$")


@lru_cache(maxsize=256)
def canonical_encoding(label: str) -> str:
    """Give the name that a label stands for; empty where it stands for nothing that we can decode."""
    lower = label.strip().lower()
    if not lower or len(lower) > MAX_LABEL_CHARS or "utf-7" in lower or "utf7" in lower:
        return ""  # UTF-7 smuggles markup past filters, and no browser reads it
    full = _SHORT_WINDOWS.sub(r"windows-\1", _SHORT_ISO.sub(r"iso-8859-\1", lower))
    name = _LABELS.get(full, full)
    try:
        found = codecs.lookup(python_codec(name))
    except (LookupError, ValueError):
        return ""
    # Python also knows codecs that are no character encodings (rot13, hex, idna, punycode).
    is_text = found._is_text_encoding  # noqa: SLF001  # nothing public says it
    return name if is_text and found.name.replace("_", "-") not in _NOT_ENCODINGS else ""


def python_codec(name: str) -> str:
    """Name Python's codec for what a label stands for."""
    return _CODECS.get(name, name)
