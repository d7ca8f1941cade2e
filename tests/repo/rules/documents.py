"""Rules about pages: links lead somewhere, and files and symbols that a page names exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .sources import tracked

__all__ = ["dead_links", "members_without_readme", "missing_files", "missing_symbols"]

_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_FILE = re.compile(
    r"[\w./*<>-]*/[\w.*<>-]+\.(?:py|lua|sql|md|ya?ml|avsc|toml|json|lock|dat)|[\w-]+\.(?:py|lua)"
)
_SYMBOL = re.compile(r"(?:(?:[A-Z][a-z0-9]+)+|[a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?:\.[a-z_]\w*)*(?:\(\))?")
_TEXTS = frozenset({".py", ".lua", ".sql", ".avsc", ".yaml", ".yml", ".toml", ".json", ".properties", ""})
OTHERS_NAMES = frozenset({"CHANGELOG.md", "requirements.md"})
"""Pages with names of before (the history) or of what is wanted (the acceptance lines)."""
FOREIGN_SYMBOLS = frozenset(
    {
        *(
            "KafkaTopic",
            "KafkaUser",
            "CloudEvents",
            "AsyncAPI",
            "ExampleBot",
            "BaseTransport",
            "XMLPullParser",
        ),
        *("AsyncBaseTransport", "AsyncHTTPTransport", "ProducerFenced", "SeaweedFS", "JavaScript", "GitHub"),
    }
)
"""Names of others' libraries and formats that pages may mention."""


def pages(root: Path) -> Iterator[Path]:
    """Yield the Markdown pages whose names must exist now."""
    yield from sorted(
        path for path in tracked(root) if path.suffix == ".md" and path.name not in OTHERS_NAMES
    )


def _anchors(page: Path) -> frozenset[str]:
    titles = re.findall(r"(?m)^#+ (.+)$", page.read_text(encoding="utf-8"))
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles)


def dead_links(root: Path) -> list[str]:
    """Find relative links of Markdown pages that lead to no file, or to no heading of it."""
    found = []
    for page in (path for path in tracked(root) if path.suffix == ".md"):
        for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
            if "://" in target or target.startswith("mailto:"):
                continue
            there = page.parent / target if target else page
            if not there.exists():
                found.append(f"{page.relative_to(root)}: {target}")
            elif anchor and there.suffix == ".md" and anchor not in _anchors(there):
                found.append(f"{page.relative_to(root)}: {target}#{anchor}")
    return found


@cache
def _files(root: Path) -> tuple[str, ...]:
    return tuple("/" + path.relative_to(root).as_posix() for path in tracked(root))


def missing_files(root: Path) -> list[str]:
    """Find files that a page names in code style and that the repository does not have."""
    known = _files(root)
    found = []
    for page in pages(root):
        for code in _CODE.findall(page.read_text(encoding="utf-8")):
            text = code.split("::")[0].strip()
            if (
                not _FILE.fullmatch(text)
                or any(mark in text for mark in "*<>")
                or text.startswith(("/", "~", ".strider/"))
            ):
                continue
            tail = "/" + text.removeprefix("./").replace("../", "")
            if not any(name.endswith(tail) for name in known):
                found.append(f"{page.relative_to(root)}: {text}")
    return found


@cache
def _words(root: Path) -> frozenset[str]:
    """Return every identifier that stands in a tracked text file which is no page."""
    found = {path.stem for path in tracked(root)} | {"py"}
    for path in tracked(root):
        if path.suffix in _TEXTS or path.name in {"Makefile", ".env.example"}:
            found.update(re.findall(r"[A-Za-z_]\w*", path.read_text(encoding="utf-8", errors="replace")))
    return frozenset(found)


def missing_symbols(root: Path) -> list[str]:
    """Find classes, functions and fields that a page names in code style and that no source file has."""
    known = _words(root) | FOREIGN_SYMBOLS
    return [
        f"{page.relative_to(root)}: {code}"
        for page in pages(root)
        for code in _CODE.findall(page.read_text(encoding="utf-8"))
        if _SYMBOL.fullmatch(code) and not known.issuperset(code.removesuffix("()").split("."))
    ]


PARTS_OF_A_README = {
    "a module table": re.compile(r"<!-- modules -->"),
    "how it fails": re.compile(r"(?i)\bfails?\b"),
    "how to run or test it alone": re.compile(r"(?i)\balone\b"),
    "where its rules are": re.compile(r"(?i)\bwhere (is|are|does|do)\b"),
}
"""What a newcomer looks for in the README of a library or service."""


def members_without_readme(root: Path) -> list[str]:
    """Find libraries and services whose README lacks a part that a newcomer looks for."""
    found = []
    for project in sorted([*root.glob("libs/*/pyproject.toml"), *root.glob("services/*/pyproject.toml")]):
        page = project.parent / "README.md"
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        missing = [part for part, pattern in PARTS_OF_A_README.items() if not pattern.search(text)]
        if missing:
            found.append(f"{page.relative_to(root)}: no {', '.join(missing)}")
    return found
