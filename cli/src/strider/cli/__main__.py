"""The strider command, from its first line: reading libraries takes a while, and Ctrl-C ends that too.

Decides nothing but that; the words are in `words`.
"""

from __future__ import annotations

import gc

EXIT_INTERRUPTED = 130

OBJECTS_OF_LIBRARIES = 100_000
"""So many new objects before the collector looks: what libraries make while they are read stays."""


def main() -> None:
    """Run the command line; whoever interrupts it sees no traceback."""
    gc.set_threshold(OBJECTS_OF_LIBRARIES, 10, 10)
    try:
        from .words import run  # noqa: PLC0415  # only here an interruption can be heard

        run()
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None


if __name__ == "__main__":
    main()
