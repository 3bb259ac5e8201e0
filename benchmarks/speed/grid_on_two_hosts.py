"""How long one grid takes on one host, and on two that are given the same command.

    sudo python benchmarks/speed/grid_on_two_hosts.py [SECONDS OF A REPLY]

It prints a table, with how many requests the LLM's server had, and how many distinct ones.
tests/support/two_hosts.py says what it needs.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from two_hosts import Host, Network, find_obstacle, two_hosts


def measure(network: Network, hosts: Sequence[Host], title: str) -> None:
    """Run the grid on hosts, which begin with nothing, and print a line of the table."""
    network.begin_anew()
    start = time.monotonic()
    processes = network.start_grids(hosts, network.make_database())
    statuses = [process.wait() for process in processes]
    seconds = time.monotonic() - start
    assert not any(statuses), (hosts[0].folder / "out.txt").read_text(encoding="utf-8")
    requests, distinct = network.count_requests()
    asking = network.measure_requests()
    sys.stdout.write(f"| {title} | {asking:.1f} | {seconds:.1f} | {requests} | {distinct} |\n")
    sys.stdout.flush()


def main() -> None:
    """Print a table of the grid on one host, and on two."""
    if obstacle := find_obstacle():
        raise SystemExit(obstacle)
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    with two_hosts(seconds) as network:
        heads = ("hosts", "first to last request, s", "in all, s", "requests", "distinct")
        sys.stdout.write(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|\n")
        for _ in range(3):
            measure(network, network.hosts[:1], "one")
            measure(network, network.hosts, "two, the same command")


if __name__ == "__main__":
    main()
