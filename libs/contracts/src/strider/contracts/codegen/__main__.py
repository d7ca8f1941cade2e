"""Command line of the code generator: write generated files, or report outdated ones."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .declarations import DeclarationError
from .outputs import differences, render_outputs, render_release, write_outputs


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m strider.contracts.codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is outdated")
    parser.add_argument("--release", metavar="VERSION", help="freeze the current schemas in schemas/released")
    parser.add_argument(
        "--root", type=Path, default=Path(), help="root of the repository (default: working directory)"
    )
    chosen = parser.parse_args(arguments)
    schemas = chosen.root.resolve() / "schemas"
    try:
        files = render_release(schemas, chosen.release) if chosen.release else {}
        files |= render_outputs(schemas)
    except DeclarationError as failure:
        print(failure, file=sys.stderr)
        return 2
    if not chosen.check:
        for path in write_outputs(files):
            print(path.relative_to(schemas.parent))
        return 0
    if difference := differences(files):
        print(f"{difference}\nfiles are outdated; run: make contracts", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
