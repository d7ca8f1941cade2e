"""Rules about sentences: docstrings, comments, messages, log events, and the prose of pages."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from .names import banned_turns, glossary
from .sources import comments, docstrings, messages, shipped, tracked, tree, written

MOST_PROSE_COLUMNS = 110
MOST_SUMMARY_CHARS = 90
QUESTION_WORDS = ("What ", "Which ", "Whoever ", "Who ", "Whose ")
OPENING_WORDS = (*QUESTION_WORDS, "Why ", "How ", "Where ", "When ")
"""Words that a module, a class or a function must not begin with either; of an attribute they may name a
quantity (`How long a lease lasts.`)."""
LEVELS = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
DECLARING = frozenset({"LogEvent"}) | LEVELS
"""What a log event is declared with: its type, or the function of its level."""
_EVENT_TEXT = re.compile(r"(?:[A-Z]|robots\.txt)(?:[\w./ ()-]|\{[a-z_]+\})*(?<=[\w)}])")


def _summary(text: str) -> str:
    return re.split(r"\n\s*\n", text, maxsplit=1)[0].replace("\n", " ").strip()


def questioning_docstrings(root: Path) -> list[str]:
    """Find docstrings whose first sentence asks instead of stating."""
    found = []
    for path in shipped(root):
        for line, kind, text in docstrings(path):
            first, words = _summary(text), QUESTION_WORDS if kind == "attribute" else OPENING_WORDS
            if first.endswith("?") or first.startswith(words):
                found.append(f"{path.relative_to(root)}:{line}: {first[:80]}")
    return found


def unfit_module_summaries(root: Path) -> list[str]:
    """Find module docstrings that are no row of a table: missing, too long, or without a full stop."""
    found = []
    for path in shipped(root):
        text = ast.get_docstring(tree(path)) or ""
        first = text.split("\n")[0].strip()
        if path.read_text(encoding="utf-8").strip() and (
            not first.endswith(".") or len(first) > MOST_SUMMARY_CHARS
        ):
            found.append(f"{path.relative_to(root)}: {first or 'no docstring'}")
    return found


def _descriptions(path: Path) -> Iterator[tuple[int, str]]:
    yield from ((line, text) for line, _kind, text in docstrings(path))
    yield from comments(path)


def _riddles(root: Path, texts: Iterable[tuple[Path, int, str]]) -> list[str]:
    turns = banned_turns(root)
    return [
        f"{path.relative_to(root)}:{line}: {match[0]!r}: write {better}"
        for path, line, text in texts
        for pattern, better in turns.items()
        if (match := pattern.search(text))
    ]


def riddles(root: Path) -> list[str]:
    """Find banned turns of phrase in docstrings, comments and messages of the source."""
    texts = ((path, *text) for path in shipped(root) for text in (*_descriptions(path), *messages(path)))
    return _riddles(root, texts)


def riddles_in_tests(root: Path) -> list[str]:
    """Find banned turns of phrase in docstrings and comments of tests and tools."""
    return _riddles(root, ((path, *text) for path in written(root) for text in _descriptions(path)))


def prose_lines(page: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a Markdown page that are neither code, table, link list nor generated."""
    fenced = generated = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif re.match(r"<!-- /?[\w-]+ -->", line):
            generated = not line.startswith("<!-- /")
        elif not fenced and not generated and not line.startswith(("    ", "|", "<!--")):
            yield number, line


GENERATED_PAGES = frozenset(
    {"docs/requirements.md", "docs/performance.md", "docs/extraction.md", "docs/operations/log-events.md"}
)


def _pages(root: Path) -> Iterator[Path]:
    for path in sorted(tracked(root)):
        if path.suffix == ".md" and path.relative_to(root).as_posix() not in GENERATED_PAGES:
            yield path


def riddles_in_prose(root: Path) -> list[str]:
    """Find banned turns of phrase in Markdown pages and in the descriptions of topics and events."""
    texts = [(page, number, line) for page in _pages(root) for number, line in prose_lines(page)]
    for path in sorted(tracked(root)):
        parts = path.relative_to(root).parts
        if path.suffix in {".yaml", ".avsc"} and parts[0] == "schemas" and "released" not in parts:
            lines = path.read_text(encoding="utf-8").splitlines()
            texts += [(path, number, line) for number, line in enumerate(lines, 1)]
    return _riddles(root, texts)


def wide_prose(root: Path) -> list[str]:
    """Find lines of prose that are wider than a reader's window."""
    return [
        f"{page.relative_to(root)}:{number}: {len(line)} columns, at most {MOST_PROSE_COLUMNS}"
        for page in _pages(root)
        for number, line in prose_lines(page)
        if len(line) > MOST_PROSE_COLUMNS and " " in line.strip()[:MOST_PROSE_COLUMNS]
    ]


def undeclared_log_events(root: Path) -> list[str]:
    """Find log lines whose text is written at the call instead of being declared as a `LogEvent`."""
    found = []
    for path in shipped(root):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value).rpartition(".")[2].lstrip("_")
                if owner in {"log", "logger"} and node.func.attr in LEVELS and node.args:
                    found.append(f"{path.relative_to(root)}:{node.lineno}: {ast.unparse(node.args[0])}")
    return found


def odd_log_events(root: Path) -> list[str]:
    """Find declared log events that repeat a text, or whose text or meaning is no plain sentence."""
    found, seen = [], Counter[str]()
    for place, _, texts in _event_constants(root):
        text, meaning = texts[0], texts[-1]
        seen[text] += 1
        is_title_case = text.istitle() and " " in text and text not in glossary(root)["allowed"]
        if not _EVENT_TEXT.fullmatch(text) or is_title_case:
            found.append(f"{place}: {text!r} is no sentence case")
        if not meaning.endswith("."):
            found.append(f"{place}: {text!r} has no meaning")
    return found + [f"{text!r} is declared {count} times" for text, count in seen.items() if count > 1]


def log_events_never_emitted(root: Path) -> list[str]:
    """Find declared log events that no shipped file names, so that their page lists them for nothing."""
    used = {
        name
        for path in shipped(root)
        if path.name != "log_events.py"
        for node in ast.walk(tree(path))
        if (name := node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", ""))
    }
    return [
        f"{place}: {name} is never emitted"
        for place, name, _ in declared_log_events(root)
        if name not in used
    ]


def log_events_of_other_members(root: Path) -> list[str]:
    """Find log events that one member alone emits, and that another one declares."""
    emitting = defaultdict(set)
    for path in shipped(root):
        for node in ast.walk(tree(path)) if path.name != "log_events.py" else ():
            if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("_events"):
                emitting[node.attr].add("/".join(path.relative_to(root).parts[:2]))
    return [
        f"{place}: only {member} emits {name}: declare it there"
        for place, name, _ in declared_log_events(root)
        for member in emitting[name]
        if len(emitting[name]) == 1 and not place.startswith(f"{member}/")
    ]


def misnamed_log_events(root: Path) -> list[str]:
    """Find log events whose constant is not their text in capitals; the member's name may precede it.

    Fields in braces at the end, and the preposition before them, are left out.
    """
    found = []
    for place, name, text in declared_log_events(root):
        words = re.findall(r"[a-z0-9]+", re.sub(r"(?: \w+)? \{\w+\}$", "", text).lower())
        expected = "_".join(words).upper()
        if name != expected and not re.fullmatch(rf"[A-Z]+_{expected}", name):
            found.append(f"{place}: {name} is {text!r}: name it {expected}")
    return found


def declared_log_events(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield place, constant and text of each declared log event."""
    return ((place, name, texts[0]) for place, name, texts in _event_constants(root))


def _event_constants(root: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield place, constant and the words of each declared log event: text first, meaning last."""
    for path in shipped(root):
        for node in tree(path).body if path.name == "log_events.py" else ():
            target, value = getattr(node, "target", None), getattr(node, "value", None)
            if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
                continue
            words = [str(each.value) for each in value.args if isinstance(each, ast.Constant)]
            if ast.unparse(value.func) in DECLARING and words:
                yield f"{path.relative_to(root)}:{node.lineno}", target.id, words
