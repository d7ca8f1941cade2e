"""Read seeds from arguments, a file or a pipe: URLs or JSON documents.

Each one is validated with the code of the service that will consume it, so that a mistake is reported
here, with its line, and not later in a dead-letter topic. Publishes nothing.

A pipe may bring a million lines, or one a minute; so it is read in a daemon thread, which does not delay
the end of the command, and few lines are in memory.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any, BinaryIO, Final, NamedTuple

from strider.cli.typed_urls import BadTypedUrl, read_url, refusal_text
from strider.contracts import DecodeError, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.contracts.ids import ADHOC_JOB_ID
from strider.contracts.owner_signature import SenderRole
from strider.contracts.seed_limits import DEFAULT_DEPTH, MAX_DEPTH, seed_range_error
from strider.contracts.seed_names import LIMIT_FIELDS, job_id_of_seed
from strider.contracts.seeds import FIELD_ALIASES
from strider.link_ingestion.core import AcceptedSeed, RefusedSeed, SeedPosition, SeedRules, accept_seed
from strider.messaging.ports import Header
from strider.politeness import personal_headers
from strider.urls import (
    PRIVATE,
    REFUSAL_DETAILS,
    REFUSAL_REASONS,
    RefusedUrl,
    host_kind,
    host_of,
    origin_of,
    to_wire_url,
)

from .credentials import SeedCredentials

CHUNK_BYTES: Final = 64 * 1024
CHUNKS_AHEAD: Final = 4

MAX_LINE_BYTES: Final = 64 * 1024
"""Room for a seed with all of its fields."""


async def parse_url_list(
    arguments: Sequence[str], stream: BinaryIO | None, name: str
) -> AsyncIterator[InputLine | BadLine]:
    """Return the arguments, then the lines of a stream."""
    for number, text in enumerate(arguments, 1):
        yield InputLine(f"argument {number}", text.strip())
    if stream is None:
        return
    number, rest, is_too_long = 0, b"", False
    async for chunk in _read_chunks(stream):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            if not is_too_long and (read := _parse_line(line, f"{name}:{number}")) is not None:
                yield read
            is_too_long = False
        if len(rest) > MAX_LINE_BYTES:
            if not is_too_long:
                yield BadLine(f"{name}:{number + 1}", f"longer than {MAX_LINE_BYTES} bytes")
            rest, is_too_long = b"", True
    if not is_too_long and (last := _parse_line(rest, f"{name}:{number + 1}")) is not None:
        yield last


def _parse_line(raw: bytes, place: str) -> InputLine | BadLine | None:
    """Parse one line; None for a blank line or a comment."""
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as failure:
        return BadLine(place, f"not UTF-8 at byte {failure.start}")
    return InputLine(place, text) if text and not text.startswith("#") else None


async def _read_chunks(stream: BinaryIO) -> AsyncIterator[bytes]:
    """Read what is available, as soon as it is. Ends with the stream; raises its OSError."""
    queue: asyncio.Queue[bytes | OSError] = asyncio.Queue(CHUNKS_AHEAD)
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            for part in _read_parts(stream):
                asyncio.run_coroutine_threadsafe(queue.put(part), loop).result()
        except (RuntimeError, CancelledError):
            return  # the command has ended, and its loop with it

    Thread(target=read, name="seeds", daemon=True).start()
    while (part := await queue.get()) != b"":
        if isinstance(part, OSError):
            raise part
        yield part


def _read_parts(stream: BinaryIO) -> Iterator[bytes | OSError]:
    """Return what can be read, then b"", or the failure."""
    try:
        # Without the stream's own buffer, whose lock a waiting thread would hold at exit.
        number = stream.fileno()
    except OSError:  # a stream in memory
        yield from iter(partial(stream.read, CHUNK_BYTES), b"")
        yield b""
        return
    try:
        yield from iter(partial(os.read, number, CHUNK_BYTES), b"")
    except OSError as failure:
        yield failure
    else:
        yield b""


SUBMITTED_BY: Final = "strider seeds add"
PROBE_URL: Final = "http://127.0.0.1/"
"""URL that options are validated with before the first line is read: on no host is more allowed."""

ZERO_DEPTH: Final = (
    f"--max-depth 0 would mean the default of {DEFAULT_DEPTH} in a seed: leave it out for the default, "
    "or give --scope listed to fetch the given URLs only"
)

_OPTIONS: Final = {
    "job_id": "--job",
    "execution_id": "--run",
    "headers": "--header",
    "extraction": "--extract",
}
"""Options that are not spelt like their field."""
OWN_FIELDS: Final = frozenset({"submitted_by", "submitted_at_ms"})
"""Fields that no option sets."""
_LEADING_FIELD: Final = re.compile(r"(?P<name>[a-z_]+)(?=[: ])")

_RUN_FIELDS: Final = ("execution_id", "crawl_spec_id", "spec", *LIMIT_FIELDS)
"""Fields of a seed that the name of its run depends on."""

_NO_POSITION: Final = SeedPosition("", 0, 0)


class InputLine(NamedTuple):
    """A line of the input, and its place."""

    place: str
    """`argument 2`, `urls.txt:17`."""
    text: str


@dataclass(frozen=True, slots=True)
class SeedMessage:
    """A seed as a message."""

    url: str
    key: bytes | None
    value: bytes
    note: str = ""
    """A warning about the seed, which is valid."""
    headers: tuple[Header, ...] = ()
    """The owner's signature, where there is a key."""
    execution_id: str = ""
    """Run that the seed will belong to; one that it does not name depends on its message."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not a seed, and the reason."""

    place: str
    reason: str


class SeedReader:
    """Makes seeds of lines; fields that a line does not have are taken from the options."""

    def __init__(
        self, options: Mapping[str, Any], *, credentials: SeedCredentials, allow_private: bool, now_ms: int
    ) -> None:
        self._credentials = credentials
        self._now_ms = now_ms
        self._options = {"submitted_by": SUBMITTED_BY, "submitted_at_ms": now_ms, **options}
        self._allow_private = allow_private
        self._codec = Codec(SchemaStore.bundled())

    @property
    def topic(self) -> Topic[SeedSubmitted]:
        """Topic that the seeds are for."""
        return self._credentials.topic

    def option_error(self) -> str:
        """Return what is wrong with the options; empty where they are valid."""
        depth = self._options.get("max_depth")
        if depth == 0:
            return ZERO_DEPTH
        if depth is not None and not 1 <= depth <= MAX_DEPTH:
            return f"--max-depth is {depth}, expected 1 to {MAX_DEPTH}"
        for name, value in self._options.items():
            # JSON has no NaN and no infinity, and its error would name no option.
            if isinstance(value, int | float) and (
                fault := seed_range_error(name, value, display_name=option_of_field(name))
            ):
                return fault
        probe = self.read(InputLine("", PROBE_URL))
        return self._under_option(probe.reason) if isinstance(probe, BadLine) else ""

    def _under_option(self, reason: str) -> str:
        """Name the option of an error: by the field that it starts with, else the one that causes it."""
        field = _LEADING_FIELD.match(reason)
        if field is not None and field["name"] in SeedSubmitted.__dataclass_fields__:
            return option_of_field(field["name"]) + reason[field.end() :]
        for name in (each for each in self._options if each not in OWN_FIELDS):
            others = {each: value for each, value in self._options.items() if each != name}
            if not isinstance(self._with_options(others).read(InputLine("", PROBE_URL)), BadLine):
                return f"{option_of_field(name)}: {reason}"
        return reason

    def _with_options(self, options: Mapping[str, Any]) -> SeedReader:
        return SeedReader(
            options, credentials=self._credentials, allow_private=self._allow_private, now_ms=self._now_ms
        )

    def read(self, line: InputLine) -> SeedMessage | BadLine:
        """Parse and validate one line."""
        try:
            fields, note = self._fields_of(line.text)
            fields = _combined(self._options, fields)
            value = json.dumps(fields, ensure_ascii=False).encode()
            seed = self._codec.decode(SEEDS_SUBMITTED, value)
        except DecodeError as failure:
            return BadLine(line.place, failure.detail)
        except UnicodeEncodeError:
            return BadLine(line.place, "contains half of a surrogate pair")
        except BadTypedUrl as refused:
            return BadLine(line.place, str(refused))
        accepted = _accept(seed, self._credentials)
        if isinstance(accepted, RefusedSeed):
            return BadLine(line.place, _refusal_text(accepted))
        if personal_headers(seed.headers):
            value = json.dumps({**fields, "headers": self._protected(seed)}, ensure_ascii=False).encode()
        note = note or _name_note(seed, self._credentials)
        if not note and not self._allow_private and host_kind(_host_of(seed.url)) == PRIVATE:
            note = f"{seed.url} is a private address: services without STRIDER_ALLOW_PRIVATE refuse it"
        headers = self._credentials.headers(value)
        run = accepted.origin.execution_id
        return SeedMessage(seed.url, SEEDS_SUBMITTED.key_of(seed), value, note, headers, run)

    def closing_of(self, seed: SeedMessage) -> SeedMessage:
        """Return the message that closes the run of a seed: with the fields that its name depends on."""
        fields = json.loads(seed.value)
        named = {name: fields[name] for name in _RUN_FIELDS if name in fields}
        value = json.dumps(
            {**named, "close": True, "submitted_by": SUBMITTED_BY}, ensure_ascii=False
        ).encode()
        headers = self._credentials.headers(value)
        return SeedMessage("", None, value, headers=headers, execution_id=seed.execution_id)

    def _protected(self, seed: SeedSubmitted) -> dict[str, str]:
        """Return the headers of an accepted seed as they are published."""
        found = to_wire_url(seed.url)
        assert not isinstance(found, RefusedUrl), "validated before"
        return self._credentials.protect_headers(seed.headers, (origin_of(found),))

    def _fields_of(self, text: str) -> tuple[dict[str, Any], str]:
        if not text.startswith("{"):
            typed = read_url(text)
            return {"url": typed.text}, typed.note
        # The topic's own decoder first: it names the field that is wrong.
        self._codec.decode(SEEDS_SUBMITTED, text.encode())
        fields: dict[str, Any] = json.loads(text)
        fields = {FIELD_ALIASES.get(name, name): value for name, value in fields.items()}
        return {name: value for name, value in fields.items() if value is not None}, ""


def _combined(options: Mapping[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a seed: those of the line come first, and headers are those of the seed alone."""
    fields = {**options, **line}
    if not isinstance(fields.get("spec"), dict):
        return fields
    spec = {**options.get("spec", {}), **fields["spec"]}
    if isinstance(headers := spec.pop("headers", None), dict):
        fields["headers"] = {**headers, **fields.get("headers", {})}
    return {**fields, "spec": spec}


def option_of_field(name: str) -> str:
    """Return the option that sets a field of the seeds."""
    return _OPTIONS.get(name) or f"--{name.replace('_', '-')}"


def parse_pairs(texts: Iterable[str], separator: str) -> dict[str, str]:
    """Parse `name=value` or `Name: value`; raises ValueError with one sentence."""
    pairs = {}
    for text in texts:
        name, mark, value = text.partition(separator)
        if not mark or not name.strip():
            raise ValueError(f"{text!r} is not of the form name{separator}value")
        pairs[name.strip()] = value.strip()
    return pairs


def _accept(seed: SeedSubmitted, credentials: SeedCredentials) -> AcceptedSeed | RefusedSeed:
    """Return what link-ingestion will make of the seed."""
    spec_id = seed.crawl_spec_id or ""
    known = {spec_id: CrawlSpecDeclared(crawl_spec_id=spec_id)} if spec_id else {}  # only the broker has it
    return accept_seed(
        seed,
        _NO_POSITION,
        sender=credentials.role,
        timestamp_ms=0,
        known_specs=known,
        rules=SeedRules(True, credentials.limits, credentials.protect_headers),
    )


def _refusal_text(result: RefusedSeed) -> str:
    if result.reason == "bad_seed":
        return result.detail
    if result.reason in REFUSAL_REASONS:
        detail = result.detail if result.detail in REFUSAL_DETAILS else ""
        return refusal_text(result.url, RefusedUrl(result.reason, detail))
    return f"{result.url[:120]!r}: {result.detail or result.reason}"


def _name_note(seed: SeedSubmitted, credentials: SeedCredentials) -> str:
    """Return that the names of a raw seed are changed; empty where they are not."""
    if credentials.role is SenderRole.OWNER:
        return ""
    job_id = job_id_of_seed(seed, credentials.role)
    if not seed.job_id or job_id in {seed.job_id, ADHOC_JOB_ID}:
        return ""
    return f"without STRIDER_OWNER_KEY seeds are raw: the job {seed.job_id} becomes {job_id}"


def _host_of(url: str) -> str:
    found = to_wire_url(url)
    assert not isinstance(found, RefusedUrl), "validated before"
    return host_of(found)
