"""One grid over two hosts with a store in PostgreSQL and no common folder; one of them is cut off."""

import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from two_hosts import Host, Network, find_obstacle, two_hosts

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        not find_spec("psycopg"), reason="needs psycopg (pip install 'convrag[postgres]')"
    ),
]

WORKERS = 4


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    if obstacle := find_obstacle():
        pytest.skip(obstacle)
    with two_hosts() as made:
        yield made


def wait(process: subprocess.Popen[bytes], host: Host) -> int:
    status = process.wait(timeout=180)
    assert status == 0, (host.folder / "out.txt").read_text(encoding="utf-8")
    return status


def test_a_host_that_is_cut_off_costs_its_calls_in_flight_and_the_other_one_finishes(
    network: Network,
) -> None:
    network.begin_anew()
    cut, other = network.hosts
    more = (
        "rewriter=none,last_n",
        "top_n=2",
        "limit=4",
        f"workers={WORKERS}",
        "llm.timeout=5",
        "report=false",
    )
    database = network.make_database()
    first, second = network.start_grids([cut, other], database, *more)
    try:
        deadline = time.monotonic() + 90
        while network.count_requests()[0] < 12:
            assert first.poll() is None
            assert second.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        cut.cut()
        with pytest.raises(subprocess.TimeoutExpired):  # it tries to reach the servers
            first.wait(10)
        wait(second, other)
        assert other.read_states() == ["ok"]
        requests, distinct = network.count_requests()
        assert distinct <= requests <= distinct + WORKERS
    finally:
        first.kill()
        first.wait()
        cut.heal()
    (again,) = network.start_grids([cut], database, *more)
    wait(again, cut)
    assert "Calls of stages and metrics: 0 made" in (cut.folder / "out.txt").read_text(
        encoding="utf-8"
    )
    requests, after = network.count_requests()
    assert after == distinct
    assert (
        requests <= distinct + WORKERS
    )  # one that was being sent at the cut may have come when the link was back
    assert cut.read_board() == other.read_board()
