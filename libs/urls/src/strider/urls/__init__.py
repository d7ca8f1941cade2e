"""What a URL is: as found, its key, its origin, its scope. Pure."""

from .addresses import METADATA, NAME, PRIVATE, PUBLIC, address_kind, address_refusal, host_kind
from .filetypes import ending, file_kind
from .found import MAX_URL_BYTES, as_found
from .hosts import domain, host, origin, registrable_domain
from .links import Links, links
from .normal import KEY_RULES, KeyRules, fingerprint, key, key_of, url_hash
from .patterns import BadPattern, Patterns, compile_patterns
from .refusals import DETAILS, REASONS, Refused
from .scope import SCOPE_KINDS, SCOPE_REASONS, Scope, scope_of
from .texts import told

__all__ = [
    "DETAILS",
    "KEY_RULES",
    "MAX_URL_BYTES",
    "METADATA",
    "NAME",
    "PRIVATE",
    "PUBLIC",
    "REASONS",
    "SCOPE_KINDS",
    "SCOPE_REASONS",
    "BadPattern",
    "KeyRules",
    "Links",
    "Patterns",
    "Refused",
    "Scope",
    "address_kind",
    "address_refusal",
    "as_found",
    "compile_patterns",
    "domain",
    "ending",
    "file_kind",
    "fingerprint",
    "host",
    "host_kind",
    "key",
    "key_of",
    "links",
    "origin",
    "registrable_domain",
    "scope_of",
    "told",
    "url_hash",
]
