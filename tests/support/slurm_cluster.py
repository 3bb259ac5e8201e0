"""A real Slurm cluster on this host for tests, from Debian's binaries; it is removed at the end.

A module whose tests use the fixture `slurm` marks its tests `cluster`. They skip where the binaries
are absent, or the tests do not run as root.

`sacct`, which submitit asks how jobs ended, needs a database for accounting. The cluster has none:
SACCT stands in its place on the PATH, and asks the controller.
"""

import os
import platform
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

NODES = ("n1", "n2")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "scancel")

SACCT = """#!/bin/sh
# sacct for submitit on a cluster without accounting: what the controller does not know any more has ended.
jobs=$(squeue --me --array --states=all --noheader --format="%i|%T|%N") || exit 1
echo "JobID|State|NodeList"
for id in "$@"; do
  case $id in *[!0-9]*) ;; *) echo "$id|ENDED|"; echo "${id}_[0-1000]|ENDED|" ;; esac
done
echo "$jobs"
"""
"""What docs/grids.md gives to users whose cluster has no accounting; a test compares."""

CONFIGURATION = """
ClusterName=convrag
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=5
{nodes}
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class SlurmCluster:
    """A controller and two nodes of one core, all on this host.

    Attributes:
        folder: of its files.
        environment: the variables with which its commands find it.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="convrag-slurm-"))
        (self.folder / "state").mkdir()
        (self.folder / "bin").mkdir()
        sacct = self.folder / "bin/sacct"
        sacct.write_text(SACCT, encoding="utf-8")
        sacct.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        controller, *ports = _find_free_ports(1 + len(NODES))
        host = platform.node().partition(".")[0]
        nodes = [
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=4000 State=UNKNOWN"
            for name, port in zip(NODES, ports, strict=True)
        ]
        self.file = self.folder / "slurm.conf"
        self.file.write_text(
            CONFIGURATION.format(
                host=host, controller=controller, folder=self.folder, nodes="\n".join(nodes)
            ),
            encoding="utf-8",
        )
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}{os.pathsep}/usr/sbin"
        self.environment: Mapping[str, str] = {
            **os.environ,
            "SLURM_CONF": str(self.file),
            "PATH": path,
        }
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start it, and wait until both nodes can be used."""
        files = {"--key-file": "munge.key", "--socket": "munge.socket", "--pid-file": "munge.pid"}
        files |= {"--log-file": "munge.log", "--seed-file": "munge.seed"}
        # --force: the folder stands in /tmp, which everybody may write into
        self._begin(
            "munged",
            "--foreground",
            "--force",
            *(f"{name}={self.folder / file}" for name, file in files.items()),
        )
        self._wait("munged", (self.folder / "munge.socket").exists)
        self._begin("slurmctld", "-D", "-f", str(self.file))
        for node in NODES:
            self._begin("slurmd", "-D", "-f", str(self.file), "-N", node)
        self._wait(
            "the nodes",
            lambda: self.run("sinfo", "-h", "-o", "%D %t").split() == [str(len(NODES)), "idle"],
        )

    def run(self, *command: str) -> str:
        """Run one of Slurm's commands; its standard output. A status other than 0 is given as an
        empty one.
        """
        done = subprocess.run(
            command,
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return done.stdout if done.returncode == 0 else ""

    def list_jobs(self, state: str = "RUNNING") -> list[str]:
        """The ids of the jobs in this state, those of an array as 4_1."""
        return self.run("squeue", "-h", "-r", "-t", state, "-o", "%i").split()

    def remove(self) -> None:
        """Cancel all jobs, stop the cluster, and remove its folder."""
        if self._processes:
            self.run("scancel", "--full", "--state=RUNNING", "--user=root")
            self.run("scancel", "--user=root")
            with suppress(TimeoutError):
                self._wait("the end of jobs", lambda: not self.run("squeue", "-h"), 15)
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def read_logs(self) -> str:
        """What its programs have logged."""
        return "\n".join(
            f"{path.name}: {path.read_text(errors='replace')}" for path in self.folder.glob("*.log")
        )

    def _begin(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.out.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    command, env=dict(self.environment), stdout=log, stderr=log, cwd=self.folder
                )
            )

    def _wait(self, what: str, ready: object, seconds: float = 60) -> None:
        assert callable(ready)
        deadline = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > deadline or any(
                process.poll() is not None for process in self._processes
            ):
                raise TimeoutError(f"Slurm: {what}\n{self.read_logs()}")
            time.sleep(0.05)


def _find_free_ports(number: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def find_missing_programs() -> list[str]:
    """The programs that a cluster needs and that are not installed."""
    return [
        name
        for name in PROGRAMS
        if not shutil.which(name, path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    ]


@pytest.fixture(scope="session")
def slurm() -> Iterator[SlurmCluster]:
    """A cluster for all tests of this process."""
    if missing := find_missing_programs():
        pytest.skip(f"no {', '.join(missing)} (Debian: apt-get install slurm-wlm munge)")
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons want root")
    cluster = SlurmCluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()
