"""Scripts as they are put together."""

from __future__ import annotations

from importlib.resources import files

import pytest

from strider.stores.frontier.redis_scripts import PARTS, frontier_script
from strider.stores.scripts import parse_script


def _stored() -> set[str]:
    return {each.name for each in files("strider.stores.lua").iterdir() if each.name.startswith("frontier_")}


def test_every_file_is_used_and_every_script_has_its_file() -> None:
    """A file that nobody runs is read by everybody."""
    parts = {part for named in PARTS.values() for part in named}

    used = {f"frontier_{name}.lua" for name in PARTS} | {f"frontier_part_{part}.lua" for part in parts}

    assert used == _stored()


@pytest.mark.parametrize("file", sorted(_stored()))
def test_every_file_says_keys_arguments_and_result(file: str) -> None:
    """Scripts are read more often than they are written."""
    text = files("strider.stores.lua").joinpath(file).read_text(encoding="utf-8")

    assert parse_script(file.removesuffix(".lua"), text).text == text


@pytest.mark.parametrize("name", sorted(PARTS))
def test_a_full_server_refuses_only_what_makes_it_fuller(name: str) -> None:
    """It must never stop settling and releasing."""
    first, *_ = frontier_script(name).text.splitlines()

    assert first == ("#!lua" if name in {"accept", "name", "refill", "remember"} else "#!lua flags=allow-oom")
