"""What is written below each setting, for whoever asks for help.

Read from the source when it is asked for: reading it for every class as it is made was a fourteenth
of a service's start, and no service ever looks.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from textwrap import dedent


def field_description(owner: type, field: str) -> str:
    """Give the text below a field where its class, or the one it derives from, declares it; on one line."""
    for declaring in owner.__mro__:
        if field in inspect.get_annotations(declaring):
            return _descriptions(declaring).get(field, "")
    return ""


@cache
def _descriptions(declaring: type) -> Mapping[str, str]:
    (body,) = ast.parse(dedent(inspect.getsource(declaring))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, below in pairwise(body.body):
        match statement, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found
