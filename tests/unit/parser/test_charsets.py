"""Which characters bytes are: mark, header, declaration, and only then the bytes themselves."""

from __future__ import annotations

import pytest

from strider.parser.core.charsets import Charset, find_charset, known_label, to_text, to_utf_8

RUSSIAN = "Широкая электрификация южных губерний даст мощный толчок подъёму сельского хозяйства. " * 3
JAPANESE = "これは日本語の文章です。文字の並びを見て、どの符号で書かれているかを判断します。" * 3
KOREAN = "이것은 한국어 문장입니다. 글자를 보고 어떤 부호로 쓰였는지 판단합니다. " * 3
CHINESE = "这是一个中文的句子。我们在这里说的是人们在网上看到的文字。不是他们自己写的。" * 3
TAIWANESE = "這是一個中文的句子。我們在這裡說的是人們在網上看到的文字。不是他們自己寫的。" * 3


@pytest.mark.parametrize(
    ("content", "content_type", "expected"),
    [
        pytest.param(
            b"\xef\xbb\xbfx", "text/html; charset=koi8-r", Charset("utf-8", "bom", 3), id="mark-wins"
        ),
        pytest.param("\ufeffx".encode("utf-16-le"), "", Charset("utf-16le", "bom", 2), id="mark-of-utf-16"),
        pytest.param(
            b"<meta charset=utf-8>",
            "text/html; charset=ISO-8859-1",
            Charset("windows-1252", "header"),
            id="header-before-meta",
        ),
        pytest.param(b"x", 'text/html; charset="UTF8"', Charset("utf-8", "header"), id="quoted-label"),
        pytest.param(
            b"<meta charset=gb2312>",
            "text/html; charset=nonsense",
            Charset("gb18030", "meta"),
            id="unknown-label-is-no-label",
        ),
        pytest.param(
            b"<META http-equiv=Content-Type content='text/html; charset=shift_jis'>",
            "text/html",
            Charset("shift_jis", "meta"),
            id="old-declaration",
        ),
        pytest.param(
            b'<?xml version="1.0" encoding="iso-8859-9"?>',
            "",
            Charset("windows-1254", "meta"),
            id="xml-declaration",
        ),
        pytest.param(
            b"<meta charset=utf-16>", "", Charset("utf-8", "meta"), id="readable-declaration-of-utf-16"
        ),
        pytest.param(
            b"<meta charset=utf-7>",
            "text/html; charset=utf-7",
            Charset("utf-8", "assumed"),
            id="utf-7-is-nobody's",
        ),
        pytest.param(
            b"<meta charset=rot13>",
            "text/html; charset=hex",
            Charset("utf-8", "assumed"),
            id="codecs-that-are-none",
        ),
        pytest.param(b"plain", "", Charset("utf-8", "assumed"), id="ascii"),
        pytest.param("größer".encode(), "", Charset("utf-8", "detected"), id="utf-8"),
        pytest.param("größer".encode("cp1252"), "", Charset("windows-1252", "assumed"), id="accents"),
        pytest.param(
            "<p>größer</p>".encode("utf-16-le"), "", Charset("utf-16le", "detected"), id="utf-16-without-mark"
        ),
        pytest.param(RUSSIAN.encode("cp1251"), "", Charset("windows-1251", "detected"), id="windows-1251"),
        pytest.param(RUSSIAN.encode("koi8-r"), "", Charset("koi8-r", "detected"), id="koi8-r"),
        pytest.param(JAPANESE.encode("shift_jis"), "", Charset("shift_jis", "detected"), id="shift-jis"),
        pytest.param(JAPANESE.encode("euc_jp"), "", Charset("euc-jp", "detected"), id="euc-jp"),
        pytest.param(KOREAN.encode("euc_kr"), "", Charset("euc-kr", "detected"), id="euc-kr"),
        pytest.param(CHINESE.encode("gb18030"), "", Charset("gb18030", "detected"), id="gb18030"),
        pytest.param(TAIWANESE.encode("big5"), "", Charset("big5", "detected"), id="big5"),
    ],
)
def test_the_strongest_evidence_decides(content: bytes, content_type: str, expected: Charset) -> None:
    assert find_charset(content, content_type) == expected


def test_a_body_cut_within_a_character_is_still_utf_8() -> None:
    """Bodies are cut at byte limits."""
    assert find_charset("a long text, größer".encode()[:-1] + "ß".encode()[:1], "") == Charset(
        "utf-8", "detected"
    )


@pytest.mark.parametrize("label", ["", "x" * 41, "idna", "unicode_escape", "undefined", "base64", "mbcs"])
def test_labels_that_mean_no_encoding_are_unknown(label: str) -> None:
    """Python knows codecs that would turn pages into something else."""
    assert known_label(label) == ""


def test_utf_8_passes_as_it_is() -> None:
    """Bytes that are no UTF-8 are replaced by who reads them, so that good ones cost nothing."""
    assert to_utf_8(b"a\xffb", Charset("utf-8", "header")) == b"a\xffb"


def test_other_encodings_become_utf_8_without_their_mark() -> None:
    content = b"\xff\xfe" + "gr\u00fcn".encode("utf-16-le")

    assert to_utf_8(content, Charset("utf-16le", "bom", 2)) == "grün".encode()


def test_what_cannot_be_decoded_is_replaced() -> None:
    assert to_text(b"a\x81", Charset("shift_jis", "meta")) == "a\ufffd"


def test_latin_1_means_what_browsers_mean() -> None:
    assert to_text(b"\x80 100", find_charset(b"", "text/html; charset=latin1")) == "€ 100"
