"""What goes wrong around a stack: shown on Valkey alone, which starts in a tenth of a second."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis

from strider.localstack.process.identity import is_alive
from strider.localstack.process.os_user import can_access, choose_os_user, give_directory
from strider.testing.stack import ServerStack
from strider.testing.temp_dirs import temp_server_directory

from .command import Command, a_stack, wait_for

pytestmark = pytest.mark.timeout(300)
"""Each starts Python several times, on a machine that does other things as well."""


@pytest.fixture
def place() -> Iterator[Path]:
    with temp_server_directory() as directory:
        yield directory


def test_two_ups_at_once_start_one_stack(place: Path) -> None:
    command = Command(place)
    try:
        both = [command.begin("up", "--only", "redis") for _ in range(2)]
        said = [each.communicate(timeout=60)[0] for each in both]

        assert [each.returncode for each in both] == [0, 0], said
        assert command.living() == ["redis"]
        log = (place / ".strider" / "logs" / "redis.log").read_text()
        assert log.count("Ready to accept connections") == 1
    finally:
        command.run("down", "--wipe", "--yes")


def test_down_does_not_touch_who_has_the_number_now(place: Path) -> None:
    """After a reboot the numbers of a stale state belong to other programs."""
    with a_stack(place, "--only", "redis") as command, subprocess.Popen(("sleep", "60")) as stranger:
        try:
            supervisor = command.supervisor()
            os.kill(supervisor.pid, signal.SIGKILL)
            os.kill(command.pids()["redis"], signal.SIGKILL)
            assert wait_for(lambda: not is_alive(supervisor) and not command.living())
            told = json.loads(command.home.state.read_text())
            told["processes"][0]["pid"] = told["supervisor"]["pid"] = stranger.pid
            command.home.state.write_text(json.dumps(told))
            command.home.pid_file("redis").write_text(f"{stranger.pid}\n")
            os.utime(command.home.pid_file("redis"), (1_000_000_000, 1_000_000_000))

            assert command.must("down") == "nothing is running\n"

            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_a_half_finished_start_is_finished_by_the_next(place: Path) -> None:
    """The supervisor dies before it has written down what it started; the process's own file tells."""
    with a_stack(place, "--only", "redis") as command:
        supervisor, before = command.supervisor(), command.pids()
        os.kill(supervisor.pid, signal.SIGKILL)
        assert wait_for(lambda: not is_alive(supervisor))
        told = json.loads(command.home.state.read_text())
        told["processes"] = []
        command.home.state.write_text(json.dumps(told))

        command.must("up", "--only", "redis")

        assert command.pids() == before


@pytest.mark.parametrize(
    "text", [pytest.param("", id="empty"), pytest.param('{"version": 1, "st', id="torn")]
)
def test_a_broken_state_file_costs_nothing_but_the_addresses(place: Path, text: str) -> None:
    with a_stack(place, "--only", "redis") as command:
        supervisor = command.supervisor()
        os.kill(supervisor.pid, signal.SIGKILL)
        assert wait_for(lambda: not is_alive(supervisor))
        command.home.state.write_text(text)

        command.must("up", "--only", "redis")

        assert command.living() == ["redis"]


def test_a_state_file_that_is_spoilt_under_a_living_supervisor_is_rewritten(place: Path) -> None:
    """A broken variable must not make it impossible to see the stack, and to end it."""
    with a_stack(place, "--only", "redis") as command:
        supervisor = command.supervisor()
        command.home.state.write_text("garbage")

        assert [each["state"] for each in command.status()["processes"]] == ["ready"]
        command.home.state.write_text("garbage")
        assert "stopped" in command.must("down")
        assert not is_alive(supervisor)


def test_a_stack_whose_directory_was_removed_ends(place: Path) -> None:
    """No command could find it any more, and it would keep its ports for ever."""
    with a_stack(place, "--only", "redis") as command:
        supervisor = command.supervisor()
        (redis,) = [each.identity for each in command.state().processes if each.name == "redis"]
        assert redis is not None

        assert wait_for(lambda: _is_removed(command.home.root))

        assert wait_for(lambda: not is_alive(supervisor) and not is_alive(redis))
        assert not command.home.root.exists()


def test_what_runs_is_seen_and_ended_also_without_supervisor_and_state(place: Path) -> None:
    """Each process has written down its own number."""
    with a_stack(place, "--only", "redis") as command:
        supervisor, pid = command.supervisor(), command.pids()["redis"]
        os.kill(supervisor.pid, signal.SIGKILL)
        assert wait_for(lambda: not is_alive(supervisor))
        command.home.state.write_text("garbage")

        told = command.status()

        assert told["state"] == "orphaned"
        assert [(each["name"], each["pid"]) for each in told["processes"]] == [("redis", pid)]
        assert told["endpoints"] == dict.fromkeys(("kafka", "postgres", "redis", "api"))
        command.must("down")
        assert command.status()["processes"] == []


def test_a_service_with_wrong_settings_is_named_and_not_started_for_ever(place: Path) -> None:
    command = Command(place, {"ECHO_MAX_TEXT_CHARS": "none"})
    try:
        done = command.run("up", "--only", "redis", "--scale", "echo=1")

        assert done.returncode == 1
        assert "echo is refused (it ended with status 2" in done.stderr
        assert "ECHO_MAX_TEXT_CHARS" in done.stderr
        assert command.process("echo").restarts == 1
        assert command.process("redis").state == "ready"
    finally:
        command.run("down", "--wipe", "--yes")


def test_a_stack_without_contact_reports_what_is_crawled(place: Path) -> None:
    """Said by the command that starts the services: else a first crawl is refused for no visible reason."""
    command = Command(place, {"STRIDER_CONTACT": ""})
    wish = ("up", "--only", "redis", "--scale", "fetcher=1", "--no-wait")
    line = (
        "STRIDER_CONTACT (URL or mail address for site owners) is not set: only loopback is crawled, "
        "with STRIDER_ALLOW_PRIVATE=true\n"
    )
    try:
        assert command.must(*wish).endswith(line)
        assert line not in command.must(*wish)
    finally:
        command.run("down", "--wipe", "--yes")


@pytest.mark.parametrize(
    ("environment", "words", "code", "message"),
    [
        pytest.param({"STRIDER_SHARDS": "many"}, ("up",), 2, "STRIDER_SHARDS: ", id="a-wrong-setting"),
        pytest.param({"STRIDER_OWNER_KEY": "short"}, ("up",), 2, "STRIDER_OWNER_KEY: ", id="a-short-key"),
        pytest.param({}, ("up", "--scale", "echo=x"), 2, "expected NAME=N", id="a-wrong-scale"),
        pytest.param(
            {}, ("up", "--only", "cassandra"), 2, "no server or service 'cassandra'", id="an-unknown-part"
        ),
        pytest.param({}, ("logs", "nobody"), 2, "no log 'nobody'", id="an-unknown-log"),
        pytest.param(
            {"REDIS_URL": "redis://127.0.0.1:1/0"},
            ("up",),
            3,
            "REDIS_URL names a server that does not answer",
            id="a-named-server-that-is-down",
        ),
        pytest.param(
            {"POSTGRES_DSN": "postgresql://127.0.0.1:1/x"},
            ("up",),
            3,
            "POSTGRES_DSN names a server that does not answer",
            id="a-named-database-that-is-down",
        ),
        pytest.param(
            {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"},
            ("up",),
            3,
            "KAFKA_BOOTSTRAP_SERVERS names a server that does not answer (the connection was refused)",
            id="a-named-broker-that-is-down",
        ),
    ],
)
def test_what_cannot_be_is_one_line(
    place: Path, environment: dict[str, str], words: tuple[str, ...], code: int, message: str
) -> None:
    done = Command(place, environment).run(*words)

    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert done.stderr.startswith("strider: ")
    assert done.stderr.count("\n") == 1


def test_what_the_environment_names_is_used_and_left_alone(place: Path, stack: ServerStack) -> None:
    running = stack.redis
    with a_stack(place, "--only", "redis", REDIS_URL=running.address) as command:
        told = command.process("redis")

        assert (told.state, told.pid) == ("external", None)
        assert command.state().endpoints["redis"] == running.address
        command.must("down")
        running.wait_ready(seconds=1)


def test_down_and_status_of_nothing(place: Path) -> None:
    command = Command(place)

    assert command.must("down") == "nothing is running\n"
    done = command.run("status")
    assert (done.returncode, done.stdout) == (1, "nothing is running; start it with: strider up\n")
    nowhere = dict.fromkeys(("kafka", "postgres", "redis", "api"))
    assert command.status() == {"state": "stopped", "supervisor": None, "endpoints": nowhere, "processes": []}
    assert list(place.glob(".strider")) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="these tests run as an ordinary user already")
def test_an_ordinary_user_needs_no_more(place: Path) -> None:
    """Without root nothing is given away, and nothing is needed outside of one's own directory."""
    account = choose_os_user()
    assert account is not None
    python = next((each for each in _pythons() if can_access(account, Path(each).resolve())), None)
    setpriv = shutil.which("setpriv")
    if python is None or setpriv is None:
        pytest.skip("no Python here that another user may run")
    give_directory(place / "theirs", account)
    (place / "theirs").chmod(0o755)
    become = (setpriv, f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups", python)
    environment = {
        "HOME": str(place / "theirs"),
        "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
    }
    command = Command(place / "theirs", environment, python=become)
    try:
        command.must("up", "--only", "postgres,redis")

        assert {each.name: each.state for each in command.state().processes} == {
            "postgres": "ready",
            "redis": "ready",
            "migrations": "done",
        }
        owners = {path.owner() for path in (place / "theirs" / ".strider").rglob("*")}
        assert owners == {account.name}
    finally:
        command.run("down", "--wipe", "--yes")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root must give PostgreSQL to another account")
def test_root_in_a_closed_directory_keeps_the_database_where_its_account_can_go(tmp_path: Path) -> None:
    """A checkout under root's own home is closed to everybody else."""
    tmp_path.chmod(0o700)
    with a_stack(tmp_path, "--only", "postgres") as command:
        data = command.home.data("postgres")

        assert data.is_symlink()
        assert data.resolve().exists()
        kept_at = data.resolve()
        command.must("down", "--wipe", "--yes")

    assert not kept_at.exists()


def _is_removed(place: Path) -> bool:
    """Remove it; what is written just then is removed at the next call, as a person would do it."""
    shutil.rmtree(place, ignore_errors=True)
    return not place.exists()


def _pythons() -> Iterator[str]:
    yield sys.executable
    if found := shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin:/usr/local/bin"):
        yield found


@pytest.mark.fault("A13", part="files under any umask")
def test_no_other_account_can_read_what_a_stack_writes(place: Path) -> None:
    """Whatever the umask of the shell is: specs with tokens, cookies and pages lie there."""
    before = os.umask(0)
    try:
        (place / ".strider" / "data" / "redis").mkdir(parents=True)  # of an earlier version
        with a_stack(place, "--only", "redis") as command:
            found = command.readable_by_others()
            data = [each.name for each in (command.home.data("redis")).rglob("*")]
    finally:
        os.umask(before)

    assert "appendonlydir" in data
    assert found == {}


@pytest.mark.fault("B5", part="memory of Valkey")
def test_valkey_has_a_limit_of_memory_and_evicts_nothing(place: Path) -> None:
    """Without a limit the working set is never full, and the machine's memory is."""
    with a_stack(place, "--only", "redis") as command:
        client = redis.Redis.from_url(command.status("--show-secrets")["endpoints"]["redis"])
        memory = client.info("memory")
        client.close()

    assert (memory["maxmemory"], memory["maxmemory_policy"]) == (1024 * 1024**2, "noeviction")


@pytest.mark.fault("B5", part="disk of Kafka")
def test_topics_of_pages_take_what_fits_on_a_small_disk(place: Path) -> None:
    with a_stack(place, "--only", "kafka") as command:
        said = command.must("topics", "diff")
        described = command.must("topics", "apply", "--dry-run", "--json")

    assert "retention" not in said
    assert json.loads(described)["alter"] == {}


@pytest.mark.fault("A13", part="Valkey")
def test_valkey_needs_the_password_and_refuses_to_be_emptied(place: Path) -> None:
    """Any account of the machine reaches its port."""
    with a_stack(place, "--only", "redis") as command:
        url = command.status("--show-secrets")["endpoints"]["redis"]
        masked = command.status()["endpoints"]["redis"]
        password = urlsplit(url).password or ""
        with pytest.raises(redis.AuthenticationError):
            redis.Redis.from_url(url.replace(f":{password}@", "")).ping()
        client = redis.Redis.from_url(url)
        assert client.ping()
        for refused in (
            ("FLUSHALL",),
            ("FLUSHDB",),
            ("CONFIG", "SET", "appendonly", "no"),
            ("REPLICAOF", "127.0.0.1", "1"),
            ("SHUTDOWN", "NOSAVE"),
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*refused)
        client.close()
        arguments = Path(f"/proc/{command.pids()['redis']}/cmdline").read_text()

    assert len(password) >= 16
    assert password not in masked
    assert password not in arguments
