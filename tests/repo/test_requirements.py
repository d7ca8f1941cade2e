"""docs/requirements.md says what the tests' marks say, and a mark cannot name what does not exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from .rules.sources import load_tool

requirements = load_tool("requirements")

ROOT = Path(__file__).parents[2]


def test_the_page_is_current() -> None:
    assert (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8") == requirements.render()


def test_all_acceptance_lines_are_listed() -> None:
    """621 lines stand in the design; losing one would make the page lie by silence."""
    assert len(requirements.wording()) == 621


def test_a_mark_that_names_nothing_is_refused() -> None:
    marked = {"S9.9.9": [requirements.TestMark("tests/x.py::test_y", "unit")]}

    assert requirements.unknown(marked, {"S1.1.1": ("text", "lib")}) == [
        "tests/x.py::test_y marks S9.9.9, which is no acceptance line"
    ]


NO_PROCESS = "not on a running process"


@pytest.mark.parametrize(
    ("folder", "owner", "mark", "state"),
    [
        pytest.param("unit", "lib", "'S1.1.1'", "shown (unit) by `{}`", id="shown"),
        pytest.param(
            "e2e", "api", "'S1.1.1'", f"partly (adapter): {NO_PROCESS}, by `{{}}`", id="a-service-in-the-test"
        ),
        pytest.param("unit", "lib", "'S1.1.2'", "open", id="no-mark"),
        pytest.param("unit", "lib", "'S1.1.1', part='half'", "partly (unit): half, by `{}`", id="a-part"),
        pytest.param(
            "unit", "api", "'S1.1.1'", f"partly (unit): {NO_PROCESS}, by `{{}}`", id="a-service-by-functions"
        ),
    ],
)
def test_the_state_follows_from_mark_and_level(
    folder: str, owner: str, mark: str, state: str, tmp_path: Path
) -> None:
    path = tmp_path / "tests" / folder / "test_x.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"import pytest\n\n@pytest.mark.req({mark})\ndef test_a(): ...\n")
    name = f"tests/{folder}/test_x.py::test_a"

    page = requirements.page({"S1.1.1": ("text", owner)}, requirements.marks(tmp_path / "tests"))

    assert f"| S1.1.1 | text | {owner} | {state.format(name)} |" in page


def test_a_part_at_a_higher_level_does_not_raise_the_level_of_the_whole(tmp_path: Path) -> None:
    """The best level is that of the tests that show the whole line."""
    for folder, mark in (("unit", "'S1.1.1'"), ("contract", "'S1.1.1', part='half'")):
        path = tmp_path / "tests" / folder / "test_x.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"import pytest\n\n@pytest.mark.req({mark})\ndef test_a(): ...\n")

    page = requirements.page({"S1.1.1": ("text", "lib")}, requirements.marks(tmp_path / "tests"))

    assert "| shown (unit) by `tests/unit/test_x.py::test_a` and 1 more |" in page


SERVICES = """
import subprocess, sys
class Service:
    def start(self):
        self.process = subprocess.Popen([sys.executable, "-m", "{module}"])
"""
CONFTEST = """
import pytest
from tests.helpers import Service
@pytest.fixture
def service():
    yield Service()
@pytest.fixture
def started(service): ...
"""


@pytest.mark.parametrize(
    ("folder", "test", "module", "level"),
    [
        pytest.param("integration", "def test_a(started): ...", "strider.api", "process", id="fixture"),
        pytest.param("faults", "def test_a(): Service()", "strider.api", "process", id="helper"),
        pytest.param("unit", "def test_a(): Service()", "strider.api", "process", id="whatever-the-folder"),
        pytest.param("e2e", "def test_a(started): ...", "strider.api", "e2e", id="e2e"),
        pytest.param("integration", "def test_a(database): ...", "strider.api", "adapter", id="server"),
        pytest.param("integration", "def test_a(it: Service): ...", "strider.api", "adapter", id="type-hint"),
        pytest.param("integration", "def test_a(started): ...", "http.server", "adapter", id="no-program"),
        pytest.param("contract", "def test_a(): ...", "strider.api", "contract", id="contract"),
        pytest.param("unit", "def test_a(): ...", "strider.api", "unit", id="unit"),
    ],
)
def test_the_level_is_process_when_the_test_starts_one(
    folder: str, test: str, module: str, level: str, tmp_path: Path
) -> None:
    tests = tmp_path / "tests"
    path = tests / folder / "area" / "test_x.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"from ...helpers import Service\n@pytest.mark.req('S1.1.1')\n{test}\n")
    (tests / folder / "conftest.py").write_text(CONFTEST)
    (tests / "helpers.py").write_text(SERVICES.format(module=module))

    (mark,) = requirements.marks(tests)["S1.1.1"]

    assert mark.level == level


def test_no_test_of_this_repository_is_e2e_without_a_process() -> None:
    """The folder e2e is for crawls by processes: a test in it that starts none stands in the wrong place."""
    marked = [mark for found in requirements.marks(ROOT / "tests").values() for mark in found]
    own = {mark.level for mark in marked if mark.test.startswith("tests/e2e/")}

    assert own == {"e2e"}


@pytest.mark.parametrize(
    ("text", "owner", "needed"),
    [
        ("Switch `X_Y=1`", "lib", True),
        ("text", "fet dash", False),
        ("text", "api", True),
        ("text", "ops doc", True),
        ("`open()`", "lib", False),
    ],
)
def test_lines_of_services_and_settings_need_a_running_process(
    text: str, owner: str, *, needed: bool
) -> None:
    assert requirements.needs_process(text, owner) is needed


@pytest.mark.parametrize("word", ["slow", "skipif(True, reason='x')"])
@pytest.mark.parametrize("whole_module", [True, False])
def test_a_test_that_ci_leaves_out_shows_nothing(word: str, tmp_path: Path, *, whole_module: bool) -> None:
    module = f"pytestmark = pytest.mark.{word}\n" if whole_module else ""
    own = "" if whole_module else f"@pytest.mark.{word}\n"
    path = tmp_path / "tests" / "unit" / "test_x.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"import pytest\n{module}\n{own}@pytest.mark.req('S1.1.1')\ndef test_a(): ...\n")

    assert requirements.marks(tmp_path / "tests") == {}


def _test_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tests" / "unit" / "test_x.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return tmp_path / "tests"


def test_a_mark_may_name_constants_of_its_module(tmp_path: Path) -> None:
    tests = _test_file(
        tmp_path,
        "LINES = ('S1.1.1', 'S1.1.2')\nHALF: str = 'half'\n"
        "@pytest.mark.req(*LINES, 'S1.1.3', part=HALF)\ndef test_a(): ...\n",
    )

    found = requirements.marks(tests)

    mark = requirements.TestMark("tests/unit/test_x.py::test_a", "unit", "half")
    assert found == {"S1.1.1": [mark], "S1.1.2": [mark], "S1.1.3": [mark]}


@pytest.mark.parametrize(
    "mark", ["*LINES", "*lines()", "LINE", "f'S{1}'", "*['S1.1.1', LINE]", "'S1.1.1', part=PART", "1"]
)
def test_a_mark_that_cannot_be_read_is_refused(mark: str, tmp_path: Path) -> None:
    """Left out, it would show nothing; with its part left out, it would show too much."""
    tests = _test_file(tmp_path, f"import pytest\n\n@pytest.mark.req({mark})\ndef test_a(): ...\n")

    with pytest.raises(requirements.UnreadableMark, match=r"^tests/unit/test_x\.py:3: .+ write texts"):
        requirements.marks(tests)


def test_a_line_that_the_scope_settles_is_decided() -> None:
    page = requirements.page({"S1.1.1": ("one", "doc")}, {}, frozenset({"S1.1.1"}))

    assert "| S1.1.1 | one | doc | decided: [scope](scope.md) |" in page
    counts = "0 are shown (e2e 0, process 0, adapter 0, contract 0, unit 0), 0 partly, 1 decided, 0 open."
    assert counts in page
