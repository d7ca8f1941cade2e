"""`strider seeds add` as people run it: against a real broker, from a pipe, and when no server responds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.contracts.partitioning import key_partition

from .service import SHARDS, Reader

SECONDS = 60.0


def run(
    *arguments: str, bootstrap: str = "", owner_key: str = "", stdin: str = "", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STRIDER_", "KAFKA_"))}
    named = {"KAFKA_BOOTSTRAP_SERVERS": bootstrap} if bootstrap else {}
    named |= {"STRIDER_OWNER_KEY": owner_key} if owner_key else {}
    return subprocess.run(
        [sys.executable, "-m", "strider.cli", "seeds", "add", *arguments],
        env=kept | named,
        input=stdin,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_a_mixed_list_from_a_pipe(bootstrap: str) -> None:
    """Good lines are sent, bad ones are reported, both with their place; the exit code shows it."""
    lines = (
        'https://a.test/1\n# remark\nb.test/2\nftp://c.test/\n{"url": "https://a.test/3", "max_depth": 1}\n'
    )
    options = ("--max-depth", "4", "--metadata", "ticket=7", "--extract", "records")
    done = run("-", *options, bootstrap=bootstrap, stdin=lines)

    with closing(Reader(bootstrap, SEEDS_SUBMITTED)) as reader:
        seeds = {seed.url: (partition, seed) for partition, seed in reader.events()}
    assert {url: seed.max_depth for url, (_, seed) in seeds.items()} == {
        "https://a.test/1": 4,
        "https://b.test/2": 4,
        "https://a.test/3": 1,
    }
    assert {(seed.metadata["ticket"], seed.extraction) for _, seed in seeds.values()} == {("7", "records")}
    assert seeds["https://a.test/1"][0] == seeds["https://a.test/3"][0] == key_partition(b"a.test", SHARDS)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "strider: b.test/2 is read as https://b.test/2",
        "strider: -:4: 'ftp://c.test/' is refused (refused_scheme): only http and https are crawled",
    ]
    assert [line.partition(" ->")[0] for line in done.stdout.splitlines()] == [
        "https://a.test/1",
        "https://b.test/2",
        "https://a.test/3",
        "3 sent to seeds-submitted (2 partitions), 1 refused",
    ]


def test_a_long_file_is_acknowledged_line_by_line(bootstrap: str, tmp_path: Path) -> None:
    """With `--json` each seed has its line, in the order of the file."""
    urls = [f"https://long{number % 9}.test/{number}" for number in range(3_000)]
    (tmp_path / "urls.txt").write_text("\n".join(urls))
    done = run("--from", "urls.txt", "--json", bootstrap=bootstrap, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line)["url"] for line in done.stdout.splitlines()] == urls


def test_nothing_is_sent_where_an_option_makes_no_sense(bootstrap: str) -> None:
    """One sentence, exit code 2."""
    done = run("https://never.test/", "--exclude", "re:(", bootstrap=bootstrap)

    assert (done.returncode, done.stderr) == (2, "strider: --exclude: 're:(': missing ): (\n")


def test_a_depth_of_0_is_refused_with_what_works(bootstrap: str) -> None:
    """In a seed 0 is the default, elsewhere it means no links."""
    done = run("https://a.test/", "https://b.test/", "--max-depth", "0", bootstrap=bootstrap)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("strider: --max-depth 0 would mean the default of 3 in a seed")


def test_a_broker_that_is_away_is_one_line(tmp_path: Path) -> None:
    """No traceback, and the exit code of all words of the command for what is out of reach."""
    done = run("https://a.test/", bootstrap="127.0.0.1:1", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (
        3,
        (
            "strider: Kafka is unavailable: no broker answers at 127.0.0.1:1, "
            "or it refuses our login or certificate; is it running? Check with: strider doctor\n"
        ),
    )


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """Nor for what a person has misspelt."""
    done = run("--from", "absent.txt", bootstrap="127.0.0.1:1", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (2, "strider: --from absent.txt: No such file or directory\n")
