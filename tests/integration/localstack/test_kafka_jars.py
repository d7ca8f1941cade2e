"""Kafka's jars from a mirror of the test's own, which serves them right, wrong, cut off, or not at all."""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from strider.localstack.errors import SetupFailure
from strider.localstack.servers.kafka_jars import KafkaJar, ensure_jars

from .command import Command

CONTENT = b"not much of a jar" * 1000
JARS = [
    KafkaJar("a.b", name, "1.0", sha256=hashlib.sha256(CONTENT).hexdigest(), size_bytes=len(CONTENT))
    for name in ("c", "d", "e")
]
WITHOUT = "`strider crawl` needs none of this."

pytestmark = pytest.mark.filterwarnings(
    # The client leaves the connection of a broken download to the collector.
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
)

Answer = Callable[[BaseHTTPRequestHandler], None]


def _right(request: BaseHTTPRequestHandler) -> None:
    _send(request, CONTENT, len(CONTENT))


def _wrong(request: BaseHTTPRequestHandler) -> None:
    _send(request, CONTENT[::-1], len(CONTENT))


def _cut_off(request: BaseHTTPRequestHandler) -> None:
    _send(request, CONTENT[:100], len(CONTENT))


def _none(request: BaseHTTPRequestHandler) -> None:
    request.send_error(404)


def _send(request: BaseHTTPRequestHandler, content: bytes, length: int) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(length))
    request.end_headers()
    request.wfile.write(content)


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], dict[str, str]]]:
    # Whatever proxy this machine has is not asked for our own address.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    servers: list[ThreadingHTTPServer] = []

    def serve(answer: Answer) -> dict[str, str]:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.endswith(".jar"):
                    answer(self)
                else:
                    _none(self)

            def log_message(self, *_args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return {"STRIDER_JARS_URL": f"http://127.0.0.1:{server.server_port}/maven"}

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()
    gc.collect()


def _names(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "kafka-4.3.1").iterdir())


def test_missing_jars_are_fetched_and_broken_ones_replaced(
    tmp_path: Path, mirror: Callable[[Answer], dict[str, str]]
) -> None:
    (tmp_path / "kafka-4.3.1").mkdir()
    (tmp_path / "kafka-4.3.1" / "c-1.0.jar").write_bytes(CONTENT[:-1])
    said: list[str] = []

    place = ensure_jars(tmp_path, environment=mirror(_right), jars=JARS, report=said.append)

    assert {(place / jar.file_name).read_bytes() for jar in JARS} == {CONTENT}
    assert _names(tmp_path) == [".lock", "c-1.0.jar", "d-1.0.jar", "e-1.0.jar"]
    assert said == [f"fetching 3 jars of Kafka (0 MB) to {place}"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(_wrong, "is not the jar that was locked (SHA-256 ", id="another-content"),
        pytest.param(_cut_off, "could not be fetched (the download broke off)", id="cut-off"),
        pytest.param(_none, "could not be fetched (no server has it)", id="not-there"),
    ],
)
def test_a_bad_download_is_one_line_and_leaves_nothing(
    tmp_path: Path, mirror: Callable[[Answer], dict[str, str]], answer: Answer, reason: str
) -> None:
    with pytest.raises(SetupFailure) as caught:
        ensure_jars(tmp_path, environment=mirror(answer), jars=JARS)

    message = str(caught.value)
    assert reason in message
    assert "STRIDER_JARS_URL" in message
    assert message.endswith(WITHOUT)
    assert "\n" not in message
    assert not list((tmp_path / "kafka-4.3.1").glob("*.jar"))


def test_no_network_is_one_line_of_the_command(tmp_path: Path) -> None:
    """What a user on a train sees, and what it tells them to do."""
    dead = "http://127.0.0.1:1"
    offline = {"HTTPS_PROXY": dead, "https_proxy": dead, "STRIDER_CACHE": str(tmp_path / "cache")}

    done = Command(tmp_path, offline).run("up")

    assert done.returncode == 3
    assert done.stderr.startswith("strider: Kafka's jar ")
    assert "no network" in done.stderr
    assert "KAFKA_BOOTSTRAP_SERVERS" in done.stderr
    assert done.stderr.endswith(f"{WITHOUT}\n")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / ".strider" / "stack.json").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a disk that is full")
def test_a_full_disk_is_one_line(tmp_path: Path, mirror: Callable[[Answer], dict[str, str]]) -> None:
    full = tmp_path / "full"
    full.mkdir()
    mounted = subprocess.run(
        ("mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(full)), check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        with pytest.raises(SetupFailure, match=r"^no room for Kafka's jars in .*STRIDER_CACHE"):
            ensure_jars(full, environment=mirror(_right), jars=JARS)
    finally:
        subprocess.run(("umount", "-l", str(full)), check=True)
