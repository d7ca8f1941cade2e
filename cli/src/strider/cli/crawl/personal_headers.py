"""Encrypt the personal headers of a crawl for the origins of its start URLs.

The crawl spec is in the state file, in messages and in dead letters; the key is in none of these. It is in
STRIDER_HEADERS_KEY, or beside the state file, readable for its user alone, or in memory where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from strider.cli.arguments import file_error
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.politeness import DecryptHeader, HeaderRefused, personal_headers, refuse_encrypted
from strider.urls import RefusedUrl, origin_of, to_wire_url

from .request import BadCrawlRequest


def protect_personal_headers(
    spec: CrawlSpecDeclared, seeds: Iterable[str], *, keys: str, resume: Path | None
) -> tuple[CrawlSpecDeclared, DecryptHeader]:
    """Return a crawl spec without clear personal headers, and what decrypts them; raises BadCrawlRequest."""
    if not personal_headers(spec.headers):
        return spec, refuse_encrypted
    from strider.storage.encryption import HeaderCipher  # noqa: PLC0415  # most crawls load no cryptography

    cipher = HeaderCipher(_keys(keys, resume))
    found = [url for seed in seeds if not isinstance(url := to_wire_url(seed), RefusedUrl)]
    try:
        headers = cipher.protect(spec.headers, map(origin_of, found))
    except HeaderRefused as refused:
        raise BadCrawlRequest(f"--header: {str(refused).removeprefix('headers: ')}") from refused
    return replace(spec, headers=headers), cipher.decrypt


def _keys(configured: str, resume: Path | None) -> str:
    """Return the key that the state file was written with; else the configured one, or a new one."""
    from strider.localstack.plan.key_files import new_key, write_key  # noqa: PLC0415  # likewise

    new = configured or new_key()
    if resume is None:
        return new
    path = resume.with_name(f"{resume.name}.key")
    try:
        if path.exists():
            return path.read_text("utf-8").strip()
        write_key(path, new)
    except (OSError, UnicodeDecodeError) as failure:
        raise BadCrawlRequest(file_error(path, failure, option="--resume")) from failure
    return new
