"""MLflow's own server on loopback, for tests."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError

from mlflow_database import ENVIRONMENT


@contextmanager
def serve_mlflow(folder: Path, *, patience: float = 300) -> Iterator[str]:
    """Serve the database `mlflow.db` of a folder, and give the address.

    Args:
        folder: has the database, and gets the files of runs.
        patience: seconds in which the server must answer.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    database, files = f"sqlite:///{folder}/mlflow.db", (folder / "artifacts").as_uri()
    command = [
        sys.executable,
        "-m",
        "mlflow",
        "server",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--workers",
        "1",
    ]
    command += ["--backend-store-uri", database, "--artifacts-destination", files]
    environment = {
        **ENVIRONMENT,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    with (folder / "server.log").open("wb") as said:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=said)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(address, process, time.monotonic() + patience)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=60)


def _wait_for(address: str, process: subprocess.Popen[bytes], deadline: float) -> None:
    while True:
        assert process.poll() is None, "the server has ended: see server.log"
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except (URLError, OSError):
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.3)
