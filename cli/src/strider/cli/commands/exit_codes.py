"""strider exit-codes: print the exit codes of all commands."""

from __future__ import annotations

import typer

from strider.cli.exit_codes import EXIT_MEANINGS
from strider.cli.options import AsJson
from strider.cli.output import print_json, print_table

app = typer.Typer(add_completion=False)


@app.command("exit-codes")
def exit_codes(as_json: AsJson = False) -> None:
    """Print the exit codes, which mean the same for every command."""
    if as_json:
        print_json({code.value: meaning for code, meaning in EXIT_MEANINGS.items()}, indent=1)
        return
    rows = [(str(code.value), code.name.lower(), meaning) for code, meaning in EXIT_MEANINGS.items()]
    print_table(("code", "name", "meaning"), rows, wrapped=("meaning",))
