"""Content encodings are decoded within limits, and incomplete bodies are reported."""

from __future__ import annotations

import bz2
import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial

import cramjam
import pytest

from strider.parser.adapters.content_encoding import unpack
from strider.parser.adapters.decompression import MAX_WINDOW_LOG
from strider.parser.adapters.decompression import zstd as standard_zstd
from strider.parser.core import DecodedBody, ParseFailure

MIB = 1024 * 1024
LIMIT = 10 * MIB
TEXT = b"<p>" + b"".join(b"word %d " % number for number in range(4_000))


def brotli(content: bytes) -> bytes:
    return bytes(cramjam.brotli.compress(content, level=5))  # its usual 11 takes seconds for a bomb


def zstd(content: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(content))


def zstd_reaching(window_log: int, content: bytes) -> bytes:
    """Compress with a window of this size; a stream written in chunks does not state its length."""
    pack = standard_zstd.ZstdCompressor(options={standard_zstd.CompressionParameter.window_log: window_log})
    return pack.compress(content) + pack.flush()


def raw_deflate(content: bytes) -> bytes:
    return zlib.compress(content)[2:-4]


def stacked(content: bytes, times: int) -> bytes:
    for _ in range(times):
        content = gzip.compress(content)
    return content


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        pytest.param(TEXT, "", id="none"),
        pytest.param(TEXT, "identity", id="identity"),
        pytest.param(gzip.compress(TEXT), "gzip", id="gzip"),
        pytest.param(gzip.compress(TEXT), " X-GZIP ", id="old-name"),
        pytest.param(gzip.compress(TEXT[:900]) + gzip.compress(TEXT[900:]), "gzip", id="two-members"),
        pytest.param(gzip.compress(TEXT) + b"\0" * 12, "gzip", id="padding-behind"),
        pytest.param(zlib.compress(TEXT), "deflate", id="deflate"),
        pytest.param(raw_deflate(TEXT), "deflate", id="raw-deflate"),
        pytest.param(brotli(TEXT), "br", id="brotli"),
        pytest.param(zstd(TEXT), "zstd", id="zstd"),
        pytest.param(zstd(TEXT[:900]) + zstd(TEXT[900:]), "zstd", id="two-frames"),
        pytest.param(
            b"\x5a\x2a\x4d\x18\x02\0\0\0ab" + zstd(TEXT) + b"\0" * 12, "zstd", id="beside-the-frame"
        ),
        pytest.param(zstd_reaching(MAX_WINDOW_LOG, TEXT), "zstd", id="the-largest-window"),
        pytest.param(brotli(gzip.compress(TEXT)), "gzip, br", id="one-within-the-other"),
        pytest.param(stacked(TEXT, 5), "gzip,gzip,gzip,gzip,gzip", id="five"),
        pytest.param(TEXT, "gzip", id="label-without-encoding"),
        pytest.param(TEXT, "compress", id="unknown-label-on-plain-text"),
        pytest.param(b"", "gzip", id="no-body"),
        pytest.param(gzip.compress(TEXT), '"gzip";q=1', id="quoted-and-weighed"),
        pytest.param(gzip.compress(TEXT), "br", id="gzip-labelled-as-brotli"),
        pytest.param(zstd(TEXT), "x-gzip", id="zstd-labelled-as-gzip"),
        pytest.param(gzip.compress(TEXT), "compress", id="gzip-with-an-unknown-label"),
    ],
)
def test_encodings_are_undone(body: bytes, encoding: str) -> None:
    assert unpack(body, encoding, LIMIT) == DecodedBody(TEXT if body else b"")


@pytest.mark.parametrize(
    ("body", "encoding", "outcome", "error_class"),
    [
        pytest.param(b"\x00\xff" * 99, "gzip", "undecodable", "bad_encoding", id="not-gzip"),
        pytest.param(b"\x00\xff" * 99, "br", "undecodable", "bad_encoding", id="not-brotli"),
        pytest.param(b"\x00\xff" * 99, "zstd", "undecodable", "bad_encoding", id="not-zstd"),
        pytest.param(b"\x00\xff" * 99, "deflate", "undecodable", "bad_encoding", id="not-deflate"),
        pytest.param(
            zstd_reaching(MAX_WINDOW_LOG + 1, TEXT), "zstd", "undecodable", "bad_encoding", id="a-wide-window"
        ),
        pytest.param(bz2.compress(TEXT), "bzip2", "undecodable", "bad_encoding", id="unknown"),
        pytest.param(gzip.compress(TEXT)[:5], "gzip", "undecodable", "bad_encoding", id="cut-in-the-head"),
        pytest.param(stacked(TEXT, 6), ",".join(["gzip"] * 6), "undecodable", "too_many_encodings", id="six"),
        pytest.param(b"x" * 101, "", "too_large", "", id="plain-and-large"),
    ],
)
def test_an_undecodable_body_is_reported(body: bytes, encoding: str, outcome: str, error_class: str) -> None:
    limit = 100 if not encoding else LIMIT

    found = unpack(body, encoding, limit)

    assert isinstance(found, ParseFailure)
    assert (found.outcome, found.error_class) == (outcome, error_class)


@pytest.mark.parametrize(
    ("pack", "cut"),
    [
        pytest.param(gzip.compress, 40, id="within-the-data"),
        pytest.param(gzip.compress, 8, id="without-the-checksum"),
        pytest.param(brotli, 40, id="brotli"),
        pytest.param(lambda text: zstd(text[:20_000]) + zstd(text[20_000:]), 40, id="a-frame-of-zstd"),
    ],
)
def test_what_came_before_a_break_is_kept(pack: Callable[[bytes], bytes], cut: int) -> None:
    """Half a page is parsed and marked as incomplete."""
    encoding = {gzip.compress: "gzip", brotli: "br"}.get(pack, "zstd")
    found = unpack(pack(TEXT)[:-cut], encoding, LIMIT)

    assert isinstance(found, DecodedBody)
    assert not found.is_whole
    assert TEXT.startswith(found.content)
    assert len(found.content) > len(TEXT) // 2


BOMB_BYTES = 64 * MIB


def many_members(content: bytes) -> bytes:
    return gzip.compress(content[:MIB]) * (len(content) // MIB)


@pytest.mark.parametrize(
    ("pack", "encoding"),
    [
        pytest.param(gzip.compress, "gzip", id="gzip"),
        pytest.param(zlib.compress, "deflate", id="deflate"),
        pytest.param(raw_deflate, "deflate", id="raw-deflate"),
        pytest.param(brotli, "br", id="brotli"),
        pytest.param(zstd, "zstd", id="zstd"),
        pytest.param(partial(stacked, times=2), "gzip, gzip", id="nested"),
        pytest.param(many_members, "gzip", id="many-members"),
    ],
)
def test_a_bomb_is_stopped_before_it_unfolds(pack: Callable[[bytes], bytes], encoding: str) -> None:
    body = pack(bytes(BOMB_BYTES))

    tracemalloc.start()
    try:
        found = unpack(body, encoding, LIMIT)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert isinstance(found, ParseFailure)
    assert found.outcome == "decode_bomb"
    assert peak < 3 * LIMIT


@pytest.mark.parametrize("pack", [gzip.compress, brotli, zstd], ids=["gzip", "brotli", "zstd"])
def test_a_dense_megabyte_is_no_bomb(pack: Callable[[bytes], bytes]) -> None:
    """The ratio counts only above a minimal output."""
    content = b" " * (MIB - 1)

    assert unpack(pack(content), pack_name(pack), LIMIT) == DecodedBody(content)


def pack_name(pack: Callable[[bytes], bytes]) -> str:
    return {brotli: "br", zstd: "zstd"}.get(pack, "gzip")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_text_with_a_wrong_label_is_never_decoded_by_its_label(encoding: str) -> None:
    """`{` alone is an empty stream of brotli, and `[` may begin one."""
    for text in (b'{"a": 1}', b"[1, 2, 3]", b"<p>" * 5_000, b"{" * 5_000, b" \n[[" + b"[]" * 5_000):
        assert unpack(text, encoding, LIMIT) == DecodedBody(text), text[:9]


def test_many_members_are_weighed_together() -> None:
    """The output of earlier members is not that of the last one."""
    member = b"".join(b"word %d " % number for number in range(20_000))

    assert unpack(gzip.compress(member) * 40, "gzip", LIMIT) == DecodedBody(member * 40)
