"""Names, sentences and pages keep the rules of style; each rule is also shown a tree that it must reject."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .rules import documents, names, sentences

ROOT = Path(__file__).parents[2]
GLOSSARY = """
terms: [{use: [publish], for: topics, instead_of: [say]}]
banned_turns: {'\\bwhoever\\b': name the role}
"""
SOURCE = "libs/a/src/strider/a/x.py"

Rule = Callable[[Path], list[str]]

RULES: dict[Rule, dict[str, str]] = {
    names.foreign_words: {"docs/glossary.yaml": GLOSSARY, SOURCE: "def say_it(): ..."},
    names.foreign_words_in_tests: {"docs/glossary.yaml": GLOSSARY, "tests/test_x.py": "def test_say(): ..."},
    names.repeated_classes: {SOURCE: "class A: ...", "libs/b/src/strider/b/x.py": "class A: ..."},
    names.crowded_folders: {f"libs/a/src/strider/a/m{number}.py": "" for number in range(15)},
    names.prefix_families: {f"libs/a/src/strider/a/loop_{name}.py": "" for name in "abc"},
    names.long_files: {SOURCE: "\n" * 401},
    names.long_functions: {SOURCE: "def f():\n" + "    pass\n" * 40},
    names.late_constants: {SOURCE: "def f():\n    return LIMIT\n\nLIMIT = 1\n"},
    sentences.questioning_docstrings: {SOURCE: '"""What is this?"""'},
    sentences.unfit_module_summaries: {SOURCE: '"""No full stop"""\nx = 1'},
    sentences.riddles: {"docs/glossary.yaml": GLOSSARY, SOURCE: "# for whoever reads this"},
    sentences.riddles_in_tests: {
        "docs/glossary.yaml": GLOSSARY,
        "tests/test_x.py": "def test_x():\n    'As whoever reads this.'",
    },
    sentences.riddles_in_prose: {"docs/glossary.yaml": GLOSSARY, "docs/x.md": "for whoever reads this"},
    sentences.wide_prose: {"docs/x.md": "word " * 30},
    sentences.undeclared_log_events: {SOURCE: "_log.info('Partition revoked')"},
    sentences.odd_log_events: {
        "libs/a/src/strider/a/log_events.py": "X: Final = info('Wish Heard', 'A meaning.')"
    },
    sentences.log_events_never_emitted: {
        "libs/a/src/strider/a/log_events.py": "PAGE_READ: Final = info('Page read', 'A meaning.')\n"
        "PAGE_LOST: Final = LogEvent('Page lost', 'info', 'A meaning.')",
        SOURCE: "_log.emit(log_events.PAGE_READ)",
    },
    sentences.log_events_of_other_members: {
        "libs/a/src/strider/a/log_events.py": "PAGE_READ: Final = info('Page read', 'A meaning.')\n"
        "PAGE_LOST: Final = info('Page lost', 'A meaning.')\n"
        "PAGE_GONE: Final = info('Page gone', 'A meaning.')",
        SOURCE: "_log.emit(log_events.PAGE_LOST if lost else log_events.PAGE_GONE)",
        "libs/b/src/strider/b/x.py": "_log.emit(a_events.PAGE_READ)\n_log.emit(a_events.PAGE_GONE)",
    },
    sentences.misnamed_log_events: {
        "libs/a/src/strider/a/log_events.py": "PAGE_READ: Final = info('Page read', 'A meaning.')\n"
        "A_PAGE_READ: Final = info('Page read in {seconds}', 'A meaning.')\n"
        "PAGE_GONE: Final = LogEvent('Page lost', 'info', 'A meaning.')",
    },
    documents.dead_links: {"docs/x.md": "# Here\n\nsee [there](#nowhere)"},
    documents.missing_files: {"docs/x.md": "see `a/nowhere.py`"},
    documents.missing_symbols: {"docs/x.md": "see `NoSuchClass`"},
    documents.members_without_readme: {"libs/a/pyproject.toml": ""},
}
"""Every rule, with the smallest tree that breaks it."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps_the_rule(rule: Rule) -> None:
    assert rule(ROOT) == []


@pytest.mark.parametrize(
    "text",
    [
        "def test_a_page_that_whoever_reads(): ...",
        "class TestPages:\n    async def test_they_say_so(self): ...",
        "import pytest\n\ncase = pytest.param(1, id='what to say')",
        "import pytest\n\ncase = pytest.param(1, id='for-whoever-reads')",
    ],
)
def test_a_test_and_the_id_of_a_case_use_words_of_the_glossary(text: str, tmp_path: Path) -> None:
    for name, content in {"docs/glossary.yaml": GLOSSARY, "tests/test_x.py": text}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(content)

    assert len(names.foreign_words_in_tests(tmp_path)) == 1


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rule_rejects_what_breaks_it(rule: Rule, tmp_path: Path) -> None:
    """A check that cannot fail checks nothing."""
    for name, text in RULES[rule].items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    assert len(rule(tmp_path)) == 1


def test_every_rule_is_applied() -> None:
    """A rule that is written and not listed here would hold nothing."""
    declared = {
        rule
        for module in (documents, names, sentences)
        for rule in vars(module).values()
        if getattr(rule, "__module__", "") == module.__name__
        and getattr(rule, "__annotations__", {}).get("return") == "list[str]"
        and not rule.__name__.startswith("_")
    }

    assert declared == set(RULES)
