"""The whole stack, in the order of a person's day. Each test leaves it running as it found it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from strider.localstack.process.identity import is_alive
from strider.localstack.servers.probes import run_sync
from strider.localstack.stack_state import READY
from strider.storage.redis import RedisOptions, connect

from .command import SMALL, Command, wait_for

pytestmark = pytest.mark.timeout(300)
"""Starting Java three times on a machine that does other things as well."""

PARTS = ["kafka", "postgres", "redis"]


def test_everything_is_ready_and_shows_its_address(whole: Command) -> None:
    told = whole.status()

    assert told["state"] == "ready"
    assert sorted(told["endpoints"]) == ["api", "kafka", "objects", "postgres", "redis"]
    assert re.fullmatch(r"127\.0\.0\.1:\d+", told["endpoints"]["kafka"])
    assert re.fullmatch(r"postgresql://strider:…@127\.0\.0\.1:\d+/strider", told["endpoints"]["postgres"])
    assert re.fullmatch(r"redis://:…@127\.0\.0\.1:\d+/0", told["endpoints"]["redis"])
    assert told["endpoints"]["objects"].startswith("file:///")
    assert [(each["name"], each["state"], each["restarts"]) for each in told["processes"]] == [
        *((name, "ready", 0) for name in [*PARTS, "echo", "tally"]),
        ("topics", "done", 0),
        ("migrations", "done", 0),
    ]
    assert all({"name", "pid", "state", "since", "restarts"} <= each.keys() for each in told["processes"])


@pytest.mark.fault("A13", part="files of servers and services")
def test_no_other_account_can_read_what_servers_and_services_write(whole: Command) -> None:
    assert whole.readable_by_others() == {}


def test_only_the_loopback_address_is_listened_on(whole: Command) -> None:
    """A stack for one machine must not serve the network that the machine is in."""
    ports = {int(port) for port in re.findall(r":(\d{5})\b", str(whole.state().endpoints))}
    everywhere = {
        int(line.split()[1].split(":")[1], 16)
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].startswith("00000000")
    }

    assert ports
    assert not ports & everywhere


def test_a_second_up_changes_nothing_and_reports_it(whole: Command) -> None:
    before = whole.pids()
    began = time.monotonic()

    said = whole.must("up", *SMALL)

    assert said.endswith("already up; nothing changed\n")
    assert whole.pids() == before
    assert time.monotonic() - began < 20


def test_up_with_other_settings_reports_that_they_are_not_in_effect(whole: Command) -> None:
    before = whole.pids()
    other = replace(whole, environment={**whole.environment, "FETCHER_PORTS": "7"})

    said = other.must("up", *SMALL)

    assert "the stack was started with other settings (FETCHER_PORTS), which stay in effect" in said
    assert whole.pids() == before


def test_up_masks_the_password_of_the_database_unless_it_is_requested(whole: Command) -> None:
    address = whole.state().endpoints["postgres"]
    assert address
    password = address.partition("strider:")[2].partition("@")[0]
    assert password

    masked, shown = whole.must("up", *SMALL), whole.must("up", *SMALL, "--show-secrets")

    assert "postgresql://strider:…@127.0.0.1:" in masked
    assert password not in masked
    assert address in shown
    assert whole.status("--show-secrets")["endpoints"]["postgres"] == address


def test_two_at_once_change_nothing_either(whole: Command) -> None:
    before = whole.pids()

    both = [whole.begin("up", *SMALL) for _ in range(2)]
    said = [each.communicate(timeout=60)[0] for each in both]

    assert [each.returncode for each in both] == [0, 0], said
    assert whole.pids() == before


@pytest.mark.req("S3.16.1", part="more processes of one service")
def test_more_of_one_and_less_again(whole: Command) -> None:
    before = whole.pids()

    whole.must("up", *SMALL, "--scale", "echo=2")
    more = whole.pids()
    whole.must("up", *SMALL, "--scale", "echo=1")

    assert {name: pid for name, pid in more.items() if name != "echo-2"} == before
    assert "echo-2" in more
    assert whole.pids() == before


@pytest.mark.req("S2.1.1")
@pytest.mark.parametrize("name", ["redis", "postgres", "kafka", "echo"])
def test_what_is_killed_comes_back(whole: Command, name: str) -> None:
    """It needs no outer supervisor."""
    before = whole.process(name)
    assert before.pid
    os.kill(before.pid, signal.SIGKILL)

    assert wait_for(lambda: whole.process(name).restarts == before.restarts + 1)
    assert wait_for(lambda: whole.process(name).state == READY), whole.logs()
    assert whole.process(name).pid != before.pid


def test_what_was_acknowledged_is_there_after_kill_9_of_valkey(whole: Command) -> None:
    """The second that `everysec` may lose is waited for here."""

    async def write(url: str) -> None:
        store = connect(RedisOptions(url, timeout_seconds=5))
        await store.command("SET", "kept", "yes")
        await store.command("WAITAOF", 1, 0, 3000)
        await store.close()

    async def read(url: str) -> None:
        store = connect(RedisOptions(url))
        found.append(await store.command("GET", "kept"))
        await store.close()

    found: list[bytes] = []
    url = str(whole.state().endpoints["redis"])
    run_sync(write(url))
    old = whole.process("redis")
    os.kill(whole.pids()["redis"], signal.SIGKILL)
    assert wait_for(lambda: whole.process("redis").restarts > old.restarts)
    assert wait_for(lambda: whole.process("redis").state == READY)

    run_sync(read(url))

    assert found == [b"yes"]


def test_up_takes_over_what_a_killed_supervisor_left(whole: Command) -> None:
    """The servers keep running undisturbed; services are restarted and lose nothing by it."""
    before, supervisor = whole.pids(), whole.supervisor()
    os.kill(supervisor.pid, signal.SIGKILL)
    assert wait_for(lambda: not is_alive(supervisor))
    assert whole.status()["state"] == "orphaned"

    whole.must("up", *SMALL)

    after = whole.pids()
    assert {name: after[name] for name in PARTS} == {name: before[name] for name in PARTS}
    assert after.keys() == before.keys()
    assert not {before["echo"], before["tally"]} & {after["echo"], after["tally"]}
    assert whole.is_ready()


def test_logs_bear_their_writers_name(whole: Command) -> None:
    said = whole.must("logs", "echo", "postgres", "-n", "3").splitlines()

    assert {line.split()[0] for line in said} == {"echo", "postgres"}
    assert len([line for line in said if line.startswith("echo")]) == 3


def test_following_shows_what_is_written_from_now_on(whole: Command) -> None:
    log = whole.home.log("redis")
    with whole.begin("logs", "-f", "-n", "0") as following:
        try:
            until = time.monotonic() + 60
            said, number = "", 0
            while not said and time.monotonic() < until:
                # Written again and again, because it is unknown when the reader has begun to look.
                number += 1
                with log.open("a") as file:
                    file.write(f"a line {number}\n")
                time.sleep(0.1)
                said = _read(following)
        finally:
            following.send_signal(signal.SIGINT)
            following.wait(60)  # with its pipe open: else it may meet a closed one before this

    assert re.match(r"redis +a line \d+\n", said)
    assert following.returncode == 130


def test_data_stays_over_down_and_up_at_the_same_addresses(whole: Command) -> None:
    before = whole.state().endpoints

    assert whole.must("down").startswith("stopped kafka, postgres, redis")
    assert whole.living() == []
    assert whole.must("down") == "nothing is running\n"
    assert whole.run("status").returncode == 1
    began = time.monotonic()
    whole.must("up", *SMALL)
    later_seconds = time.monotonic() - began

    assert whole.state().endpoints == before
    # Asked for are 20 s; the rest is for machines that test several things at once.
    assert later_seconds < 40


def test_down_ends_what_a_killed_supervisor_left(whole: Command) -> None:
    supervisor = whole.supervisor()
    os.kill(supervisor.pid, signal.SIGKILL)
    assert wait_for(lambda: not is_alive(supervisor))
    assert whole.living()

    whole.must("down")

    assert whole.living() == []
    whole.must("up", *SMALL)


def test_attached_it_ends_with_ctrl_c(whole: Command) -> None:
    whole.must("down")
    with whole.begin("up", *SMALL, "--attach") as attached:
        assert wait_for(whole.is_ready)
        # Until it follows the logs, Ctrl-C only ends the waiting.
        assert wait_for(lambda: "up in" in _read(attached))

        attached.send_signal(signal.SIGINT)
        attached.communicate(timeout=90)  # a pipe that is not read would block its last output

    assert whole.living() == []
    whole.must("up", *SMALL)


def _read(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    try:
        return os.read(process.stdout.fileno(), 65536).decode()
    except BlockingIOError:
        return ""
