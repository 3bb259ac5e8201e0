"""Lets eight clients talk to task=serve over PostgreSQL for an hour, and looks for what grows.

    apt-get install postgresql
    python benchmarks/robustness/eight_clients.py                 # an hour
    python benchmarks/robustness/eight_clients.py --minutes 2

The store and the conversations are in one database. Four clients hold one conversation each, which
grows; two break off in the middle of turns; two reload the page (conversing_clients.py). The model
thinks for a second. The table has a column for each quarter. In the end the server is started
again, and must show every turn that was acknowledged. The exit status is 1 if one is missing,
or a request has failed.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(Path(__file__).parent)]

from conversing_clients import HABITS, ConversingClient, Measurements, compare_with_server  # noqa: E402

from postgres_server import PostgresServer, find_binaries, running_server  # noqa: E402

QUARTERS = 4
SAMPLES = 240
"""How often the server's process is looked at."""

MODEL = ROOT / "benchmarks/speed/thinking_llm.py"


@dataclass(frozen=True)
class Sample:
    """What the server holds at a moment.

    Args:
        seconds: since the beginning.
        megabytes: of resident memory.
        threads: of its process.
        sockets: open ones.
        connections: to PostgreSQL.
    """

    seconds: float
    megabytes: float
    threads: int
    sockets: int
    connections: int


def main() -> int:
    """Run the clients, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    seconds = parser.parse_args().minutes * 60
    binaries = find_binaries()
    if binaries is None:
        sys.exit("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    with running_server(binaries) as postgres, tempfile.TemporaryDirectory() as name:
        database = postgres.make_database()
        folder = Path(name)
        measurements = Measurements()
        with serving(folder, database) as (process, address):
            clients = [
                ConversingClient(number, address, measurements) for number in range(len(HABITS))
            ]
            samples = watch(clients, process, postgres, seconds)
        with serving(folder, database) as (_, address):
            http = httpx.Client(base_url=address, timeout=120)
            conversations = [talk for client in clients for talk in client.conversations]
            counts, lost = compare_with_server(http, conversations)
        print_table(samples, measurements, seconds)
        longest = max(len(talk.asked) for talk in conversations)
        sys.stdout.write(
            f"{len(conversations)} conversations, the longest of {longest} turns; "
            f"{counts['asked']} turns asked, {counts['acknowledged']} acknowledged, "
            f"{counts['stored']} stored\n"
        )
        errors = [f"{client.name}: {client.error!r}" for client in clients if client.error]
        failures = [f"{count} times: {what}" for what, count in measurements.failures.items()]
        faults = [*lost, *failures, *errors]
        sys.stdout.write("\n".join(faults or ["nothing was lost"]) + "\n")
    return 1 if faults else 0


@contextmanager
def serving(folder: Path, database: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the server; give its process and its address."""
    command = [
        *(sys.executable, "-m", "convrag", "task=serve", "task.port=0", "generator=direct"),
        *(f"plugins=[{MODEL}]", "llm=thinking"),
        *("store.url=${oc.env:EIGHT_CLIENTS}", "task.conversations=${oc.env:EIGHT_CLIENTS}"),
    ]
    environment = {**os.environ, "EIGHT_CLIENTS": database}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://\S+:\d+", line)
            assert found, line
            yield process, found[0]
        finally:
            process.terminate()


def watch(
    clients: Sequence[ConversingClient],
    process: subprocess.Popen[str],
    postgres: PostgresServer,
    seconds: float,
) -> list[Sample]:
    """Run the clients for some seconds, and look at the server meanwhile."""
    began = time.monotonic()
    for client in clients:
        client.start()
    samples = []
    while time.monotonic() - began < seconds:
        time.sleep(seconds / SAMPLES)
        samples.append(take_sample(process.pid, postgres, time.monotonic() - began))
    for client in clients:
        client.end()
    for client in clients:
        client.join()
    return samples


def take_sample(process: int, postgres: PostgresServer, seconds: float) -> Sample:
    """Look at the process of the server, and at its connections."""
    status = Path(f"/proc/{process}/status").read_text()
    links = []
    for file in Path(f"/proc/{process}/fd").iterdir():
        try:
            links.append(str(file.readlink()))
        except FileNotFoundError:  # it was closed meanwhile
            continue
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'convrag'"
    (row,) = postgres.execute(query)
    return Sample(
        seconds,
        int(status.partition("VmRSS:")[2].split()[0]) / 1024,
        int(status.partition("Threads:")[2].split()[0]),
        sum(link.startswith("socket:") for link in links),
        int(str(row[0])),
    )


def print_table(samples: Sequence[Sample], measurements: Measurements, seconds: float) -> None:
    """Print a row for each measure, with a column for each quarter."""
    turns = split_quarters(measurements.latencies, seconds)
    reloads = split_quarters(measurements.reloads, seconds)
    rows = {
        "turns acknowledged": [f"{len(part)}" for part in turns],
        "seconds of a turn: median": [summarize(part, statistics.median) for part in turns],
        "95 % below": [summarize(part, find_percentile_95) for part in turns],
        "longest": [summarize(part, max) for part in turns],
        "seconds of a reload: median": [summarize(part, statistics.median) for part in reloads],
    }
    measures: dict[str, Callable[[Sample], float]] = {
        "memory, MB: median": lambda sample: sample.megabytes,
        "threads: most": lambda sample: sample.threads,
        "open sockets: most": lambda sample: sample.sockets,
        "connections to PostgreSQL: most": lambda sample: sample.connections,
    }
    for name, measure in measures.items():
        timed = [(sample.seconds, measure(sample)) for sample in samples]
        summary: Callable[[Sequence[float]], float] = max
        if name.endswith("median"):
            summary = statistics.median
        quarters = split_quarters(timed, seconds)
        rows[name] = [summarize(part, summary, digits=0) for part in quarters]
    sys.stdout.write(f"| | {' | '.join(f'quarter {n}' for n in range(1, QUARTERS + 1))} |\n")
    sys.stdout.write(f"| --- |{' --- |' * QUARTERS}\n")
    for name, cells in rows.items():
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")


def summarize(
    values: Sequence[float], summary: Callable[[Sequence[float]], float], digits: int = 3
) -> str:
    """Format a summary of some values; a dash where there are none."""
    return f"{summary(values):.{digits}f}" if values else "-"


def find_percentile_95(values: Sequence[float]) -> float:
    """Find the value below which 95 % of the values are."""
    return sorted(values)[int(len(values) * 0.95)]


def split_quarters(timed: Sequence[tuple[float, float]], seconds: float) -> list[list[float]]:
    """Split values by the quarter in which they were measured."""
    quarters: list[list[float]] = [[] for _ in range(QUARTERS)]
    for moment, value in timed:
        number = min(int(moment / seconds * QUARTERS), QUARTERS - 1)
        quarters[number].append(value)
    return quarters


if __name__ == "__main__":
    sys.exit(main())
