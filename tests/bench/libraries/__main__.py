"""python -m tests.bench.libraries [TASK ...]: own code of the parser against libraries, in Markdown tables.

Libraries that the parser does not use are read from .strider/bench/libraries, where they are installed by

    uv pip install --target .strider/bench/libraries -r tests/bench/libraries/requirements.txt

A library that is not installed is skipped, and its row says so.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from .comparison import Task, compare
from .json_values import broken_json, object_literals
from .lists import feeds, sitemaps
from .markup import rdfa
from .text_values import CORPORA, charsets, dates, declarations, prices

PLACE: Final = Path(__file__).parents[3] / ".strider" / "bench" / "libraries"
TASKS: Final[dict[str, Callable[[], Task]]] = {
    "feeds": feeds,
    "sitemaps": sitemaps,
    "json": broken_json,
    "literals": object_literals,
    "rdfa": rdfa,
    "dates": dates,
    "prices": prices,
    "declarations": declarations,
    "charsets": charsets,
}


def main(names: Sequence[str]) -> int:
    """Compare the named tasks, or all; 2 for an unknown name or missing corpora."""
    unknown = [name for name in names if name not in TASKS]
    if unknown:
        sys.stderr.write(f"unknown task {', '.join(unknown)}; known: {', '.join(TASKS)}\n")
        return 2
    if not CORPORA.is_dir():
        sys.stderr.write(f"no corpora at {CORPORA}: nothing to measure\n")
        return 2
    sys.path.append(str(PLACE))  # packages of the environment take precedence
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    for name in names or TASKS:
        print(compare(TASKS[name]()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
