"""The layers of the repository hold; each rule is also shown a tree that it must reject."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from strider.contracts import TOPICS

from .rules import layering, names
from .rules.sources import tracked

ROOT = Path(__file__).parents[2]

Rule = Callable[[Path], list[str]]


def spelled_topics(root: Path) -> list[str]:
    return layering.spelled_topics(root, frozenset(TOPICS))


RULES: dict[Rule, dict[str, str]] = {
    layering.wrong_directions: {
        "services/a/src/strider/a/topology.py": "from strider.b.core import decide",
    },
    layering.impure_cores: {"services/a/src/strider/a/core.py": "import time"},
    layering.impure_calls: {"services/a/src/strider/a/core.py": "moment = datetime.now(UTC)"},
    layering.stray_clients: {"services/a/src/strider/a/adapters.py": "import aiokafka"},
    layering.stray_output: {"cli/src/strider/cli/crawl/a.py": "print('done')"},
    layering.listings_without_json: {
        "cli/src/strider/cli/commands/a.py": '@app.command("list")\ndef list_all(dsn: Dsn) -> None: ...'
    },
    layering.missing_service_files: {
        "services/a/pyproject.toml": "",
        "services/a/src/strider/a/core.py": "",
    },
    spelled_topics: {"services/a/src/strider/a/topology.py": "INPUT = 'seeds-submitted'"},
    layering.machine_paths: {"docs/x.md": "see /ho" + "me/somebody/strider"},
    layering.registry_hosts: {"docs/x.md": "get it from py" + "pi.org"},
    layering.namespace_breakers: {"libs/a/src/strider/__init__.py": ""},
    layering.undeclared_dependencies: {
        "libs/a/pyproject.toml": '[project]\nname = "strider-a"\ndependencies = ["orjson"]',
        "libs/a/src/strider/a/x.py": "import yaml",
    },
    layering.spelled_versions: {"libs/a/pyproject.toml": 'version = "1.0"'},
}
"""Every rule, with the smallest tree that breaks it."""


@pytest.mark.req("S4.11.2", part="libraries are shared and depend on no service")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps_the_rule(rule: Rule) -> None:
    assert rule(ROOT) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rule_rejects_what_breaks_it(rule: Rule, tmp_path: Path) -> None:
    """A checker that cannot fail checks nothing."""
    for name, text in RULES[rule].items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    assert len(rule(tmp_path)) > 0


@pytest.mark.parametrize(
    ("where", "text"),
    [
        pytest.param(
            "libs/contracts/src/strider/contracts/x.py", "import strider.messaging.ports", id="inner-to-outer"
        ),
        pytest.param(
            "libs/urls/src/strider/urls/x.py", "from strider import runtime", id="from-the-namespace"
        ),
        pytest.param(
            "services/a/src/strider/a/x.py", "from strider.testing import stack", id="service-to-testing"
        ),
        pytest.param("services/a/src/strider/a/x.py", "from ..b import core", id="relative-into-another"),
        pytest.param("cli/src/strider/cli/x.py", "from strider.testing import stack", id="cli-to-testing"),
    ],
)
def test_every_wrong_direction_is_seen(where: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / where
    path.parent.mkdir(parents=True)
    path.write_text(text)

    assert len(layering.wrong_directions(tmp_path)) == 1


@pytest.mark.parametrize(
    ("where", "text"),
    [
        pytest.param("services/a/src/strider/a/core/x.py", "from strider import runtime", id="runtime"),
        pytest.param("services/a/src/strider/a/core/x.py", "from ..adapters import store", id="adapters"),
        pytest.param("libs/urls/src/strider/urls/x.py", "import asyncio", id="a-pure-library"),
        pytest.param("libs/storage/src/strider/storage/rows/x.py", "import asyncio", id="a-pure-package"),
        pytest.param(
            "services/a/src/strider/a/core/x.py", "from strider.storage.rowsets import x", id="a-like-name"
        ),
        pytest.param("examples/a/src/strider/a/core.py", "def f():\n    import socket", id="within"),
    ],
)
def test_every_impure_import_is_seen(where: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / where
    path.parent.mkdir(parents=True)
    path.write_text(text)

    assert len(layering.impure_cores(tmp_path)) == 1


@pytest.mark.parametrize("text", ["open('x')", "date.today()", "print(1)", "datetime.datetime.utcnow()"])
def test_every_impure_call_is_seen(text: str, tmp_path: Path) -> None:
    path = tmp_path / "libs/politeness/src/strider/politeness/x.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)

    assert len(layering.impure_calls(tmp_path)) == 1


@pytest.mark.parametrize(
    ("where", "text"),
    [
        pytest.param("crawl/a.py", "typer.echo('done')", id="echo"),
        pytest.param("crawl/a.py", "sys.stdout.write('done')", id="stream"),
        pytest.param("explain/a.py", "from rich.table import Table", id="own-table"),
        pytest.param("commands/a.py", "text = json.dumps(run)", id="own-json"),
        pytest.param("commands/a.py", "text = f'{name:<9} {url}'", id="own-columns"),
        pytest.param("commands/a.py", "text = f'{name:9} {url}'", id="own-width"),
    ],
)
def test_every_own_way_of_printing_is_seen(where: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "cli/src/strider/cli" / where
    path.parent.mkdir(parents=True)
    path.write_text(text)

    assert len(layering.stray_output(tmp_path)) == 1


@pytest.mark.parametrize("folder", ["src", "core", "generated"])
def test_the_name_of_the_folder_of_a_clone_changes_nothing(folder: str, tmp_path: Path) -> None:
    """Folders above the root are not part of the repository."""
    root = tmp_path / folder / "clone"
    shipped = ["services/a/src/strider/a/adapters.py", "services/a/src/strider/a/b.py"]
    for name in ("tests/test_x.py", *shipped):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import aiokafka, time\nclass A: ...\n")

    assert layering.impure_cores(root) == []
    assert [line.split(":")[0] for line in layering.stray_clients(root)] == shipped
    assert names.repeated_classes(root) == [f"class A: {shipped[0]}:2, {shipped[1]}:2"]


def test_no_foreign_lock_file_is_kept() -> None:
    """uv.lock would write registry addresses into the repository."""
    assert [path for path in tracked(ROOT) if path.name in {"uv.lock", "poetry.lock", "Pipfile.lock"}] == []


def test_every_locked_package_has_a_hash() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    blocks = [block for block in lock.replace("\\\n", " ").splitlines() if "==" in block]

    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert len(blocks) > 50
