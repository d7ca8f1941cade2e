"""`strider seeds add`: lines become seeds or sentences, and every published seed is acknowledged."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from strider.cli.connections import MissingTopic
from strider.cli.seeds import reader as seeds_input
from strider.cli.seeds.credentials import SeedCredentials
from strider.cli.seeds.reader import (
    MAX_LINE_BYTES,
    BadLine,
    InputLine,
    SeedMessage,
    SeedReader,
    parse_pairs,
    parse_url_list,
)
from strider.cli.seeds.sender import SeedSender, SendListener
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import SEEDS_OWNED, SEEDS_SUBMITTED
from strider.contracts.owner_signature import SenderRole, identify_sender
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.ports import RecordMetadata
from strider.runtime.clocks import SystemClock
from strider.storage.encryption import HeaderCipher
from strider.testing.owner import HEADERS_KEY, OWNER_KEY

CODEC = Codec(SchemaStore.bundled())
OWNER = SeedCredentials(OWNER_KEY)
STANDARD = {"submitted_by": "strider seeds add", "submitted_at_ms": 77}


def a_reader(*, allow_private: bool = False, **options: Any) -> SeedReader:
    return SeedReader(options, credentials=OWNER, allow_private=allow_private, now_ms=77)


def read(text: str, **options: Any) -> SeedMessage | BadLine:
    return a_reader(**options).read(InputLine("urls.txt:3", text))


def seed_of(ready: SeedMessage | BadLine) -> SeedSubmitted:
    assert isinstance(ready, SeedMessage), ready
    return CODEC.decode(SEEDS_SUBMITTED, ready.value)


def test_a_url_becomes_a_seed_with_the_options_and_its_host_as_key() -> None:
    """Seeds of one host share a partition, and each has its own crawl options."""
    ready = read("https://A.test/x", max_depth=2, priority="low", exclude=["*.pdf"], metadata={"ticket": "7"})

    assert seed_of(ready) == SeedSubmitted(
        url="https://A.test/x",
        max_depth=2,
        priority=1,
        exclude=("*.pdf",),
        metadata={"ticket": "7"},
        **STANDARD,
    )
    assert isinstance(ready, SeedMessage)
    assert (ready.key, ready.note) == (b"a.test", "")


def test_a_json_document_may_have_more_fields_than_the_options() -> None:
    """Fields of a document apply to its URL; null leaves the field to the options."""
    ready = read('{"url": "https://a.test/", "max_depth": 5, "scope": null}', max_depth=2, scope="domain")

    assert seed_of(ready) == SeedSubmitted(url="https://a.test/", max_depth=5, scope="domain", **STANDARD)


def test_a_bare_host_name_gets_a_scheme_and_a_notice() -> None:
    """People type example.com."""
    ready = read("example.com/a")

    assert seed_of(ready).url == "https://example.com/a"
    assert isinstance(ready, SeedMessage)
    assert ready.note == "example.com/a is read as https://example.com/a"


def raw_reader(**options: Any) -> SeedReader:
    return SeedReader(options, credentials=SeedCredentials(), allow_private=False, now_ms=77)


def test_an_owner_signs_the_bytes_that_are_sent() -> None:
    ready = read("https://a.test/", job_id="news")

    assert isinstance(ready, SeedMessage)
    assert ready.note == ""
    assert identify_sender(ready.value, ready.headers, key=OWNER_KEY) is SenderRole.OWNER


@pytest.mark.fault("A7", part="encrypted by strider seeds add")
def test_personal_headers_are_encrypted_before_the_seed_is_signed() -> None:
    """Those of the options as well as those of a document."""
    cipher = HeaderCipher(HEADERS_KEY)
    owner = SeedCredentials(OWNER_KEY, protect_headers=cipher.protect)
    reader = SeedReader(
        {"headers": {"Cookie": "a=of-the-owner"}}, credentials=owner, allow_private=False, now_ms=77
    )
    document = '{"url": "https://b.test/", "headers": {"X-Api-Key": 77123, "Accept": "text/html"}}'

    assert reader.option_error() == ""
    first, second = (reader.read(InputLine("", text)) for text in ("https://a.test/", document))

    for ready, name, origin, clear in (
        (first, "Cookie", "https://a.test", "a=of-the-owner"),
        (second, "X-Api-Key", "https://b.test", "77123"),
    ):
        assert isinstance(ready, SeedMessage)
        assert identify_sender(ready.value, ready.headers, key=OWNER_KEY) is SenderRole.OWNER
        assert cipher.decrypt(name, seed_of(ready).headers[name], origin=origin) == clear
        assert clear.encode() not in ready.value
    assert seed_of(second).headers["Accept"] == "text/html"


@pytest.mark.parametrize(
    ("reader", "reason"),
    [
        pytest.param(a_reader, "STRIDER_HEADERS_KEY is not set", id="no-key"),
        pytest.param(raw_reader, "is a personal header, which a raw seed may not set", id="raw"),
    ],
)
def test_personal_headers_that_cannot_be_encrypted_are_refused_under_their_option(
    reader: Callable[..., SeedReader], reason: str
) -> None:
    fault = reader(headers={"Authorization": "Bearer of-the-owner"}).option_error()

    assert fault.startswith("--header: Authorization ")
    assert reason in fault
    assert "of-the-owner" not in fault


def test_without_a_key_the_job_that_a_seed_gets_is_reported() -> None:
    """Else its results would be looked for under another name."""
    line = InputLine("", "https://a.test/")
    notes = {
        job: ready.note
        for job in ("news", "raw.news", "adhoc")
        if isinstance(ready := raw_reader(job_id=job).read(line), SeedMessage) and not ready.headers
    }

    assert notes == {
        "news": "without STRIDER_OWNER_KEY seeds are raw: the job news becomes raw.news",
        "raw.news": "",
        "adhoc": "",
    }


def test_without_a_key_a_line_beyond_the_limits_of_raw_seeds_is_refused() -> None:
    beyond = '{"url": "https://a.test/", "delay": 0.1}'
    answer = raw_reader().read(InputLine("urls.txt:3", beyond))

    assert isinstance(answer, BadLine)
    assert answer.place == "urls.txt:3"
    assert raw_reader(delay=0.1).option_error() == "", "a loopback host may be crawled so"
    assert isinstance(raw_reader(delay=0.1).read(InputLine("", "http://127.0.0.1/")), SeedMessage)
    assert raw_reader(delay=0.1, scope="any").option_error().startswith("--delay is 0.1, a raw seed")
    assert answer.reason.startswith(
        "delay is 0.1, a raw seed may set 1 to 60 seconds (STRIDER_SEEDS_MIN_DELAY"
    )
    assert isinstance(read(beyond), SeedMessage)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no url", "'no url' is not a URL (bad_url): check its host and port"),
        ("word", "'word' is not a URL (bad_url): it has no scheme; did you mean https://word/?"),
        ("http://a..b/", "'http://a..b/' is not a URL (bad_url): its host name is invalid"),
        ("ftp://a.test/", "'ftp://a.test/' is refused (refused_scheme): only http and https are crawled"),
        (
            "http://169.254.169.254/",
            "'http://169.254.169.254/' is refused (policy_blocked): a metadata service is never crawled",
        ),
        ("https://a.test/\x07", "url contains a control character"),
        ('{"url": 7}', "url is the number 7, expected a text"),
        ('{"url": "https://a.test/", "max_deph": 1}', "'max_deph'; did you mean 'max_depth'?"),
        (
            '{"url": "https://a.test/", "job_id": "a b"}',
            "job_id contains a blank, a brace or a control character",
        ),
        ('{"max_depth": 1}', "'url' is required"),
        ("{not json", "Expecting property name enclosed in double quotes at character 1"),
    ],
)
def test_a_bad_line_has_its_sentence_and_its_place(text: str, why: str) -> None:
    """Line 400,000 of a list must be found again."""
    assert read(text) == BadLine("urls.txt:3", why)


@pytest.mark.parametrize("name", ["include", "exclude"])
def test_patterns_are_tried_before_the_first_line(name: str) -> None:
    """An invalid pattern would exclude everything, or nothing."""
    assert a_reader(**{name: ["["]}).option_error().startswith(f"--{name}: '[': unpaired bracket")


def test_a_depth_of_0_is_refused_with_what_works() -> None:
    """In a seed 0 is the default, elsewhere it means no links: an option must not do the other."""
    error = a_reader(max_depth=0).option_error()

    assert "default of 3" in error
    assert "--scope listed" in error
    assert isinstance(a_reader(scope="listed").read(InputLine("", "https://a.test/")), SeedMessage)
    assert seed_of(read('{"url": "https://a.test/", "max_depth": 0}')).max_depth == 0, (
        "a document has its own"
    )


@pytest.mark.parametrize(
    ("options", "error"),
    [
        pytest.param({"metadata": {"a": "x" * 70_000}}, "--metadata: 70", id="too-large"),
        pytest.param({"job_id": "\ud800"}, "--job: contains half of a surrogate pair", id="no-text"),
        pytest.param({"include": ["\ud800"]}, "--include: contains half of", id="no-text-in-a-list"),
        pytest.param(
            {"headers": {f"X-{number}": "1" for number in range(20)}},
            "--header: the number of headers is 20",
            id="beyond-the-limits-of-raw-seeds",
        ),
    ],
)
def test_an_error_that_names_no_field_is_put_under_the_option_that_causes_it(
    options: dict[str, Any], error: str
) -> None:
    assert raw_reader(fresh=True, **options, max_depth=2).option_error().startswith(error)


def test_options_are_tried_before_the_first_line() -> None:
    """A wrong option is one mistake, not a million."""
    assert a_reader(max_depth=2).option_error() == ""
    assert a_reader(delay=-1.0).option_error() == "--delay is -1, expected 0 to 86400"
    assert a_reader(delay=float("nan")).option_error() == "--delay is nan, expected 0 to 86400"
    assert a_reader(max_depth=11).option_error() == "--max-depth is 11, expected 1 to 10"
    assert a_reader(include=["re:("]).option_error() == "--include: 're:(': missing ): ("
    assert (
        a_reader(headers={"Host": "x"}).option_error()
        == "--header: Host is set by the crawler and cannot be changed"
    )
    assert a_reader(job_id="a b").option_error() == "--job contains a blank, a brace or a control character"


def test_private_addresses_are_sent_with_a_warning() -> None:
    """Whether they are crawled is a setting of the deployment, which may not be known here."""
    ready = read("http://127.0.0.1:8000/")

    assert isinstance(ready, SeedMessage)
    assert ready.note.startswith("http://127.0.0.1:8000/ is a private address")
    allowed = a_reader(allow_private=True).read(InputLine("", "http://127.0.0.1:8000/"))
    assert isinstance(allowed, SeedMessage)
    assert allowed.note == ""


def test_a_seed_may_name_a_spec_that_only_the_broker_knows() -> None:
    """Whether it exists is decided by its consumer."""
    assert seed_of(read('{"url": "https://a.test/", "crawl_spec_id": "f00"}')).crawl_spec_id == "f00"


def test_pairs() -> None:
    """Values may contain the separator."""
    assert parse_pairs(["a=b=c", " x = y "], "=") == {"a": "b=c", "x": "y"}
    with pytest.raises(ValueError, match="'a' is not of the form name=value"):
        parse_pairs(["a"], "=")


async def collect(arguments: Sequence[str], content: bytes | None) -> list[InputLine | BadLine]:
    stream = None if content is None else io.BytesIO(content)
    return [line async for line in parse_url_list(arguments, stream, "-")]  # type: ignore[arg-type]


async def test_lines_have_their_places_and_remarks_are_none() -> None:
    """Blank lines and comments count, so that numbers are those of an editor."""
    content = "\ufeffhttps://a.test/\r\n\n# remark\n  https://b.test/  \nlast".encode()

    assert await collect([" https://c.test/"], content) == [
        InputLine("argument 1", "https://c.test/"),
        InputLine("-:1", "https://a.test/"),
        InputLine("-:4", "https://b.test/"),
        InputLine("-:5", "last"),
    ]


async def test_a_line_without_end_is_one_bad_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piped binary file must not fill the memory."""
    monkeypatch.setattr(seeds_input, "CHUNK_BYTES", 1000)
    content = b"https://a.test/\n" + b"x" * (3 * MAX_LINE_BYTES) + b"\n\xff\nhttps://b.test/"

    assert await collect([], content) == [
        InputLine("-:1", "https://a.test/"),
        BadLine("-:2", f"longer than {MAX_LINE_BYTES} bytes"),
        BadLine("-:3", "not UTF-8 at byte 0"),
        InputLine("-:4", "https://b.test/"),
    ]


async def test_a_pipe_that_trickles_is_read_line_by_line() -> None:
    """`tail -f urls | strider seeds add -`: available lines are published at once."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, os.fdopen(writing, "wb", buffering=0) as out:
        lines = parse_url_list([], stream, "-")
        out.write(b"https://a.test/\n")
        assert await anext(lines) == InputLine("-:1", "https://a.test/")
        out.write(b"https://b.test/\nhttps://c")
        assert await anext(lines) == InputLine("-:2", "https://b.test/")
        out.close()
        assert [line async for line in lines] == [InputLine("-:3", "https://c")]
    assert all(not thread.name.startswith("seeds") or thread.daemon for thread in threading.enumerate())


class Told:
    """Records the callbacks."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, RecordMetadata]] = []
        self.bad: list[BadLine] = []
        self.notes: list[str] = []

    def teller(self) -> SendListener:
        return SendListener(
            sent=lambda url, place: self.sent.append((url, place)),
            bad=self.bad.append,
            warning=self.notes.append,
        )


async def given(*texts: str) -> AsyncIterator[InputLine | BadLine]:
    for number, text in enumerate(texts, 1):
        yield InputLine(f"-:{number}", text)


async def test_good_lines_are_sent_in_order_and_bad_ones_are_reported() -> None:
    """One invalid line stops nothing, and is counted."""
    broker, result = InProcessBroker(clock=SystemClock()), Told()
    broker.declare_topic(SEEDS_OWNED, shards=4)
    sender = SeedSender(InProcessBus(broker), a_reader(), listener=result.teller())
    urls = [f"https://h{number % 5}.test/{number}" for number in range(5_000)]

    await sender.send(given(*urls[:2_500], "ftp://a.test/", *urls[2_500:]))

    assert [url for url, _ in result.sent] == urls
    assert result.bad == [
        BadLine("-:2501", "'ftp://a.test/' is refused (refused_scheme): only http and https are crawled")
    ]
    assert (sender.counters.sent, sender.counters.bad) == (5_000, 1)
    records = {
        (record.topic, log.partition, record.offset): record
        for log in broker.topic(SEEDS_OWNED.name).partitions
        for record in log.records
    }
    assert [json.loads(records[tuple(place)].value or b"")["url"] for _, place in result.sent] == urls
    assert sender.counters.partitions == {place.partition for _, place in result.sent}


async def test_a_missing_topic_is_reported_with_what_to_do() -> None:
    """Nothing was set up yet; a seed on an automatically created topic would be worse."""
    sender = SeedSender(
        InProcessBus(InProcessBroker(clock=SystemClock())), a_reader(), listener=Told().teller()
    )

    with pytest.raises(MissingTopic, match="strider topics apply"):
        await sender.send(given("https://a.test/"))


def test_settings_of_a_line_come_before_those_of_the_options() -> None:
    """And the fields of the seed before both."""
    line = json.dumps({"url": "https://a.test/", "spec": {"max_depth": 2, "headers": {"A": "2"}}})

    seed = seed_of(read(line, spec={"max_depth": 1, "use_feeds": True, "headers": {"B": "1"}}))

    assert json.loads(seed.spec) == {"max_depth": 2, "use_feeds": True}
    assert seed.headers == {"A": "2"}


def test_personal_headers_of_settings_are_encrypted() -> None:
    credentials = SeedCredentials(OWNER_KEY, protect_headers=HeaderCipher(HEADERS_KEY).protect)
    spec = {"headers": {"Cookie": "a=of-the-owner"}, "use_feeds": True}
    reader = SeedReader({"spec": spec}, credentials=credentials, allow_private=False, now_ms=77)

    ready = reader.read(InputLine("", "https://a.test/"))

    assert seed_of(ready).headers["Cookie"].startswith("strider-encrypted-v1 https://a.test ")
    assert isinstance(ready, SeedMessage)
    assert b"of-the-owner" not in ready.value


def test_an_option_with_invalid_settings_is_named() -> None:
    assert a_reader(spec={"hosts": ["B.test"]}).option_error().startswith("--spec: spec.hosts is 'B.test'")
