"""SimHash: published vectors, and that alike texts differ in few bits."""

from __future__ import annotations

import pytest

from strider.parser.core.fingerprints import distance, simhash

FOX = "The quick brown fox jumps over the lazy dog"
WORDS = [f"word{number}" for number in range(400)]


@pytest.mark.req("S3.10.10", "S3.21.2")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "0000000000000000", id="nothing"),
        pytest.param("... --- ...", "0000000000000000", id="no words"),
        pytest.param("strider", "bb8e8ebe31807255", id="one word"),
        pytest.param(FOX, "18d0837010503817", id="a sentence"),
        pytest.param(
            "Der schnelle braune Fuchs springt über den faulen Hund", "e39becf3ae78fc86", id="accents"
        ),
        pytest.param("下一页 次へ", "508101044e30ca5b", id="no Latin"),
    ],
)
def test_published_vectors(text: str, expected: str) -> None:
    """Stored fingerprints are compared with new ones: their meaning must never change."""
    assert f"{simhash(text) & 0xFFFF_FFFF_FFFF_FFFF:016x}" == expected


@pytest.mark.parametrize(
    ("text", "same"),
    [
        pytest.param("one,two;three_3", "one two three_3", id="marks of ASCII"),
        pytest.param("ein\u2019 zwei\u3000drei\u2014vier", "ein zwei drei vier", id="other marks"),
        pytest.param("\u212aELVIN \u0130", "kelvin i", id="capitals that become ASCII"),
        pytest.param("x" * 70 + " " + "é" * 70, "x" * 64 + " " + "é" * 64, id="clipped by characters"),
        pytest.param("a\ud800b", "a b", id="half a character"),
    ],
)
def test_what_parts_words_is_no_part_of_them(text: str, same: str) -> None:
    """ASCII words and others are told apart on different ways, which must meet."""
    assert simhash(text) == simhash(same)


def test_case_order_and_repeats_do_not_count() -> None:
    assert simhash(FOX) == simhash(f"DOG {FOX.lower()} fox, fox; fox!")


def test_it_is_a_signed_number_of_64_bits() -> None:
    assert all(-(1 << 63) <= simhash(word) < 1 << 63 for word in WORDS)
    assert {simhash(word) < 0 for word in WORDS} == {True, False}


def test_alike_texts_differ_in_few_bits_and_others_in_many() -> None:
    text = simhash(" ".join(WORDS))

    assert distance(text, simhash(" ".join([*WORDS[:-4], "a", "new", "end", "here"]))) <= 6
    assert distance(text, simhash(" ".join(f"other{number}" for number in range(400)))) >= 18
