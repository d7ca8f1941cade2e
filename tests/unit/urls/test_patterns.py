"""Patterns of a crawl spec stay within one limit of work, whatever is written in them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
import re2  # type: ignore[import-untyped]  # the wheel has no types
from hypothesis import given, settings
from hypothesis import strategies as st

from strider.urls.pattern_size import expression_size
from strider.urls.patterns import (
    MAX_PROGRAM_SIZE,
    InvalidPattern,
    SpecPatterns,
    compile_patterns,
)
from tests.figures import record_figure
from tests.processor_cost import cpu_seconds, yardstick_seconds

LONG_URL = "http://a.test/" + "a" * 2034
ATOMS = [
    "a",
    "b",
    "/",
    ".",
    "[ab]",
    "[^/]",
    "[a-z0-9-]",
    r"\w",
    r"\W",
    r"\d",
    r"\b",
    "[[:^alnum:]]",
    r"\Q.*\E",
]
WORST = [
    pytest.param(r"re:\pL{30}", id="a-unicode-class"),
    pytest.param(r"re:(?i)[\pL\PN]", id="a-folded-unicode-class"),
    pytest.param("re:(((.{0,10}a){0,10}){0,10})b", id="nested-repetitions"),
    pytest.param("re:" + ".{0,999}" * 60, id="a-line-of-repetitions"),
    pytest.param("re:((a{100}){100}){100}", id="a-product-of-repetitions"),
    pytest.param("re:" + r"[acegikmoqsuwyACEGIKMOQSUWY02468]{0,500}", id="a-class-of-many-ranges"),
]


def compiled(include: Sequence[str] = (), exclude: Sequence[str] = ()) -> SpecPatterns:
    patterns = compile_patterns(include, exclude)
    assert isinstance(patterns, SpecPatterns), patterns
    return patterns


def sentence(include: Sequence[str] = (), exclude: Sequence[str] = ()) -> str:
    patterns = compile_patterns(include, exclude)
    assert isinstance(patterns, InvalidPattern), patterns
    return patterns.sentence()


def expressions() -> st.SearchStrategy[str]:
    """Valid and invalid expressions, with groups, alternatives and repetitions."""
    repeats = st.sampled_from(["", "", "*", "+?", "{3}", "{0,20}", "{2,900}", "{,2}", "{1,}"])

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        group = st.builds("({}|{})".format, inner, inner) | st.builds("(?i:{})".format, inner)
        return st.lists(st.builds(str.__add__, group | inner, repeats), max_size=4).map("".join)

    return st.recursive(st.sampled_from(ATOMS), extend, max_leaves=12) | st.text(
        "a()[]{}|\\QE^*?,9", max_size=12
    )


@pytest.mark.fault("A1")
@pytest.mark.parametrize("pattern", WORST)
def test_a_pattern_that_is_expensive_to_compile_is_refused_at_once(pattern: str) -> None:
    """RE2's limit of memory alone lets 8 characters cost 14 ms."""
    seconds = min(cpu_seconds(partial(compile_patterns, [f"{pattern}{number}"])) for number in range(3))

    assert isinstance(compile_patterns([pattern]), InvalidPattern)
    assert seconds < 1.5 * yardstick_seconds()


@pytest.mark.fault("A1")
@pytest.mark.parametrize(
    "patterns",
    [
        pytest.param(["re:(?i)[ab]{100,350}!"], id="repeated-classes"),
        pytest.param(["re:.*a{450}!$", "re:aa{450}!"], id="literals"),
        pytest.param(["*a" + "?" * 400 + "!", "*b" + "?" * 50 + "/"], id="globs"),
        pytest.param(["re:(a|aa)+$", "re:(.*)*(.*)*(.*)*x$", "*a*a*a*a*a*a*a*b"], id="backtracking"),
    ],
)
def test_no_patterns_need_long_for_the_longest_url(patterns: list[str]) -> None:
    """The instructions of a program times 2 KB take milliseconds: it was 5.6 s without a limit."""
    rules = compiled(patterns)
    yardsticks = (
        min(cpu_seconds(lambda: rules.include.matches(LONG_URL + "?")) for _ in range(3))
        / yardstick_seconds()
    )

    record_figure(f"a URL of 2 KB: instructions={rules.include.size} yardsticks={yardsticks:.1f}")
    assert rules.include.size <= MAX_PROGRAM_SIZE
    assert yardsticks < 8


@pytest.mark.fault("A1")
@given(st.lists(expressions().map("re:{}".format) | st.text("a*?/[]=.", min_size=1, max_size=9), max_size=6))
@settings(max_examples=300, deadline=None)
def test_every_list_is_within_the_limit_or_refused(patterns: list[str]) -> None:
    """Also of half each: the limit is of both lists together, and equal in each order."""
    both = compile_patterns(patterns[::2], patterns[1::2])

    if isinstance(both, InvalidPattern):
        assert both.detail
        assert both.field in {"include", "exclude", "include and exclude"}
    else:
        assert both.include.size + both.exclude.size <= MAX_PROGRAM_SIZE
        assert both.include.texts == tuple(patterns[::2])


@pytest.mark.parametrize("text", ["[]", "x[]", "[^]", "[[:alpha:]", "a[^]b"])
def test_a_class_without_an_end_is_refused_whatever_follows_it(text: str) -> None:
    """The bracket of the next pattern would close it."""
    for patterns in ([text], [text, "b]"], ["a", text, "[]]"]):
        refused = compile_patterns([f"re:{each}" for each in patterns])

        assert isinstance(refused, InvalidPattern)
        assert "missing ]" in refused.detail


@given(st.lists(expressions(), min_size=1, max_size=4), st.text("ab/-.*9", max_size=12))
@settings(max_examples=300, deadline=None)
def test_one_program_matches_what_any_of_its_patterns_matches(texts: list[str], path: str) -> None:
    """An open group, class or quotation of one pattern does not reach into the next one."""
    url = f"http://a.test/{path}"
    rules = compile_patterns([f"re:{text}" for text in texts])
    if isinstance(rules, InvalidPattern):
        return

    assert rules.include.matches(url) == any(re2.search(text, url) is not None for text in texts)


@given(expressions())
@settings(max_examples=300, deadline=None)
def test_the_size_known_from_the_text_is_that_of_the_program(text: str) -> None:
    """Folding of case may double a class; otherwise few instructions are added."""
    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    try:
        program = re2.compile(text.encode(), options)
    except re2.error:
        return

    assert program.programsize <= 2 * expression_size(text) + 12


@pytest.mark.parametrize(
    ("include", "exclude", "error"),
    [
        pytest.param(
            ["/a"] * 20,
            ["/b"] * 13,
            "include and exclude: 33 patterns together, the limit is 32",
            id="number",
        ),
        pytest.param(
            [],
            ["a" * 513],
            f"exclude: '{'a' * 80}': a pattern of 513 characters, expected 1 to 512",
            id="length",
        ),
        pytest.param([""], [], "include: a pattern of 0 characters, expected 1 to 512", id="empty"),
        pytest.param(
            ["é" * 500] * 2,
            ["/x" * 30],
            "include and exclude: 2060 bytes of patterns together, the limit is 2048",
            id="bytes",
        ),
        pytest.param(
            ["/a"],
            ["re:[ab]{0,900}"],
            "include and exclude: 're:[ab]{0,900}': the patterns compile to 2702 instructions together, "
            "the limit is 1000; a character counts about one, and a repetition like {0,99} multiplies what "
            "it repeats",
            id="size",
        ),
        pytest.param(
            [r"re:\p{Greek}"],
            [],
            "include: 're:\\\\p{Greek}': Unicode classes (\\p, \\P) are not supported: "
            "a URL has ASCII characters only; use [A-Za-z] or [0-9]",
            id="unicode",
        ),
        pytest.param(["/a"], ["re:x", "re:(a"], "exclude: 're:(a': missing ): (a", id="one-of-several"),
        pytest.param(
            ["re:a)|(b"], [], "include: 're:a)|(b': unexpected ): no group is open", id="unbalanced"
        ),
        pytest.param([r"re:\Qa"], [], "include: 're:\\\\Qa': \\Q without \\E", id="open-quotation"),
    ],
)
def test_an_error_names_field_number_and_limit(include: list[str], exclude: list[str], error: str) -> None:
    """The sender gets the sentence, in a decision or on the command line."""
    assert sentence(include, exclude) == error


def test_patterns_of_the_maximum_are_accepted() -> None:
    """32 globs of 25 characters, as a careful operator writes them."""
    globs = [f"/section-{number:02}/*/edit-page?*" for number in range(32)]
    rules = compiled(globs[:16], globs[16:])

    assert rules.include.matches("https://a.test/section-03/x/edit-page?1")
    assert not rules.include.matches("https://a.test/section-17/x/edit-page?1")
    assert rules.exclude.matches("https://a.test/section-17/x/edit-page?1")


def test_equal_lists_are_compiled_once() -> None:
    """The scheduler, the API and link-ingestion compile a spec wherever they meet it."""
    assert compile_patterns(["/once/*"]) is compile_patterns(("/once/*",))
