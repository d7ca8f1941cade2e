"""SimHash: published vectors, and few different bits for similar texts."""

from __future__ import annotations

import re
from hashlib import blake2b

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strider.parser.core.content import simhash as fingerprints
from strider.parser.core.content.simhash import MAX_WORD_CHARS, hamming_distance, simhash

FOX = "The quick brown fox jumps over the lazy dog"
WORDS = [f"word{number}" for number in range(400)]


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
    """Stored hashes are compared with new ones: their meaning must never change."""
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
def test_separators_are_not_part_of_words(text: str, same: str) -> None:
    """ASCII words and others take different paths with the same result."""
    assert simhash(text) == simhash(same)


def by_definition(text: str) -> int:
    """Compute the hash by its definition, without cache or shortcuts."""
    words = {word[:MAX_WORD_CHARS] for word in re.findall(r"\w+", text.lower())}
    digests = [int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big") for word in words]
    value = sum(1 << bit for bit in range(64) if 2 * sum(one >> bit & 1 for one in digests) > len(digests))
    return value - (1 << 64) if value >> 63 else value


LETTERS = st.sampled_from(
    [*"abzAZ019_ .,'-\n\t", *"éÉßçж下次", *"\u0391\u03a3\u03c2\u212a\u0130\u0307\u2019\u2014\u3000\xa0\xb7"]
)


@given(st.lists(LETTERS | st.sampled_from(["a" * 63, "é" * 63, "Ab ", "ab "])).map("".join))
@example("\u0391\u03a3'\u0391 \u0391\u03a3 \u0391")
@example("x" * 64 + " " + "x" * 65 + "\u2019 x")
def test_short_cuts_change_nothing(text: str) -> None:
    """Pieces of the text are looked up, which are nearly always but not always words."""
    assert simhash(text) == by_definition(text)


def test_words_evicted_from_the_cache_count_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The word cache is bounded, and a text may have more words."""
    text = " ".join([*WORDS, "größe", "don\u2019t"])
    monkeypatch.setattr(fingerprints, "CACHED_WORDS", 10)
    fingerprints._digest_cache.cache_clear()

    found = [simhash(text), simhash(text)]

    assert len(fingerprints._digest_cache()) <= 10
    fingerprints._digest_cache.cache_clear()
    assert found == [by_definition(text)] * 2


def test_case_order_and_repeats_do_not_count() -> None:
    assert simhash(FOX) == simhash(f"DOG {FOX.lower()} fox, fox; fox!")


def test_it_is_a_signed_number_of_64_bits() -> None:
    assert all(-(1 << 63) <= simhash(word) < 1 << 63 for word in WORDS)
    assert {simhash(word) < 0 for word in WORDS} == {True, False}


def test_alike_texts_differ_in_few_bits_and_others_in_many() -> None:
    text = simhash(" ".join(WORDS))

    assert hamming_distance(text, simhash(" ".join([*WORDS[:-4], "a", "new", "end", "here"]))) <= 6
    assert hamming_distance(text, simhash(" ".join(f"other{number}" for number in range(400)))) >= 18
