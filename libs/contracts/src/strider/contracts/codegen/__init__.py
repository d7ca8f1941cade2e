"""Code generator: `schemas/` to event classes, enums, topic registry and resolved schemas.

    python -m strider.contracts.codegen [--check] [--release VERSION] [--root DIRECTORY]

The files under `schemas/` are the only hand-written contracts. The generated files are committed, so that
nothing is generated at run time and the code can be read. `asyncapi`, `markdown` and `strimzi` render the
registry that ships with the package, so an installed command renders the same as the repository's check.
"""

from .declarations import DeclarationError
from .loader import load_declarations
from .outputs import render_outputs

__all__ = ["DeclarationError", "load_declarations", "render_outputs"]
