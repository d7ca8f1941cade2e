"""The recipe for a field of the parsed page, applied to a copy of the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .rules.sources import tracked

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "docs" / "adding-a-page-field.md"
COPIED = ("schemas", "libs", "services", "cli")


class Edit(NamedTuple):
    """A line that is inserted before another one."""

    path: str
    before: str
    line: str


EDITS = (
    Edit(
        "schemas/avro/page-parsed.v<N>.avsc",
        '    {"name": "keywords"',
        '    {"name": "recipe_probe", "type": "string", "default": "", "doc": "Its colour."},',
    ),
    Edit("schemas/examples/page-parsed/full.json", '  "keywords"', '  "recipe_probe": "#0a7b44",'),
    Edit(
        "services/parser/src/strider/parser/core/parse_page.py",
        '        "keywords": split_keywords',
        '        "recipe_probe": properties.first_of("recipe-probe")[:MAX_FIELD_CHARS],',
    ),
    Edit(
        "libs/storage/src/strider/storage/rows/pages.py",
        "    changed_at: ",
        '    recipe_probe: Annotated[str, Column(api=LIST, crawl="basic")]',
    ),
)
"""All edits of the recipe but the test and the documentation, for a field that no page has."""

MOST_EDITS = 6

REPORT = """
import json
from strider.api.core.filters import ListFilters
from strider.api.core.queries import pages_query
from strider.api.routes.response_models import PageList
from strider.cli.crawl.results import extra_fields
from strider.cli.parse.fields import page_fields
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.partial_decode import is_partial
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import PageValidated, Verdict
from strider.contracts.generated.topics import PAGES_VALIDATED
from strider.indexer.adapters.statements import PAGES
from strider.indexer.core import page_row
from strider.indexer.topology import DECODED_FIELDS
from tests.unit.parser.pages import read

page = read('<title>T</title><meta name="recipe-probe" content="#0a7b44"><p>One.')
codec = Codec(SchemaStore.bundled())
event = PageValidated(page, Verdict("valid", rules_version="1", validated_at_ms=5))
found = codec.decode(PAGES_VALIDATED, *codec.encode(PAGES_VALIDATED, event), only=DECODED_FIELDS)
row = page_row(found, "text")
schema = PageList.model_json_schema()["$defs"]["PageSummary"]["properties"]
print(json.dumps({
    "row": row.recipe_probe,
    "decoded whole": not is_partial(found.page),
    "upsert": '"recipe_probe" = excluded."recipe_probe"' in PAGES.sql,
    "select": "recipe_probe" in pages_query(ListFilters(), after=None, limit=1).sql,
    "response": schema["recipe_probe"]["type"],
    "crawl": extra_fields(page, "basic")["recipe_probe"],
    "parse": page_fields(page)["recipe_probe"],
}))
"""


class Copy:
    """A copy of the parts of the repository that the recipe changes, and commands that run its code."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for path in tracked(ROOT):
            place = path.relative_to(ROOT)
            if place.parts[0] in COPIED:
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / place)

    def run(self, *arguments: str) -> str:
        sources = [str(path) for kind in COPIED for path in sorted(self.folder.glob(f"{kind}/**/src"))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sources, str(ROOT)])}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def apply(self, edit: Edit) -> None:
        (path,) = self.folder.glob(edit.path.replace("<N>", "*"))
        text = path.read_text(encoding="utf-8")
        assert text.count(f"\n{edit.before}") == 1, edit
        path.write_text(text.replace(f"\n{edit.before}", f"\n{edit.line}\n{edit.before}"), encoding="utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    copy = Copy(tmp_path_factory.mktemp("recipe"))
    released = json.loads((copy.folder / "schemas/released/manifest.json").read_text())
    (schema,) = (copy.folder / "schemas/avro").glob("page-parsed.v*.avsc")
    if schema.stem in released:
        copy.run("-m", "strider.cli", "schemas", "new-version", "page-parsed")
    for edit in EDITS:
        copy.apply(edit)
    copy.run("-m", "strider.contracts.codegen", "--release", "9.9.9")
    copy.run("-m", "strider.cli", "migrate", "new", "recipe probe", "--page-column", "recipe_probe")
    return copy


def test_a_field_of_the_parsed_page_reaches_tables_api_and_commands(changed: Copy) -> None:
    report: Mapping[str, Any] = json.loads(changed.run("-c", REPORT))

    assert report == {
        "row": "#0a7b44",
        "decoded whole": False,
        "upsert": True,
        "select": True,
        "response": "string",
        "crawl": "#0a7b44",
        "parse": "#0a7b44",
    }


def test_the_new_version_is_compatible_and_the_migration_written(changed: Copy) -> None:
    (up,) = changed.folder.glob("libs/storage/src/strider/storage/migrations/versions/*_recipe_probe.up.sql")

    assert "all versions are compatible" in changed.run("-m", "strider.cli", "schemas", "check")
    assert "ADD COLUMN recipe_probe text NOT NULL DEFAULT '';" in up.read_text()


def test_the_recipe_names_each_edit_and_there_are_six_at_most() -> None:
    text = RECIPE.read_text(encoding="utf-8")
    numbered = [line for line in text.splitlines() if line[:1].isdigit()]

    assert [line[0] for line in numbered] == [str(number + 1) for number in range(len(numbered))]
    assert len(EDITS) < len(numbered) <= MOST_EDITS
    assert [edit.path for edit in EDITS if edit.path not in text] == []
