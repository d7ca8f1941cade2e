"""Rules about layers, imports and tracked files: each takes a root and returns what breaks it.

They take the root as an argument so that every rule can be shown a small tree that it must reject.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

from .sources import shipped, tracked, tree

LAYERS = (
    *("contracts", "urls", "politeness", "sites", "messaging", "runtime", "crawl"),
    *("storage", "frontier", "jobs", "localstack", "testing"),
)
"""Libraries from the innermost outwards; each may import only what stands before it."""

SERVICE_MAY_IMPORT = frozenset(
    {
        *("contracts", "urls", "politeness", "sites", "messaging", "runtime", "crawl", "storage"),
        *("frontier", "jobs"),
    }
)

CORE_MAY_IMPORT = frozenset({"contracts", "urls", "politeness", "sites"})

PURE_MODULES = frozenset(
    {
        "strider.crawl.runs",
        "strider.frontier.constants",
        "strider.frontier.models",
        "strider.frontier.turns",
        "strider.jobs.adaptive",
        "strider.jobs.errors",
        "strider.jobs.history",
        "strider.jobs.intervals",
        "strider.jobs.lifecycle",
        "strider.jobs.models",
        "strider.jobs.rebalance",
        "strider.jobs.slots",
        "strider.jobs.states",
        "strider.jobs.validation",
        "strider.storage.rows",
    }
)
"""Modules and packages of impure libraries that are pure all the same, and that a core may import."""

PURE_STDLIB = frozenset(
    [
        *(
            "__future__",
            "abc",
            "base64",
            "bisect",
            "codecs",
            "collections",
            "copy",
            "dataclasses",
            "datetime",
            "decimal",
        ),
        *("difflib", "enum", "fractions", "functools", "hashlib", "heapq", "html", "ipaddress", "itertools"),
        *("json", "math", "operator", "re", "statistics", "string", "struct", "textwrap", "types", "typing"),
        *("unicodedata", "zlib"),
    ]
)
"""Standard library modules that neither wait nor look at clock, chance, files or network."""

PURE_LIBS = frozenset({"urls", "politeness"})

PURE_ENGINES = frozenset({"can_ada", "re2"})
"""Compiled libraries that the pure libraries may import: values in, values out."""

PURE_PACKAGES = frozenset({"resiliparse", "webencodings"})
"""Packages that a core may use: values in, values out."""

IMPURE_NAMES = frozenset({"open", "print", "input", "breakpoint", "exec", "eval", "__import__"})

IMPURE_METHODS = frozenset({"now", "utcnow", "today"})
"""Clocks that come with modules which are pure otherwise: `datetime.now()`."""

CLIENTS = {
    "aiokafka": (
        "libs/messaging/src/strider/messaging/kafka/",
        "libs/messaging/src/strider/messaging/topics/",
    ),
    "asyncpg": ("libs/storage/",),
    "redis": ("libs/storage/",),
    "obstore": ("libs/storage/",),
    "confluent_kafka": (),
    "httpx": ("libs/messaging/",),
    "selectolax": ("services/parser/src/strider/parser/adapters/",),
    "protego": (),
    "resiliparse": ("services/parser/src/strider/parser/core/document/charsets.py",),
    "faust": ("services/insights/",),
    "fastapi": ("services/api/",),
}
"""Client library → the only folders that may import it."""

OUTPUT_MODULE = "output.py"
STREAM_MODULE = "stdio.py"
"""The module of the command line that prints, and the one that opens and guards its streams."""

PRINTING = frozenset({"print", "typer.echo", "click.echo", "sys.stdout.write", "sys.stderr.write"})

COLUMN_WIDTH = re.compile(r".?[<>^]\d.*|\d+")
"""Format of a value that is aligned by hand."""

LISTINGS = frozenset({"list"})
"""Commands that list things."""

SERVICE_FILES = ("__init__", "__main__", "settings", "core", "topology", "adapters")

MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:home|root|Users|work)/[\w.]")

REGISTRY_HOST = re.compile(
    r"pythonhosted\.|pypi\.(?:org|python)|repo1\.maven|registry\.npmjs|crates\.io|proxy\.golang"
)


@cache
def imports(path: Path) -> tuple[tuple[int, str], ...]:
    """Return the absolute names of what a file imports; relative imports are resolved below `strider`."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    inside = path.parts[len(path.parts) - path.parts[::-1].index("src") :] if "src" in path.parts else ()
    package = inside if inside[:1] == ("strider",) else ()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}" if module == "strider" or node.level else module


def member_of(path: Path, root: Path) -> tuple[str, str]:
    """Return (kind, name) of the member of a file: ('libs', 'runtime'), ('cli', 'cli') …"""
    parts = path.relative_to(root).parts
    name = parts[parts.index("strider") + 1] if "strider" in parts else parts[0]
    return parts[0], name.removesuffix(".py")


@cache
def _services(root: Path) -> frozenset[str]:
    return frozenset(path.name for path in root.glob("services/*/src/strider/*/"))


def _allowed(kind: str, name: str, root: Path) -> frozenset[str]:
    if kind == "libs":
        return frozenset(LAYERS[: LAYERS.index(name) + 1]) if name in LAYERS else frozenset({name})
    if kind in {"services", "examples"}:
        return SERVICE_MAY_IMPORT | {name}
    # The command line puts the whole pipeline into one process; no other member may import several services.
    return (frozenset(LAYERS) - {"testing"}) | _services(root) | {name}


def wrong_directions(root: Path) -> list[str]:
    """Find imports that point outwards, or from one service into another."""
    found = []
    for path in shipped(root, with_generated=True):
        kind, name = member_of(path, root)
        allowed = _allowed(kind, name, root)
        for line, module in imports(path):
            parts = module.split(".")
            if parts[0] == "strider" and len(parts) > 1 and parts[1] not in allowed:
                found.append(f"{path.relative_to(root)}:{line}: {kind}/{name} may not import {module}")
    return found


def _is_core(path: Path, root: Path) -> bool:
    return path.name == "core.py" or "core" in path.relative_to(root).parts[:-1]


def _is_pure(path: Path, root: Path) -> bool:
    """Whether a file must be pure: a core, or a library that cores may import."""
    kind, name = member_of(path, root)
    if _in_pure_module(_module_name(path)):
        return True
    return name in PURE_LIBS if kind == "libs" else kind in {"services", "examples"} and _is_core(path, root)


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[len(parts) - parts[::-1].index("src") :]) if "src" in parts else ""


def _in_pure_module(module: str) -> bool:
    return any(module == pure or module.startswith(f"{pure}.") for pure in PURE_MODULES)


def impure_cores(root: Path) -> list[str]:
    """Find imports of a core, or of a pure library, that are not pure themselves."""
    found = []
    for path in shipped(root, with_generated=True):
        if not _is_pure(path, root):
            continue
        kind, own = member_of(path, root)
        engines = PURE_ENGINES if kind == "libs" else frozenset()
        for line, module in imports(path):
            parts = module.split(".")
            pure = parts[0] in PURE_STDLIB | PURE_PACKAGES | engines
            inner = parts[0] == "strider" and (
                parts[1] in CORE_MAY_IMPORT or _in_pure_module(module) or parts[1:3] == [own, "core"]
            )
            if not pure and not inner:
                found.append(f"{path.relative_to(root)}:{line}: a core may not import {module}")
    return found


def impure_calls(root: Path) -> list[str]:
    """Find calls in a core, or in a pure library, to clocks, files or terminals that need no import."""
    found = []
    for path in shipped(root, with_generated=True):
        if not _is_pure(path, root):
            continue
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            clock = isinstance(node.func, ast.Attribute) and node.func.attr in IMPURE_METHODS
            if name in IMPURE_NAMES or clock:
                found.append(f"{path.relative_to(root)}:{node.lineno}: a core may not call {name}")
    return found


def stray_clients(root: Path) -> list[str]:
    """Find imports of client libraries outside of the folder that wraps them."""
    found = []
    for path in shipped(root, with_generated=True):
        where = path.relative_to(root).as_posix()
        for line, module in imports(path):
            homes = CLIENTS.get(module.split(".")[0])
            if homes is not None and not where.startswith(homes):
                found.append(
                    f"{where}:{line}: {module} may be imported only in {', '.join(homes) or 'tests'}"
                )
    return found


def stray_output(root: Path) -> list[str]:
    """Ways of printing beside the one module for it; in commands also own JSON and own columns."""
    found = []
    package = root / "cli/src/strider/cli"
    for path in shipped(root, with_generated=True):
        if package not in path.parents or path in {package / OUTPUT_MODULE, package / STREAM_MODULE}:
            continue
        where, is_command = path.relative_to(root), package / "commands" in path.parents
        for line, module in imports(path):
            if module.split(".")[0] == "rich":
                found.append(f"{where}:{line}: only {OUTPUT_MODULE} may import rich")
        for node in ast.walk(tree(path)):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in PRINTING or (is_command and name == "json.dumps"):
                found.append(f"{where}:{node.lineno}: print with {OUTPUT_MODULE}, not with {name}")
            elif is_command and isinstance(node, ast.FormattedValue) and _is_aligned(node):
                found.append(f"{where}:{node.lineno}: print_table and print_fields align, not a format")
    return found


def _is_aligned(value: ast.FormattedValue) -> bool:
    parts = value.format_spec.values if isinstance(value.format_spec, ast.JoinedStr) else []
    text = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
    return COLUMN_WIDTH.fullmatch(text) is not None


def listings_without_json(root: Path) -> list[str]:
    """Commands that list things and have no option --json like all others."""
    found = []
    for path in shipped(root, with_generated=True):
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.FunctionDef) or not any(map(_is_listing, node.decorator_list)):
                continue
            kinds = [ast.unparse(each.annotation) for each in node.args.args if each.annotation is not None]
            if "AsJson" not in kinds:
                found.append(f"{path.relative_to(root)}:{node.lineno}: {node.name} has no `as_json: AsJson`")
    return found


def _is_listing(decorator: ast.expr) -> bool:
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) != "app.command":
        return False
    named = [*decorator.args, *(each.value for each in decorator.keywords if each.arg == "name")]
    return any(isinstance(each, ast.Constant) and each.value in LISTINGS for each in named)


def missing_service_files(root: Path) -> list[str]:
    """Find services without one of the files of a service."""
    found = []
    for project in sorted([*root.glob("services/*/pyproject.toml"), *root.glob("examples/*/pyproject.toml")]):
        packages = list(project.parent.glob("src/strider/*/"))
        for package in packages:
            names = SERVICE_FILES if package.name != "api" else (*SERVICE_FILES[:4], "routes", "adapters")
            for name in names:
                if not (package / f"{name}.py").exists() and not (package / name / "__init__.py").exists():
                    found.append(f"{package.relative_to(root)} has no {name}.py")
    return found


def _docstrings(module: ast.Module) -> set[int]:
    """Return the identities of the string nodes that only document."""
    return {
        id(node.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def spelled_topics(root: Path, names: frozenset[str]) -> list[str]:
    """Find topic names in code; names of one word are left out, because they are common words too."""
    named = {name for name in names if "-" in name}
    found = []
    for path in shipped(root):
        documentation = _docstrings(tree(path))
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Constant) and node.value in named and id(node) not in documentation:
                found.append(f"{path.relative_to(root)}:{node.lineno}: the topic {node.value} is spelled out")
    return found


def _lines_with(pattern: re.Pattern[str], root: Path) -> Iterator[tuple[Path, int]]:
    for path in tracked(root):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for found in pattern.finditer(text):
            yield path.relative_to(root), text.count("\n", 0, found.start()) + 1


def machine_paths(root: Path) -> list[str]:
    """Find lines that name a folder of one machine."""
    return [f"{path}:{number}" for path, number in _lines_with(MACHINE_PATH, root)]


def registry_hosts(root: Path) -> list[str]:
    """Find lines that name the host of a package registry: packages are named by name alone."""
    own = Path("tests/repo/rules/layering.py")
    return [f"{path}:{number}" for path, number in _lines_with(REGISTRY_HOST, root) if path != own]


def namespace_breakers(root: Path) -> list[str]:
    """Find every `strider/__init__.py`: it would hide the other members."""
    return [
        str(path.relative_to(root)) for path in tracked(root) if path.parts[-2:] == ("strider", "__init__.py")
    ]


def spelled_versions(root: Path) -> list[str]:
    """Find members that name a version of their own instead of taking the one in VERSION."""
    members = [path for path in tracked(root) if path.name == "pyproject.toml" and path.parent != root]
    return [
        str(path.relative_to(root)) for path in members if re.search(r"(?m)^version\s*=", path.read_text())
    ]


@cache
def _declared(project: Path) -> frozenset[str]:
    """Return the distributions that a member declares, its optional parts included."""
    project_table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    declared = [
        *project_table.get("dependencies", ()),
        *chain(*project_table.get("optional-dependencies", {}).values()),
    ]
    names = {_canonical(re.split(r"[\s\[<>=!~;]", name, maxsplit=1)[0]) for name in declared}
    return frozenset(names | {_canonical(project_table["name"])})


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def undeclared_dependencies(root: Path) -> list[str]:
    """Find imports of packages that the member does not declare: a shared environment would hide them."""
    providers = packages_distributions()
    found = []
    for path in shipped(root, with_generated=True):
        project = next(parent for parent in path.parents if (parent / "src").is_dir()) / "pyproject.toml"
        declared = _declared(project) if project.exists() else frozenset()
        for line, module in imports(path):
            parts = module.split(".")
            if parts[0] == "strider":
                wanted = {f"strider-{parts[1].replace('_', '-')}"} if len(parts) > 1 else set()
            else:
                wanted = {_canonical(name) for name in providers.get(parts[0], ())}
            if parts[0] not in sys.stdlib_module_names and wanted and not wanted & declared:
                found.append(
                    f"{path.relative_to(root)}:{line}: {module} is not declared in its pyproject.toml"
                )
    return found
