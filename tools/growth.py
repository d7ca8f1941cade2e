"""docs/growth.md: what limits each topic, Redis key, table, folder, cache and metric, and who enforces it.

The rows that no declaration has are in docs/growth.yaml; what exists is found in the declarations and in the
code. `faults` reports what has no row, and rows of what no longer exists.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

sys.path.insert(0, str(Path(__file__).parent))

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "docs" / "growth.yaml"
PAGE = ROOT / "docs" / "growth.md"

Row = tuple[str, str]
"""What limits it, and who enforces that."""

HEAD: Final = """\
# What limits growth

Written by `make docs` from [growth.yaml](growth.yaml) and the declarations of topics, keys and metrics; do
not edit. Everything that a running Strider stores, or keeps in memory by key, has a row; `tests/repo` refuses
what has none. *nothing*: it grows as long as the crawler runs.
"""

_KEYED: Final = frozenset({"dict", "set", "OrderedDict", "defaultdict", "Counter"})
_NOT_SERVED: Final = ("/codegen/", "/inprocess/", "/memory/", "/testing/", "/localstack/", "/generated/")
"""Code that is not part of a service: generators, tests, the local stack, and `strider crawl` in memory."""
_TABLE: Final = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)
_PATH: Final = re.compile(r"`([a-z_]+(?:/[a-z_]+)+\.(?:py|lua))`")
_VARIABLE: Final = re.compile(r"`([A-Z]+(?:_[A-Z]+)+)`")
_DAY_MS: Final = 86_400_000
_GIB: Final = 1024**3


@dataclass(frozen=True, slots=True)
class Growth:
    """Rows by kind and name."""

    rows: Mapping[str, Mapping[str, Row]]

    def names(self, kind: str) -> set[str]:
        """Return the names of a kind that have a row."""
        return set(self.rows.get(kind, {}))


def read_rows(path: Path = ROWS) -> Growth:
    """Read the declared rows; of caches, one for each attribute."""
    declared: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    caches = declared.pop("caches")
    rows = {kind: {name: (row[0], row[1]) for name, row in each.items()} for kind, each in declared.items()}
    rows["caches"] = {name: (bound, each["by"]) for bound, each in caches.items() for name in each["of"]}
    return Growth(rows)


def found(root: Path = ROOT) -> dict[str, set[str]]:
    """Return what exists, by kind."""
    from strider.contracts import TOPICS  # noqa: PLC0415  # generated code comes first
    from strider.storage.keys import KEY_FAMILIES  # noqa: PLC0415

    return {
        "topics": {topic.name for topic in TOPICS.values() if topic.cleanup != "delete"},
        "redis": {f"{family.entity}/{family.attribute}" for family in KEY_FAMILIES},
        "tables": set(tables(root)),
        "folders": set(folders(root)),
        "caches": set(caches(root)),
    }


def tables(root: Path) -> Iterator[str]:
    """Yield the tables of all migrations."""
    for path in sorted(root.glob("libs/storage/src/strider/storage/migrations/versions/*.up.sql")):
        yield from _TABLE.findall(path.read_text(encoding="utf-8"))


def folders(root: Path) -> Iterator[str]:
    """Yield the folders of the local stack: the words after `self.root /`, and that of downloads."""
    yield "cache"
    path = root / "libs/localstack/src/strider/localstack/directories.py"
    yield from re.findall(r"self\.root / \"(\w+)\"", path.read_text(encoding="utf-8"))


def caches(root: Path) -> Iterator[str]:
    """Yield the mappings and sets that objects of services keep, as `Class.attribute`."""
    for path in sorted([*root.glob("libs/*/src/**/*.py"), *root.glob("services/*/src/**/*.py")]):
        if not any(part in path.as_posix() for part in _NOT_SERVED):
            yield from caches_in(path.read_text(encoding="utf-8"))


def caches_in(source: str) -> Iterator[str]:
    """Yield those of one module."""
    for owner in ast.walk(ast.parse(source)):
        if isinstance(owner, ast.ClassDef):
            for node in ast.walk(owner):
                if (name := _kept_attribute(node)) is not None:
                    yield f"{owner.name}.{name}"


def _kept_attribute(node: ast.AST) -> str | None:
    if isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Attribute):
        is_keyed = ast.unparse(node.annotation).partition("[")[0] in _KEYED
        return node.target.attr if is_keyed else None
    if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Attribute):
        called = node.value.func if isinstance(node.value, ast.Call) else None
        return target.attr if isinstance(called, ast.Name) and called.id in _KEYED else None
    return None


def faults(growth: Growth, existing: Mapping[str, set[str]]) -> list[str]:
    """Return what has no row, and rows of what does not exist."""
    return [
        *(
            f"{kind}: {name} has no limit: add a row to docs/growth.yaml"
            for kind, names in existing.items()
            for name in sorted(names - growth.names(kind))
        ),
        *(
            f"{kind}: {name} does not exist: remove its row from docs/growth.yaml"
            for kind, names in existing.items()
            for name in sorted(growth.names(kind) - names)
        ),
    ]


def unknown_names(growth: Growth, *, root: Path = ROOT) -> list[str]:
    """Return files and variables that rows name and that do not exist."""
    variables = (root / ".env.example").read_text(encoding="utf-8")
    shipped = [
        path.as_posix() for path in (*root.glob("libs/*/src/strider"), *root.glob("services/*/src/strider"))
    ]
    texts = {text for each in growth.rows.values() for row in each.values() for text in row}
    missing = {
        path
        for text in texts
        for path in _PATH.findall(text)
        if not any((Path(base) / path).is_file() for base in shipped)
    }
    missing |= {name for text in texts for name in _VARIABLE.findall(text) if name not in variables}
    return sorted(missing)


def render(growth: Growth | None = None) -> str:
    """Render the page."""
    rows = growth or read_rows()
    sections = [
        ("Topics of Kafka", [*_topics(), *_of(rows, "topics")]),
        ("Keys of Redis", _of(rows, "redis")),
        ("Tables of PostgreSQL", _of(rows, "tables")),
        ("Folders of the local stack", _of(rows, "folders")),
        ("Series of metrics", list(_metrics())),
        ("Memory of the services, for each process", _of(rows, "caches")),
    ]
    parts = [HEAD]
    for title, lines in sections:
        parts.append(f"## {title}\n\n| what | limit | enforced by |\n|---|---|---|\n" + "".join(lines))
    return "\n".join(parts)


def _of(growth: Growth, kind: str) -> list[str]:
    return [_line(name, *row) for name, row in sorted(growth.rows[kind].items())]


def _topics() -> list[str]:
    from strider.contracts import TOPICS  # noqa: PLC0415  # generated code comes first

    lines = []
    for topic in sorted(TOPICS.values(), key=lambda each: each.name):
        if topic.cleanup == "delete":
            days = int(topic.config["retention.ms"]) // _DAY_MS
            size = int(topic.config.get("retention.bytes", 0)) // _GIB
            more = f", at most {size} GiB a partition, or its part of `KAFKA_PAGES_GB`" if size else ""
            lines.append(_line(topic.name, f"{days} d{more}", "Kafka"))
    return lines


def _metrics() -> Iterable[str]:
    import metric_pages  # noqa: PLC0415  # a neighbour of this file

    from strider.runtime.observability.metrics import RUNTIME_METRICS  # noqa: PLC0415  # as above

    own = [metric for metrics in metric_pages.service_metrics().values() for metric in metrics]
    for metric in (*RUNTIME_METRICS, *own):
        if metric.labels:
            limit = f"{metric.max_series} of {', '.join(metric.labels)}; further ones count as `other`"
            yield _line(metric.sample_name, limit, "`runtime/observability/metrics.py`")


def _line(name: str, limit: str, enforcer: str) -> str:
    return f"| `{name}` | {limit} | {enforcer} |\n"
