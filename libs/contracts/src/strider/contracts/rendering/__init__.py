"""The topic registry in the languages of others: Strimzi, AsyncAPI, a table for people.

Each function turns the registry into text and reads nothing but what ships with the package, so
that an installed command renders the same as the repository's own check.
"""

from .asyncapi_document import asyncapi
from .markdown_table import markdown
from .strimzi_topics import strimzi

__all__ = ["asyncapi", "markdown", "strimzi"]
