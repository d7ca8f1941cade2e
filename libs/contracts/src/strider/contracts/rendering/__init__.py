"""The topic registry in the languages of others: Strimzi, AsyncAPI, a table for people.

Each function turns the registry into text and reads nothing but what ships with the package, so
that an installed command renders the same as the repository's own check.
"""

from strider.contracts.codegen.asyncapi import render_asyncapi
from strider.contracts.codegen.markdown import render_markdown
from strider.contracts.codegen.strimzi import render_strimzi

__all__ = ["render_asyncapi", "render_markdown", "render_strimzi"]
