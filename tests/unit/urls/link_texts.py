"""Strategies for texts of links: mostly plausible, sometimes hostile."""

from __future__ import annotations

from hypothesis import strategies as st

_HOSTS = st.sampled_from(
    [
        "example.org", "EXAMPLE.org.", "www.example.org:80", "www.example.org:8080", "bücher.example",
        "faß.de",
        "127.0.0.1", "0x7f.1", "[::1]", "[::FFFF:8.8.8.8]:443", "a..b", "x.", "user:pw@example.org",
        "e%78ample.org",
        "\uff11\uff12\uff17.0.0.1", "a。b", "169.254.169.254", "localhost", "xn--bcher-kva.example", "",
    ]
)  # fmt: skip

_PIECES = st.one_of(
    st.sampled_from(
        ["a", "b", "..", ".", "%2e%2E", "%41", "%7e", "%2f",
        "%C3%BC", "ü", "%", "%zz", "%%34%31", ".b", "..c", "[x]", "a b", "^",
         "{", "|", "\\", "'", '"', "\t", "\n", ";", "~", "*", "$"]
    ),
    st.text(max_size=4),
)  # fmt: skip

_PARAMETERS = st.one_of(
    st.sampled_from(
        ["a=1", "b=2", "b=1", "b", "b=", "=",
        "=1", "", "utm_source=x", "UTM_x", "%75tm_id=1", "gclid=1", "ref=y",
         "source", "Source=1", "re%66=1", "a%3D=1", "q=a+b", "q=a%20b", "x[]=1", "x%5b%5d=1", "é=ü", "a=%zz"]
    ),
    st.text(max_size=6),
)  # fmt: skip


def _joined(*parts: str) -> str:
    return "".join(parts)


_PATHS = st.lists(_PIECES, max_size=5).map("/".join)
_QUERIES = st.one_of(
    st.just(""), st.lists(_PARAMETERS, max_size=5).map(lambda pieces: "?" + "&".join(pieces))
)
_FRAGMENTS = st.sampled_from(["", "#", "#x", "#?a=1", "#/route/@x"])
_SCHEMES = st.sampled_from(["http://", "https://", "HTTP://", "//", "http:", "http:\\\\"])

PATHS = st.builds(
    lambda *parts: "".join(parts), st.sampled_from(["", "/", "//"]), _PATHS, _QUERIES, _FRAGMENTS
)

ABSOLUTE = st.builds(_joined, _SCHEMES, _HOSTS, st.just("/"), PATHS)

TEXTS = st.one_of(
    ABSOLUTE,
    PATHS,
    st.text(max_size=30),
    st.sampled_from(
        ["mailto:a@b", "javascript:x()", "file:///etc/passwd", "ftp://a/b", "\ud800", "data:,x", "tel:1"]
    ),
)
"""Any text that may occur in an href."""
