"""The strider command, from its first line: reading libraries takes a while, and Ctrl-C ends that too.

Decides nothing but that; the words are in `words`.
"""

from __future__ import annotations

EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command line; whoever interrupts it sees no traceback."""
    try:
        from .words import run  # noqa: PLC0415  # only here an interruption can be heard

        run()
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None


if __name__ == "__main__":
    main()
