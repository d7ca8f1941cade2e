"""Read RDFa Lite, and the attributes `about`, `content` and `rel` of full RDFa.

Returns subjects in JSON-LD's expanded form: full names, every value in an array; references stay as they are,
and the page itself is the empty one. Bounded in elements and in the length of values; a page without RDFa is
not traversed. Decides nothing about what a subject means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

from selectolax.lexbor import LexborNode

from .traversal import Attributes

MAX_NODES: Final = 20_000
MAX_SUBJECTS: Final = 500
MAX_VALUE_CHARS: Final = 4_000
CHARS_PER_NODE: Final = 100
"""Text that costs as much as one more element."""

PAGE_SUBJECT: Final = ""
"""The subject that is the page itself."""

_RDFA_SELECTOR: Final = "[typeof],[vocab],body [property]"
_USES_VOCABULARY: Final = "http://www.w3.org/ns/rdfa#usesVocabulary"
_PREFIX: Final = re.compile(r"([A-Za-z][\w.-]*):\s+(\S+)")
_KNOWN_PREFIXES: Final = {
    "article": "http://ogp.me/ns/article#",
    "cc": "http://creativecommons.org/ns#",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/terms/",
    "dc11": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "gr": "http://purl.org/goodrelations/v1#",
    "og": "http://ogp.me/ns#",
    "product": "http://ogp.me/ns/product#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "http://schema.org/",
    "sioc": "http://rdfs.org/sioc/ns#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "v": "http://rdf.data-vocabulary.org/#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""Prefixes that pages use without declaring them."""

_TERMS: Final = {
    "describedby": "http://www.w3.org/2007/05/powder-s#describedby",
    "license": "http://www.w3.org/1999/xhtml/vocab#license",
    "role": "http://www.w3.org/1999/xhtml/vocab#role",
}
_VALUE_ATTRIBUTES: Final = {"data": "value", "meter": "value", "time": "datetime"}


@dataclass(frozen=True, slots=True)
class _RdfaScope:
    """Context that an element inherits."""

    subject: str
    target: str
    """The subject of nested elements, unless they name their own."""
    vocabulary: str
    prefixes: Mapping[str, str]
    language: str
    pending: tuple[str, ...] = ()
    """Relations to the first subject within."""


def read_rdfa(root: LexborNode) -> tuple[dict[str, Any], ...]:
    """Read all subjects of a tree."""
    return _RdfaReader().read(root) if root.css_first(_RDFA_SELECTOR) is not None else ()


class _RdfaReader:
    """Reads one tree within one budget of nodes."""

    def __init__(self) -> None:
        self._nodes_left = MAX_NODES
        self._numbers = count(1)
        self._subjects: dict[str, dict[str, Any]] = {}

    def read(self, root: LexborNode) -> tuple[dict[str, Any], ...]:
        """Traverse in document order with a stack of its own: trees are deeper than Python's stack."""
        waiting = [(root, _RdfaScope(PAGE_SUBJECT, PAGE_SUBJECT, "", _KNOWN_PREFIXES, ""))]
        while waiting and self._nodes_left > 0:
            self._nodes_left -= 1
            node, scope = waiting.pop()
            within = self._read_element(node, scope)
            waiting.extend((child, within) for child in list(node.iter())[::-1])
        return tuple(self._subjects.values())

    def _read_element(self, node: LexborNode, above: _RdfaScope) -> _RdfaScope:
        attrs = node.attributes
        if not attrs:
            return above
        scope = self._scope(attrs, above)
        named = self._resource(attrs, scope)
        about = self._iri(attrs["about"] or "", scope) if "about" in attrs else ""
        relations = self._relations(attrs, scope)
        is_new = "typeof" in attrs
        if relations:
            subject = about or scope.target
            other = named or (self._blank_node() if is_new and not about else "")
            typed = about or other
        elif "property" in attrs and "content" not in attrs and "datatype" not in attrs:
            subject = about or scope.target
            typed = (about or named or self._blank_node(node, scope)) if is_new else ""
            other = typed
        else:
            subject = about or named or (self._blank_node(node, scope) if is_new else scope.target)
            typed, other = subject, ""
        if is_new:
            for name in self._expand_names(attrs["typeof"] or "", scope):
                self._add_value(typed, "@type", name)
        for relation in relations if other else ():
            self._add_value(subject, relation, {"@id": other})
        for name in self._expand_names(attrs.get("property") or "", scope):
            is_item = is_new and not about and not relations and typed != subject
            value = {"@id": typed} if is_item else self._value(node, attrs, scope)
            self._add_value(subject, name, value)
        says_something = subject != scope.target or "property" in attrs or is_new or bool(relations)
        for relation in scope.pending if says_something else ():
            self._add_value(scope.subject, relation, {"@id": subject})
        return self._child_scope(scope, subject, other, relations)

    def _child_scope(
        self, scope: _RdfaScope, subject: str, other: str, relations: tuple[str, ...]
    ) -> _RdfaScope:
        if relations and not other:
            return replace(scope, subject=subject, target=self._blank_node(), pending=relations)
        if subject == scope.target and not other:
            return scope
        return replace(scope, subject=subject, target=other or subject, pending=())

    def _scope(self, attrs: Attributes, above: _RdfaScope) -> _RdfaScope:
        scope = above
        if "vocab" in attrs:
            vocabulary = (attrs["vocab"] or "").strip()
            scope = replace(scope, vocabulary=vocabulary)
            if vocabulary:
                self._add_value(PAGE_SUBJECT, _USES_VOCABULARY, {"@id": vocabulary})
        stated = {name.lower(): iri for name, iri in _PREFIX.findall(attrs.get("prefix") or "")}
        stated |= {name[6:]: iri or "" for name, iri in attrs.items() if name.startswith("xmlns:")}
        if stated:
            scope = replace(scope, prefixes={**scope.prefixes, **stated})
        language = attrs.get("lang") if "lang" in attrs else attrs.get("xml:lang")
        return scope if language is None else replace(scope, language=language.strip())

    def _relations(self, attrs: Attributes, scope: _RdfaScope) -> tuple[str, ...]:
        """Return relations with full or prefixed names only: plain `rel` values belong to HTML."""
        bare = replace(scope, vocabulary="")
        return self._expand_names(attrs.get("rel") or "", bare)

    def _expand_names(self, text: str, scope: _RdfaScope) -> tuple[str, ...]:
        return tuple(filter(None, (_expand_name(word, scope) for word in text.split()[:20])))

    def _resource(self, attrs: Attributes, scope: _RdfaScope) -> str:
        if attrs.get("resource") is not None:
            return self._iri(attrs["resource"] or "", scope)
        stated = attrs.get("href") if "href" in attrs else attrs.get("src")
        return "" if stated is None else stated.strip()[:MAX_VALUE_CHARS]

    def _iri(self, text: str, scope: _RdfaScope) -> str:
        wanted = text.strip().removeprefix("[").removesuffix("]")
        if wanted.startswith("_:"):
            return wanted
        prefix, colon, local = wanted.partition(":")
        if colon and not local.startswith("//") and prefix.lower() in scope.prefixes:
            return scope.prefixes[prefix.lower()] + local
        return wanted[:MAX_VALUE_CHARS]

    def _value(self, node: LexborNode, attrs: Attributes, scope: _RdfaScope) -> dict[str, Any]:
        kind = attrs.get("datatype")
        stated = attrs.get("content")
        if stated is None:
            stated = attrs.get(_VALUE_ATTRIBUTES.get(node.tag or "", ""))
        is_link = stated is None and kind is None and "rel" not in attrs
        if is_link and (named := self._resource(attrs, scope)):
            return {"@id": named}
        text = node.text() if stated is None else stated
        self._nodes_left -= len(text) // CHARS_PER_NODE
        value = {"@value": " ".join(text[: 4 * MAX_VALUE_CHARS].split())[:MAX_VALUE_CHARS]}
        if kind and (full := _expand_name(kind.strip(), scope)):
            return {"@type": full, **value}
        return {"@language": scope.language, **value} if scope.language else value

    def _blank_node(self, node: LexborNode | None = None, scope: _RdfaScope | None = None) -> str:
        if node is not None and scope is not None and node.tag in {"html", "head", "body"}:
            return scope.target
        return f"_:{next(self._numbers):06}"

    def _add_value(self, subject: str, name: str, value: Any) -> None:
        known = self._subjects.get(subject)
        if known is None:
            if len(self._subjects) >= MAX_SUBJECTS:
                return
            known = self._subjects[subject] = {"@id": subject}
        values = known.setdefault(name, [])
        if value not in values[:MAX_SUBJECTS]:
            values.append(value)


def _expand_name(word: str, scope: _RdfaScope) -> str:
    """Return the full name; empty for an invalid one."""
    prefix, colon, local = word.partition(":")
    if not colon:
        return scope.vocabulary + word if scope.vocabulary else _TERMS.get(word.lower(), "")
    if prefix.lower() in scope.prefixes and not local.startswith("//"):
        return scope.prefixes[prefix.lower()] + local
    return word if local.startswith("//") else ""
