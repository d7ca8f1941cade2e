"""Scripts as they are put together."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from strider.frontier.redis.function_library import FUNCTIONS, LIBRARY_PARTS, frontier_function
from strider.storage.lua_files import parse_script


def _stored() -> set[str]:
    return {
        each.name
        for each in files("strider.frontier.redis.lua").iterdir()
        if each.name.startswith("frontier_")
    }


def test_every_file_is_used_and_every_script_has_its_file() -> None:
    """A file that no call runs misleads every reader."""
    used = {f"frontier_{name}.lua" for name in FUNCTIONS} | {
        f"frontier_part_{part}.lua" for part in LIBRARY_PARTS
    }

    assert used == _stored()


@pytest.mark.parametrize("file", sorted(_stored()))
def test_every_file_documents_keys_arguments_and_result(file: str) -> None:
    """Scripts are read more often than they are written."""
    text = files("strider.frontier.redis.lua").joinpath(file).read_text(encoding="utf-8")

    assert parse_script(file.removesuffix(".lua"), text).text == text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_full_server_refuses_only_what_makes_it_fuller(name: str) -> None:
    """It must never stop settling and releasing."""
    [flags] = re.findall(
        rf"^define\('{name}', '\w+', {{(.*?)}}, ", frontier_function(name).text, re.MULTILINE
    )

    assert flags == (
        "" if name in {"accept", "intern", "load_seen", "record_seen", "refill"} else "'allow-oom'"
    )


def test_all_scripts_are_one_library_with_the_hash_of_its_text_in_its_name() -> None:
    """Processes of two versions may use one server, and neither takes the other's functions away."""
    scripts = [frontier_function(name) for name in FUNCTIONS]
    first, *_ = scripts[0].text.splitlines()

    assert len({script.text for script in scripts}) == 1
    assert (found := re.fullmatch(r"#!lua name=(strider_frontier_[0-9a-f]{12})", first))
    assert [script.name for script in scripts] == [f"{found[1]}_{name}" for name in FUNCTIONS]
    assert all(script.is_function for script in scripts)
