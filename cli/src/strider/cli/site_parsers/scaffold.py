"""Write the package of a new site parser: project file, parser, and a first test case.

Writes into an empty folder only: no work is overwritten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from strider.cli.arguments import file_error
from strider.cli.exit_codes import CommandExit
from strider.cli.output import json_text, print_text, warn
from strider.sites.base import GENERAL_PARSER_NAME

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{1,40}")
_DOMAIN: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")

_PROJECT: Final = """\
[project]
name = "strider-site-{name}"
description = "Parses pages of {domain}."
version = "1.0"
requires-python = ">=3.11"
dependencies = ["strider-sites"]

[project.entry-points."strider.site_parsers"]
{name} = "{module}:{cls}"

[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["{module}"]
"""

_PARSER: Final = '''\
"""Pages of {domain}: the selectors of their fields."""

from __future__ import annotations

from strider.sites import Select, SiteParser


class {cls}(SiteParser):
    """Parses product pages."""

    name = "{name}"
    version = "1.0"
    domains = ("{domain}",)
    paths = r""
    required = ("name", "price")
    selectors = {{
        "name": Select.text("h1"),
        "price": Select.text(".price"),
        "availability": Select.text(".stock"),
        "sku": Select.text(".sku"),
        "image_urls": Select.all(".gallery img", attribute="src"),
    }}
'''

_PAGE: Final = """\
<!doctype html><title>Kettle</title><h1>Kettle</h1><p class="price">12.50 EUR</p><p class="stock">In stock</p>
"""

_EXPECTED: Final = {"name": "Kettle", "price": "12.50", "currency": "EUR", "availability": "in_stock"}


def write_package(name: str, *, domain: str, folder: Path) -> CommandExit:
    """Write the package below a folder; returns the exit code."""
    root = folder / f"strider-site-{name}"
    try:
        if problem := _name_problem(name, domain, root):
            warn(problem)
            return CommandExit.USAGE
        _write(_files(root, name, domain))
    except OSError as failure:
        warn(file_error(root, failure))
        return CommandExit.USAGE
    print_text(f"{root}: install it (pip install -e), then: strider parser test {name}")
    return CommandExit.DONE


def _name_problem(name: str, domain: str, root: Path) -> str:
    """Return why the package cannot be written; empty where it can."""
    if _NAME.fullmatch(name) is None:
        return f"{name!r} is not a valid name: expected a letter, then a-z, 0-9 and -"
    if name == GENERAL_PARSER_NAME:
        return f"{name!r} is the name of the general parser"
    if _DOMAIN.fullmatch(domain) is None:
        return f"{domain!r} is not a domain: expected one such as tea.test, in lower-case ASCII (xn--…)"
    return f"{root} is not empty" if root.exists() and any(root.iterdir()) else ""


def _files(root: Path, name: str, domain: str) -> dict[Path, str]:
    module = f"strider_site_{name.replace('-', '_')}"
    words = {"name": name, "domain": domain, "module": module, "cls": _class_of(name)}
    case = root / module / "cases" / name / "first"
    return {
        root / "pyproject.toml": _PROJECT.format(**words),
        root / module / "__init__.py": _PARSER.format(**words),
        case / "input.html": _PAGE,
        case / "url.txt": f"https://{domain}/kettle\n",
        case / "expected.json": json_text(_EXPECTED, indent=2) + "\n",
    }


def _write(files: Mapping[Path, str]) -> None:
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _class_of(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))
