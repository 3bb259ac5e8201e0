"""Two hosts with addresses of their own, in network namespaces, and servers on a third: one grid
over both.

It needs root, `ip`, PostgreSQL's programs and psycopg, and removes all that it made. The hosts have
no folder in common but that of the programs: each has outputs, store and indexes of its own.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from llm_server import Server
from postgres_server import PostgresServer, find_binaries

GRID = (
    *(
        "rewriter=none,last_n,full_history,weighted_history",
        "top_n=2,3,4",
        "limit=3",
        "workers=4",
        "generator=direct",
    ),
    *(
        "llm=openai_compatible",
        "llm.model=m",
        "llm.retries=1",
        "metrics.ranking.measures=[nDCG@5]",
        "tracker=none",
    ),
)


class Host:
    """A host: a network namespace with a link to the bridge, a host name, and a folder.

    Args:
        name: of the host and of its namespace.
        address: with the length of the network's prefix.
        bridge: of the network.
        folder: in which its commands run.
    """

    def __init__(self, name: str, address: str, bridge: str, folder: Path) -> None:
        self.name, self.folder, self._link = name, folder, f"{name}v"
        folder.mkdir()
        run("ip", "netns", "add", name)
        run("ip", "link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", self._link, "master", bridge, "up")
        run("ip", "-n", name, "addr", "add", address, "dev", "eth0")
        for device in ("lo", "eth0"):
            run("ip", "-n", name, "link", "set", device, "up")

    def cut(self) -> None:
        """Cut it off from the network."""
        run("ip", "link", "set", self._link, "down")

    def heal(self) -> None:
        """Put it back into the network."""
        run("ip", "link", "set", self._link, "up")

    def start(self, arguments: Sequence[str], **environment: str) -> subprocess.Popen[bytes]:
        """Start `python -m convrag` on it; what it says goes to out.txt in its folder."""
        script = 'hostname "$1"; shift; exec "$@"'
        inside = [
            "ip",
            "netns",
            "exec",
            self.name,
            "unshare",
            "--uts",
            "sh",
            "-c",
            script,
            "sh",
            self.name,
        ]
        with (self.folder / "out.txt").open("ab") as said:
            return subprocess.Popen(
                [*inside, sys.executable, "-W", "ignore", "-m", "convrag", *arguments],
                cwd=self.folder,
                env={**os.environ, **environment},
                stdout=said,
                stderr=said,
            )

    def read_states(self) -> list[str]:
        """The states of the cells of the grid that ran here."""
        (found,) = self.folder.glob("outputs/sweeps/*/sweep.json")
        return sorted(
            {cell["state"] for cell in json.loads(found.read_text(encoding="utf-8"))["cells"]}
        )

    def read_board(self) -> bytes:
        """The leaderboard of the grid that ran here."""
        (found,) = self.folder.glob("outputs/sweeps/*/leaderboard.csv")
        return found.read_bytes()

    def remove(self) -> None:
        """Remove its namespace, and with it its link."""
        subprocess.run(["ip", "netns", "del", self.name], check=False)


class Network:
    """A PostgreSQL server and an LLM's on this host, and two other hosts; `folder` holds those of the hosts.

    Args:
        seconds: that the LLM takes for a reply.
    """

    def __init__(self, seconds: float) -> None:
        number, net = f"{os.getpid() % 100000:05d}", f"10.77.{random.randrange(1, 255)}"
        self.folder = Path(tempfile.mkdtemp(prefix="convrag-hosts-"))
        self._bridge = f"cv{number}b"
        self.hosts: list[Host] = []
        self._postgres: PostgresServer | None = None
        self._llm: Server | None = None
        try:
            run("ip", "link", "add", self._bridge, "type", "bridge")
            run("ip", "addr", "add", f"{net}.1/24", "dev", self._bridge)
            run("ip", "link", "set", self._bridge, "up")
            for index in (1, 2):
                host = Host(
                    f"cv{number}h{index}",
                    f"{net}.{10 + index}/24",
                    self._bridge,
                    self.folder / f"host{index}",
                )
                self.hosts.append(host)
            binaries = find_binaries()
            assert binaries
            self._postgres = PostgresServer(binaries, f"{net}.1")
            self._postgres.start()
            self._llm = Server(host=f"{net}.1")
            self._llm.delay = seconds
        except BaseException:
            self.remove()
            raise

    def start_grids(
        self, hosts: Sequence[Host], database: str, *more: str
    ) -> list[subprocess.Popen[bytes]]:
        """Give the same command on each of these hosts."""
        assert self._llm
        arguments = [
            "-m",
            *GRID,
            f"llm.api_base={self._llm.address}",
            "store.url=${oc.env:CONVRAG_STORE}",
            *more,
        ]
        environment = {"CONVRAG_STORE": database, "OPENAI_API_KEY": "none"}
        return [host.start(arguments, **environment) for host in hosts]

    def make_database(self) -> str:
        """The address of an empty database."""
        assert self._postgres
        return self._postgres.make_database()

    def count_requests(self) -> tuple[int, int]:
        """How many requests the LLM's server had, and how many distinct ones."""
        assert self._llm
        bodies = [json.dumps(body, sort_keys=True) for body in list(self._llm.requests)]
        return len(bodies), len(set(bodies))

    def measure_requests(self) -> float:
        """The seconds from the first request to the last one."""
        assert self._llm
        return self._llm.times[-1] - self._llm.times[0]

    def begin_anew(self) -> None:
        """Remove what the hosts have written, and count requests from now on."""
        assert self._llm
        for host in self.hosts:
            shutil.rmtree(host.folder / "outputs", ignore_errors=True)
        self._llm.requests.clear()
        self._llm.times.clear()

    def remove(self) -> None:
        """Stop the servers, and remove hosts, bridge and folder."""
        for host in self.hosts:
            host.remove()
        if self._llm:
            self._llm.close()
        if self._postgres:
            self._postgres.remove()
        subprocess.run(["ip", "link", "del", self._bridge], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def run(*command: str) -> None:
    """Run a command, which must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


def find_obstacle() -> str:
    """Why the hosts cannot be had here; empty if they can."""
    if os.geteuid() != 0:
        return "network namespaces want root"
    if missing := [name for name in ("ip", "unshare", "hostname") if not shutil.which(name)]:
        return f"no {', '.join(missing)} (Debian: apt-get install iproute2)"
    if find_binaries() is None:
        return "no PostgreSQL server is installed (Debian: apt-get install postgresql)"
    name = f"cv{os.getpid() % 100000:05d}x"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return "network namespaces are not allowed here"
    subprocess.run(["ip", "netns", "del", name], check=False)
    return ""


@contextmanager
def two_hosts(seconds: float = 0.05) -> Iterator[Network]:
    """The network during a block."""
    network = Network(seconds)
    try:
        yield network
    finally:
        network.remove()
