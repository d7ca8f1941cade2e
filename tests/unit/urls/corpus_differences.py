"""Inputs of the public URL collections for which we differ from the expected result, with the reason.

`test_corpora` finds the differences again and compares them with this list; docs/urls.md contains it. After
a change: `python -m tests.unit.urls.corpus_differences` writes the table into the page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[3] / "docs" / "urls.md"
BEGIN: Final = "<!-- differences -->\n"
END: Final = "<!-- /differences -->\n"

_DIGITS: Final = "01234567890123456789012345678901234567890123456789"
_LONG_LABEL: Final = "x01234567890123456789012345678901234567890123456789012345678901"
_LONG_NAME: Final = f"{_DIGITS}.{_DIGITS}.{_DIGITS}.{_DIGITS}.{_DIGITS[:49]}"

DIFFERENCES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "A host that no name server can know (an empty label, a label over 63 or a name over 253 "
    "characters) is refused before it costs a request; WHATWG lets it pass.": {
        "urltestdata.json": ("http://./", "http://../", "http://foo.09.."),
        "toascii.json": (
            "x..xn--zca",
            "x..ß",
            f"{_LONG_LABEL}x",
            f"{_LONG_LABEL}†",
            f"{_LONG_LABEL}x.xn--zca",
            f"{_LONG_LABEL}x.ß",
            f"{_LONG_NAME}.x",
            f"{_LONG_NAME}.xn--zca",
            f"{_LONG_NAME}.ß",
        ),
    },
    "The parser refuses a label that begins with `xn--` and is no Punycode, or decodes to what may "
    "not stand there; since 2024 WHATWG lets such ASCII labels pass.": {
        "urltestdata.json": (
            "http://a.b.c.xn--pokxncvks",
            "http://10.0.0.xn--pokxncvks",
            "http://a.b.c.XN--pokxncvks",
            "http://a.b.c.Xn--pokxncvks",
            "http://10.0.0.XN--pokxncvks",
            "http://10.0.0.xN--pokxncvks",
            "file://xn--/p",
            "https://xn--/",
        ),
        "toascii.json": (
            "xn--a",
            "xn--a.xn--zca",
            "xn--ls8h=",
            "xn--1ug.example",
            "xn--a-yoc",
            "xn--zn7c.com",
            "xn--0.com",
        ),
    },
    "The parser's Unicode tables are those before version 15.1: it refuses, or maps otherwise, a few "
    "characters (capital sharp s, Mongolian vowel separator …).": {
        "toascii.json": (
            "look\u180eout.net",
            "look\u206bout.net",
            "\u04c0.com",
            "\U0002f868.com",
            "Ↄ.com",
            "ẞ.com",
            "ẞ.foo.com",
        ),
    },
    "Slashes in a row are kept: `//` in a path is another path to a server, and nothing tells us that "
    "this one answers alike.": {
        "weirdToNormalizedUrls.csv": (
            "http://foo.com//aa/bb/foo.html",
            "http://foo.com/aa//bb/foo.html",
            "http://foo.com/aa/bb//foo.html",
            "http://foo.com//aa//bb//foo.html",
            "http://foo.com////aa////bb//foo.html",
            "http://foo.com////aa////bb////foo.html",
        ),
    },
    "Only http and https have a key: other schemes are refused with a reason.": {
        "weirdToNormalizedUrls.csv": (
            "file:///foo/bar.txt",
            "ftp:/",
            "ftp://foo.com/index.html",
            "file:/path/index.html",
            "file:/var/www/html/////./bar/index.html",
            "file:/var/www/html/foo/../bar/index.html",
        ),
        "url-resolve.csv": ("//server/file",),
    },
    "A text without a host, or without a scheme and a base, is no URL (WHATWG); nothing is guessed.": {
        "weirdToNormalizedUrls.csv": ("http:////", "http:///////", "foo.com/index.html"),
    },
    "A parameter without a name but with a value is kept: form readers see it.": {
        "weirdToNormalizedUrls.csv": (
            "http://foo.com/index?&=1&a=1",
            "http://foo.com/index?=1&b=1&a=1",
        ),
    },
    "What is fetched has neither userinfo nor fragment.": {
        "url-resolve.csv": ("http://user:pass@foo:21/bar;par?b#c", "#right-menu"),
    },
}
"""Reason → collection → inputs."""


def listed(collection: str) -> set[str]:
    """Return the inputs of one collection that are known to differ."""
    return {text for lists in DIFFERENCES.values() for text in lists.get(collection, ())}


def render() -> str:
    """Return the list as in docs/urls.md."""
    lines = []
    for reason, lists in DIFFERENCES.items():
        lines.append(f"- **{reason}**")
        for collection, inputs in lists.items():
            shown = ", ".join(f"`{_shown(text)}`" for text in inputs)
            lines.append(f"  - {collection}: {shown}")
    return "\n".join(lines) + "\n"


def _shown(text: str) -> str:
    visible = "".join(letter if letter.isprintable() else f"U+{ord(letter):04X}" for letter in text)
    return visible if len(visible) <= 60 else f"{visible[:40]}…{visible[-12:]}"


def main() -> None:
    """Write the list into docs/urls.md."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}{render()}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
