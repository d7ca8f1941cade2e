"""Unusual robots.txt texts, parsed by us and as Google parses them, differ only where intended.

The grammar produces what editors, servers and templates make of a robots.txt: any line ends, byte order
marks, blanks, stray bytes, escapes, wildcards anywhere. It leaves out what we parse differently on purpose:
escaped characters that need no escape (RFC 9309, 2.2.2), names with digits, NUL, HTML, a missing colon
before a value that has one (`Disallow /a:b`, which Google reads as a rule for `b`), and mistakes that only
we tolerate.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from strider.politeness import RobotsTxt
from strider.politeness.robots.decoding import decode_robots

from .google_parser import google_allows

_ENDS = st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\n\r"])
_BLANKS = st.sampled_from([b"", b"", b" ", b"\t", b"  \t", b"\v", b"\f"])
_COLONS = st.sampled_from([b":", b": ", b" : ", b"\t:\t", b" ", b"::"])
_COMMENTS = st.sampled_from([b"", b"", b"#", b" # Disallow: /", b"#/"])
_OURS = st.sampled_from([b"*", b"* ", b"foobot", b"FooBot/2.1", b"foobot*", b"foobot;", b"FOOBOT, bar"])
_OTHERS = st.sampled_from([b"*bot", b"foo", b"foobot-news", b"bar", b"'foobot'", b"", b"foobot_x", b"f"])
_SIGNS = (b"/", b"a", b"b", b"*", b"$", b"/*", b"**", b"*$", b"?", b"=", b"&", b".html", b"//", b"%2F")
_ESCAPES = (
    b"%C3%A9",
    b"%c3%a9",
    b"\xc3\xa9",
    b"%",
    b"%4",
    b"%zz",
    b";",
    b"+",
    b"%2A",
    b"%24",
    b"%2f",
    b"index.htm",
)
_PIECES = st.one_of(st.sampled_from(_SIGNS[:5]), st.sampled_from([*_SIGNS, *_ESCAPES]))
_VALUES = st.tuples(
    st.sampled_from([b"/", b"/", b"/a", b"*", b""]), st.lists(_PIECES, max_size=4).map(b"".join)
)
_DENIALS = st.sampled_from([b"Disallow", b"disallow", b"DISALLOW", b"Dissallow", b"disallowed"])
_REST = st.sampled_from(
    [b"Allow", b"allow", b"allow-x", b"Sitemap", b"Crawl-delay", b"Host", b"Noindex", b""]
)


def _rule(keys: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    value = _VALUES.map(b"".join)
    return st.tuples(_BLANKS, keys, _COLONS, value, _BLANKS, _COMMENTS, _ENDS).map(b"".join)


def _agent(names: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    # With the colon: `User Agent foobot` are three words to Google.
    keys = st.sampled_from([b"User-agent:", b"user-agent :", b"USERAGENT: ", b"User Agent:", b"user-agents:"])
    return st.tuples(_BLANKS, keys, names, _COMMENTS, _ENDS).map(b"".join)


_LINES = st.one_of(
    _rule(_DENIALS), _rule(_DENIALS), _rule(_REST), _rule(_REST), _agent(_OURS), _agent(_OTHERS)
)
_MARKS = st.sampled_from([b"", b"", b"\xef\xbb\xbf", b"\xef\xbb", b"\xef", b"\n"])
_TEXTS = st.tuples(_MARKS, _agent(st.one_of(_OURS, _OTHERS)), st.lists(_LINES, max_size=7).map(b"".join)).map(
    b"".join
)
_PATHS = st.lists(
    st.sampled_from(
        ["a", "b", "/", "a", ".html", "?", "=", "&", "%2F", "%C3%A9", ";", "index.html", ":", "+"]
    ),
    max_size=4,
).map(lambda parts: "/" + "".join(parts))


@settings(max_examples=400, deadline=None)
@given(_TEXTS, st.lists(_PATHS, min_size=1, max_size=6))
def test_odd_texts_mean_what_they_mean_to_google(content: bytes, paths: list[str]) -> None:
    robots = RobotsTxt(decode_robots(content))

    for path in paths:
        ours = robots.allows(f"http://a.test{path}", "foobot")
        assert ours is google_allows(content, "foobot", path), (content, path)
