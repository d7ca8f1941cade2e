"""From `schemas/` to code: event classes, topic registry, checked words, resolved schemas.

    python -m strider.contracts.codegen [--check] [--release VERSION] [--root DIRECTORY]

The files under `schemas/` are the only place where a contract is written by hand. What is made of
them is committed, so that nothing is generated at run time and a reader of the code sees it all.
"""

from .declarations import DeclarationError
from .loader import load_declarations
from .outputs import render_outputs

__all__ = ["DeclarationError", "read_declarations", "render_outputs"]
