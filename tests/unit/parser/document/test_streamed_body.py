"""Streamed sitemaps result in the same event, without being held in memory."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import cramjam
import pytest

from strider.contracts.generated.events import PageFetched, PageParsed
from strider.parser.adapters import decompression
from strider.parser.adapters.content_encoding import open_body
from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import ParseLimits
from strider.parser.core.lists.sitemap_splitter import split_lines, split_sitemap
from tests.unit.parser.pages import a_page, read

MIB = 1024 * 1024
_PIECES = (
    "<url><loc>https://site.test/a{n}</loc></url>",
    "<url>\n<loc>/b{n}?x=1&amp;y=2</loc><lastmod>2024-01-0{d}</lastmod></url>\n",
    "<!-- <url><loc>/no{n}</loc></url> -->",
    "<url><loc><![CDATA[/c{n}]]></loc><image:image><image:loc>/i.png</image:loc></image:image></url>",
    "<url><loc>/d{n}</loc><xhtml:link rel='alternate' hreflang='de' href='/de'/></url> ",
    "<url><lastmod>2024</lastmod></url>",
    "<sitemap><loc>/s{n}.xml</loc></sitemap>",
    "<![CDATA[</url>]]>",
    "<url><loc>/e{n}</loc>",
    "<x><url><loc>/f{n}</loc></url></x>",
    "<foo:url>q</foo:url>",
    "http://site.test/bare{n}",
    "<?pi </url> ?>",
    "<sm:url><sm:loc>/g{n}</sm:loc></sm:url>",
    "</url>",
    "<loc>/h{n}</loc>",
    "äß€",
    "<!DOCTYPE a [ <!ENTITY b '</url>'> ]>",
    "<url><loc>/z{n}</loc><loc>/zz{n}</loc><priority>0.{d}</priority></url>",
)


def event_fields(page: PageParsed) -> dict[str, Any]:
    record = page.to_record()
    return {name: record[name] for name in record.keys() - {"parse_us", "kind"}}


def a_broken_sitemap(chance: Random) -> str:
    """Draw a fragment of a sitemap, mostly entries."""
    often = [0.5, *(chance.random() ** 4 for _ in _PIECES[1:])]
    pieces = [
        chance.choices(_PIECES, often)[0].format(n=n, d=chance.randint(1, 9))
        for n in range(chance.randint(0, 60))
    ]
    end = chance.choice(["</urlset>", "</urlset>\n", "", "</urlset> x"])
    return f"<?xml version='1.0'?><urlset xmlns='x'>{''.join(pieces)}{end}"


def brotli(content: bytes) -> bytes:
    return bytes(cramjam.brotli.compress(content, level=2))


def zstd(content: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(content))


def raw_deflate(content: bytes) -> bytes:
    return zlib.compress(content)[2:-4]


def in_encodings(body: bytes) -> list[tuple[bytes, str]]:
    """Return a body as it may be sent, with its response headers."""
    packed = gzip.compress(body)
    return [
        (body, ""),
        (packed, "gzip"),
        (packed, ""),
        (gzip.compress(packed), "gzip"),
        (gzip.compress(body[:99]) + gzip.compress(body[99:]), "x-gzip"),
        (zlib.compress(body), "deflate"),
        (raw_deflate(body), "deflate"),
        (brotli(body), "br"),
        (zstd(body), "zstd"),
        (zstd(body[:99]) + zstd(body[99:]), "zstd"),
        (zstd(body), ""),
        (brotli(packed), "gzip, br"),
        (gzip.compress(zstd(brotli(body))), "identity, br, zstd, gzip"),
    ]


@pytest.mark.parametrize("level", ["basic", "records"])
@pytest.mark.parametrize("portion_bytes", [17, 64, 300])
def test_a_streamed_sitemap_results_in_the_same_event(
    monkeypatch: pytest.MonkeyPatch, portion_bytes: int, level: str
) -> None:
    """Requested as a page it is read as a whole; as a sitemap it is streamed, at any chunk size."""
    chance, limits = Random(portion_bytes), ParseLimits(extraction=level)
    for _ in range(12):
        text = a_broken_sitemap(chance)
        body = text.encode()
        whole = event_fields(read(body, limits=limits, content_type="", url="https://site.test/list"))
        monkeypatch.setattr(decompression, "OUTPUT_CHUNK_BYTES", portion_bytes)
        for sent, encoding in chance.sample(in_encodings(body), 4):
            page = a_page(
                sent,
                kind="sitemap",
                content_type="",
                content_encoding=encoding,
                url="https://site.test/list",
                body_bytes=len(body),
            )

            assert event_fields(make_reader(limits)(page, sent)) == whole, text
        monkeypatch.undo()


def gzipped(entry: str, *, around: tuple[str, str] = ("", "")) -> bytes:
    """Return a file of 4,000 entries of 3 KB, most of which is not the URL."""
    chance, packed = Random(1), io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
        file.write(around[0].encode())
        for number in range(4_000):
            file.write(entry.format(number, chance.randbytes(1_450).hex()).encode())
        file.write(around[1].encode())
    return packed.getvalue()


def read_and_weighed(page: PageFetched, body: bytes) -> tuple[PageParsed, float]:
    """Parse a page and return the peak memory in MiB; once before, to exclude what is allocated once."""
    reader = make_reader(ParseLimits())
    reader(page, body)
    tracemalloc.start()
    try:
        return reader(page, body), tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("entry", "around"),
    [
        pytest.param(
            "<url><loc>https://site.test/{:08}</loc><image:image><image:loc>/{}</image:loc></image:image></url>\n",
            ("<?xml version='1.0' encoding='UTF-8'?><urlset>\n", "</urlset>"),
            id="passed-over",
        ),
        pytest.param(
            "<url><loc>https://site.test/{:08}</loc><!-- a picture --><image:loc>/{}</image:loc></url>\n",
            ("<?xml version='1.0' encoding='UTF-8'?><urlset>\n", "</urlset>"),
            id="tag-by-tag",
        ),
        pytest.param("https://site.test/{:08}\n# {}\n", ("", ""), id="lines"),
    ],
)
def test_memory_goes_by_what_is_listed_not_by_how_long_the_sitemap_is(
    entry: str, around: tuple[str, str]
) -> None:
    """A sitemap of 12 MB takes the memory of its 4,000 URLs and a few chunks."""
    body = gzipped(entry, around=around)
    page = a_page(b"", kind="sitemap", content_type="", url="https://site.test/list")
    parsed, peak = read_and_weighed(page, body)

    assert (parsed.outcome, len(parsed.entry_urls)) == ("parsed", 4_000)
    assert parsed.decoded_bytes > 11 * MIB
    assert peak < 3, peak


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(
            ["<url>1</url><url>2", "</url></urlset>"],
            ["<url>1</url>", "<url>2</url>", "</urlset>"],
            id="entries",
        ),
        pytest.param(["<url>1</u", "rl><url>", "2"], ["<url>1</url>", "<url>2"], id="an-end-in-two"),
        pytest.param(["<!-- </url>", " --></url>x"], ["<!-- </url> --></url>", "x"], id="a-remark"),
        pytest.param(["<a:url>1</a:url><a:url>"], ["<a:url>1</a:url>", "<a:url>"], id="a-prefix"),
        pytest.param(["<!DOCTYPE x [</url>]>"], ["<!DOCTYPE x [</url>]>"], id="a-declaration"),
        pytest.param([], [""], id="nothing"),
    ],
)  # fmt: skip
def test_where_a_sitemap_is_cut(texts: list[str], expected: list[str]) -> None:
    assert [piece.text for piece in split_sitemap(texts)] == expected
    assert [piece.is_last for piece in split_sitemap(texts)] == [False] * (len(expected) - 1) + [True]


def test_what_can_nowhere_be_cut_is_not_looked_through_again_and_again() -> None:
    """Inspecting all buffered text for each chunk would take quadratic time."""
    texts = ["<!-- ", *(["<url></url>"] * 50_000)]

    assert [len(piece.text) for piece in split_sitemap(texts)] == [5 + 50_000 * 11]


def test_lines_are_whole_wherever_portions_end() -> None:
    assert list(split_lines(["\ufeffa", "b\ncd", "\n", "e"])) == [["ab"], ["cd"], ["e"]]


@pytest.mark.parametrize(
    ("body", "encoding", "is_opened"),
    [
        pytest.param(b"x", "", True, id="plain"),
        pytest.param(gzip.compress(b"x"), "", True, id="a-gzipped-file"),
        pytest.param(zstd(b"x"), "", True, id="a-file-in-zstd"),
        pytest.param(gzip.compress(b"x"), "gzip, gzip", True, id="twice"),
        pytest.param(b"x", "gzip," * 6, False, id="six-times"),
        pytest.param(b"x", "br, compress", False, id="unknown"),
        pytest.param(b"x" * 31, "", False, id="too-large"),
    ],
)
def test_what_can_be_had_in_portions(body: bytes, encoding: str, is_opened: bool) -> None:
    assert (open_body(body, encoding, 30) is not None) is is_opened


def frames_of_zstd(content: bytes) -> bytes:
    return b"".join(zstd(content[at : at + 9_000]) for at in range(0, len(content), 9_000))


ENCODINGS: list[tuple[Callable[[bytes], bytes], str]] = [
    (brotli, "br"),
    (zlib.compress, "deflate"),
    (raw_deflate, "deflate"),
    (lambda content: brotli(gzip.compress(content)), "gzip, br"),
    (lambda content: gzip.compress(gzip.compress(content)), "gzip"),
    (lambda content: gzip.compress(brotli(content)), "br, gzip"),
    (zstd, "zstd"),
    (frames_of_zstd, "zstd"),
    (lambda content: gzip.compress(zstd(content)), "zstd, gzip"),
    (lambda content: gzip.compress(zstd(content)), "gzip"),
    (zstd, ""),
]
NAMES = [
    "brotli",
    "zlib",
    "raw-deflate",
    "gzip-in-brotli",
    "a-gzipped-file",
    "brotli-in-gzip",
    "zstd",
    "frames-of-zstd",
    "zstd-in-gzip",
    "a-file-in-zstd-in-gzip",
    "a-file-in-zstd",
]


@pytest.mark.parametrize(("pack", "encoding"), ENCODINGS[2:], ids=NAMES[2:])
def test_no_encoding_has_a_sitemap_held(pack: Callable[[bytes], bytes], encoding: str) -> None:
    """Neither as text nor as bytes."""
    plain = gzip.decompress(gzipped("<url><loc>https://site.test/{:08}</loc><x>{}</x></url>\n"))
    body = pack(b"<urlset>" + plain + b"</urlset>")
    page = a_page(
        b"", kind="sitemap", content_encoding=encoding, content_type="", url="https://site.test/list"
    )
    parsed, peak = read_and_weighed(page, body)

    assert (parsed.outcome, len(parsed.entry_urls)) == ("parsed", 4_000)
    assert parsed.decoded_bytes > 11 * MIB
    assert peak < 4, peak


BOMB_BYTES = 24 * MIB
LIMIT = 4 * MIB


@pytest.mark.parametrize(("pack", "encoding"), ENCODINGS, ids=NAMES)
@pytest.mark.parametrize("filling", [b"\0", b"<url><loc>/a</loc></url>"], ids=["zeros", "entries"])
def test_a_bomb_in_portions_is_refused(pack: Callable[[bytes], bytes], encoding: str, filling: bytes) -> None:
    """Rejected before it is decompressed; read as a whole it is then reported as a bomb."""
    body = pack(b"<urlset>" + filling * (BOMB_BYTES // len(filling)))

    tracemalloc.start()
    try:
        stream = open_body(body, encoding, LIMIT)
        assert stream is not None
        size, largest = 0, 0
        for chunk in stream:
            size, largest = size + len(chunk), max(largest, len(chunk))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (stream.is_rejected, size <= LIMIT, largest <= MIB) == (True, True, True)
    assert peak < 2 * MIB
    whole = read(body, limits=ParseLimits(max_sitemap_bytes=LIMIT), kind="sitemap", content_encoding=encoding)
    assert whole.outcome in {"decode_bomb", "unsupported"}  # the latter is a file that cannot be decompressed


@pytest.mark.parametrize(("pack", "encoding"), ENCODINGS, ids=NAMES)
def test_what_came_before_a_break_is_read(pack: Callable[[bytes], bytes], encoding: str) -> None:
    """Half a sitemap is worth reading; the truncation is reported, whichever layer breaks."""
    chance = Random(4)
    names = [f"{chance.getrandbits(64):x}" for _ in range(40_000)]
    rows = "".join(f"<url><loc>https://site.test/{name}</loc></url>\n" for name in names)
    body = pack(f"<urlset>{rows}</urlset>".encode())
    page = a_page(b"", kind="sitemap", content_encoding=encoding, content_type="")

    parsed = make_reader(ParseLimits())(page, body[: -len(body) // 3])

    assert (parsed.outcome, parsed.truncated) == ("partly_parsed", True)
    assert 0 < len(parsed.entry_urls) < 40_000


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, br", "br, gzip"])
def test_a_wrong_encoding_results_in_the_same_event_streamed_and_as_a_whole(encoding: str) -> None:
    for body in (b"\0\xff" * 99, b"<urlset><url><loc>/a</loc></url></urlset>", b"", b"\x1f\x8b", b"\x78\x9c"):
        fields = {"content_encoding": encoding, "content_type": "application/xml"}

        streamed, whole = (event_fields(read(body, kind=kind, **fields)) for kind in ("sitemap", "page"))

        assert streamed == whole
