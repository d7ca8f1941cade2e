"""URL handling: wire form, key, host and origin, scope, address classes. Pure."""

from strider.contracts.partitioning import registrable_domain

from .addresses import CLOUD_METADATA, HOST_NAME, PRIVATE, address_kind, address_refusal, host_kind
from .display import escape_unstorable
from .file_types import file_extension
from .hosts import domain_of, host_group_of, host_of, origin_of
from .links import ResolvedLinks, resolve_links
from .patterns import MAX_INLINE_STEPS, InvalidPattern, compile_patterns
from .refusals import REFUSAL_DETAILS, REFUSAL_REASONS, RefusedUrl
from .scope import SCOPE_KINDS, SCOPE_REASONS, CrawlScope, build_scope
from .spec_scope import spec_scope_fault
from .url_key import UrlKeyRules, url_hash, url_key_of, url_key_of_text
from .wire_url import MAX_URL_BYTES, to_wire_url

__all__ = [
    "CLOUD_METADATA",
    "HOST_NAME",
    "MAX_INLINE_STEPS",
    "MAX_URL_BYTES",
    "PRIVATE",
    "REFUSAL_DETAILS",
    "REFUSAL_REASONS",
    "SCOPE_KINDS",
    "SCOPE_REASONS",
    "CrawlScope",
    "InvalidPattern",
    "RefusedUrl",
    "ResolvedLinks",
    "UrlKeyRules",
    "address_kind",
    "address_refusal",
    "build_scope",
    "compile_patterns",
    "domain_of",
    "escape_unstorable",
    "file_extension",
    "host_group_of",
    "host_kind",
    "host_of",
    "origin_of",
    "registrable_domain",
    "resolve_links",
    "spec_scope_fault",
    "to_wire_url",
    "url_hash",
    "url_key_of",
    "url_key_of_text",
]
