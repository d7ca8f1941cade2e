"""Charset detection: byte order mark, header, declaration, then the bytes."""

# ruff: noqa: RUF001  # letters of other scripts are what this is about

from __future__ import annotations

import pytest
import webencodings

from strider.parser.core.document.charsets import Charset, detect_charset, guess_charset, to_text, to_utf8
from strider.parser.core.document.encoding_labels import canonical_encoding, declared_encoding, python_codec
from tests.processor_cost import assert_cheap

RUSSIAN = "Широкая электрификация южных губерний даст мощный толчок подъёму сельского хозяйства. " * 3
JAPANESE = "これは日本語の文章です。文字の並びを見て、どの符号で書かれているかを判断します。" * 3
KOREAN = "이것은 한국어 문장입니다. 글자를 보고 어떤 부호로 쓰였는지 판단합니다. " * 3
CHINESE = "这是一个中文的句子。我们在这里说的是人们在网上看到的文字。不是他们自己写的。" * 3
TAIWANESE = "這是一個中文的句子。我們在這裡說的是人們在網上看到的文字。不是他們自己寫的。" * 3


GREEK = "Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί και χάνεται μέσα στο δάσος. "
HEBREW = "השועל החום המהיר קופץ מעל הכלב העצלן ונעלם בתוך היער הגדול שליד הבית. "
ARABIC = "الثعلب البني السريع يقفز فوق الكلب الكسول ويختفي في الغابة الكبيرة بالقرب من البيت. "
THAI = "สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจแล้วหายเข้าไปในป่าใหญ่ใกล้บ้าน "
UKRAINIAN = "Швидка руда лисиця стрибає через ледачого собаку і зникає у великому лісі біля дому. "
BULGARIAN = "Бързата кафява лисица прескача мързеливото куче и изчезва в голямата гора до къщата. "


@pytest.mark.parametrize(
    ("text", "codec", "name"),
    [
        pytest.param(GREEK, "cp1253", "windows-1253", id="greek"),
        pytest.param(HEBREW, "cp1255", "windows-1255", id="hebrew"),
        pytest.param(ARABIC, "cp1256", "windows-1256", id="arabic"),
        pytest.param(THAI, "cp874", "windows-874", id="thai"),
        pytest.param(UKRAINIAN, "cp1251", "windows-1251", id="ukrainian"),
        pytest.param(BULGARIAN, "cp1251", "windows-1251", id="bulgarian"),
        pytest.param(RUSSIAN, "koi8-r", "koi8-r", id="russian"),
        pytest.param("Příliš žluťoučký kůň úpěl ďábelské ódy. ", "cp1250", "windows-1252", id="czech"),
    ],
)
def test_alphabets_are_distinguished_by_bytes_alone(text: str, codec: str, name: str) -> None:
    """Most bytes of one alphabet are letters of another: only the frequent letters distinguish them."""
    for length in (40, 80, 800):
        content = f"<p>{(text * 10)[:length]}".encode(codec)

        assert detect_charset(content, "text/html").name == name


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xff" * 16_384, id="one-byte"),
        pytest.param(bytes(range(0x80, 0x100)) * 128, id="all-bytes"),
        pytest.param("Příliš žluťoučký kůň úpěl ďábelské ódy. ".encode("cp1250") * 100, id="accents"),
        pytest.param("Größe, Füße, Übermaß, straße. ".encode("cp1252") * 100, id="umlauts"),
    ],
)
def test_bytes_without_a_script_of_their_own_are_not_guessed(content: bytes) -> None:
    assert guess_charset(content) == ""


@pytest.mark.parametrize(
    ("head", "label"),
    [
        pytest.param(b"<!-- <meta charset=koi8-r> --><meta charset=big5>", "big5", id="comment"),
        pytest.param(
            b'<meta name=description content="charset=koi8-r, and so on"><meta charset=big5>',
            "big5",
            id="words-of-a-description",
        ),
        pytest.param(b'<a title="<meta charset=koi8-r>"><meta charset=big5>', "big5", id="in-a-value"),
        pytest.param(
            b"<META content='text/html;charset=big5' http-equiv=Content-Type>", "big5", id="turned-round"
        ),
        pytest.param(b'<meta name="x" data-charset="koi8-r" charset = "big5" />', "big5", id="other-names"),
        pytest.param(b"<meta itemprop=a content=b><meta charset='big5'>", "big5", id="second"),
        pytest.param(b"<!-- <meta charset=koi8-r>", "", id="comment-without-end"),
        pytest.param(b'<p>encoding="koi8-r" <?xml encoding="koi8-r"?>', "", id="not-at-the-beginning"),
        pytest.param(b'\n<?xml version="1.0" encoding="big5" ?><html>', "big5", id="xml"),
        pytest.param(b"<meta " * 700, "", id="no-end"),
        pytest.param(b"<a '" * 2_000 + b"<meta charset=big5>", "", id="quotes-without-end"),
        pytest.param(b"<p title='it's><p x=\"><meta charset=big5>", "big5", id="unpaired-quotes"),
        pytest.param(b"<a <b <c><meta charset=big5>", "big5", id="tags-without-end"),
    ],
)
def test_a_declaration_is_an_element_of_its_own(head: bytes, label: str) -> None:
    """Like in browsers; comments and the values of other attributes declare nothing."""
    assert declared_encoding(head) == label


@pytest.mark.parametrize("part", [b"<a", b"<meta ", b'<meta "', b"<!", b"<!-- ", b"<a \"'"])
def test_the_search_for_a_declaration_takes_time_by_the_length_of_the_text(part: bytes) -> None:
    """A missing end must not be searched for again from each start."""
    head = part * 4_000 + b"<meta "

    assert assert_cheap(lambda: {declared_encoding(head) for _ in range(100)}, yardsticks=150) == {""}


@pytest.mark.parametrize(
    ("label", "name"),
    [
        *(("iso_8859-1", "windows-1252"), ("cp819", "windows-1252"), ("iso88591", "windows-1252")),
        *(("x-cp1250", "windows-1250"), ("iso-8859-8-i", "iso-8859-8"), ("x-mac-cyrillic", "x-mac-cyrillic")),
        *(("csISO88596E", "iso-8859-6"), ("iso885915", "iso-8859-15"), ("unicodeFFFE", "utf-16be")),
        *(("iso885911", "windows-874"), ("csBig5", "big5"), ("iso-ir-149", "euc-kr"), ("x-cp", "")),
        *(("latin2", "iso-8859-2"), ("CP1251", "windows-1251"), ("866", "ibm866"), ("greek8", "iso-8859-7")),
        *(("cyrillic", "iso-8859-5"), ("l6", "iso-8859-10"), ("cskoi8r", "koi8-r"), ("gbk", "gb18030")),
        *(("csiso2022jp", "iso-2022-jp"), ("iso-88592", "iso-8859-2"), ("x-user-defined", "windows-1252")),
    ],
)
def test_labels_resolve_as_in_the_standard(label: str, name: str) -> None:
    assert canonical_encoding(label) == name


@pytest.mark.parametrize(
    ("label", "name"),
    [("utf8mb4", "utf-8"), ("ansi", "windows-1252"), ("hz", "hz"), ("iso-2022-kr", "iso-2022-kr")],
)
def test_labels_beyond_the_standard_resolve_where_they_can_be_decoded(label: str, name: str) -> None:
    """Browsers refuse two Chinese and Korean encodings, in which some old pages are written."""
    assert canonical_encoding(label) == name


@pytest.mark.parametrize("label", sorted(webencodings.LABELS))
def test_text_with_any_label_of_the_standard_is_decoded(label: str) -> None:
    is_refused = label in {"replacement", "iso-2022-cn", "iso-2022-cn-ext"}
    name = canonical_encoding(label)

    assert bool(name) is not is_refused
    assert is_refused or to_text("x".encode(python_codec(name)), Charset(name, "header")) == "x"


def test_text_wrongly_declared_as_utf_8_keeps_its_letters() -> None:
    """Otherwise all letters would be lost, and no other reading could be worse."""
    content = "<meta charset=utf-8><p>Café, façade, Ünïcöde, naïve, garçon, señor".encode("cp1252")

    assert detect_charset(content, "") == Charset("windows-1252", "assumed")


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
            id="utf-7-is-never-used",
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
    assert detect_charset(content, content_type) == expected


def test_a_body_cut_within_a_character_is_still_utf_8() -> None:
    """Bodies are truncated at byte limits."""
    assert detect_charset("a long text, größer".encode()[:-1] + "ß".encode()[:1], "") == Charset(
        "utf-8", "detected"
    )


@pytest.mark.parametrize("label", ["", "x" * 41, "idna", "unicode_escape", "undefined", "base64", "mbcs"])
def test_labels_that_mean_no_encoding_are_unknown(label: str) -> None:
    """Python has codecs that would turn pages into something else."""
    assert canonical_encoding(label) == ""


def test_utf_8_passes_as_it_is() -> None:
    """Invalid UTF-8 is replaced by the HTML parser, so that valid bodies cost nothing."""
    assert to_utf8(b"a\xffb", Charset("utf-8", "header")) == b"a\xffb"


def test_other_encodings_become_utf_8_without_their_mark() -> None:
    content = b"\xff\xfe" + "gr\u00fcn".encode("utf-16-le")

    assert to_utf8(content, Charset("utf-16le", "bom", 2)) == "grün".encode()


def test_what_cannot_be_decoded_is_replaced() -> None:
    assert to_text(b"a\x81", Charset("shift_jis", "meta")) == "a\ufffd"


def test_latin_1_means_what_browsers_mean() -> None:
    assert to_text(b"\x80 100", detect_charset(b"", "text/html; charset=latin1")) == "€ 100"
