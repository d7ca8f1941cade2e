"""Entry point of the `strider` command; Ctrl-C during the import of libraries ends it too."""

from __future__ import annotations

import gc
from typing import Final

EXIT_INTERRUPTED: Final = 130

GC_THRESHOLD_OBJECTS: Final = 100_000
"""New objects before a garbage collection: what libraries create at import stays for good."""


def main() -> None:
    """Run the command line; an interruption prints no traceback."""
    gc.set_threshold(GC_THRESHOLD_OBJECTS, 10, 10)
    try:
        from .app import run  # noqa: PLC0415  # an interruption of the import is caught here

        run()
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None


if __name__ == "__main__":
    main()
