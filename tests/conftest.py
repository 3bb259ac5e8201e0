"""Fixtures for all tests: the real data where present, a fresh working folder, and small stages."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from commands import fork_python

if "PYTEST_XDIST_WORKER" in os.environ:  # each core has a worker: more threads would only take turns
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # else numba sets OpenMP's number anew, for the main thread alone

# As our plugins have it: a test may import litellm before one of them, which would wait for a list of prices.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

SHARED = Path(os.environ.get("CONVRAG_SHARED", Path(__file__).parents[2] / "shared"))


def pytest_configure() -> None:
    """Fork the processes of the contracts' tests: there are more than a hundred."""
    gc.disable()  # until all is imported: a quarter of that would be collections that find nothing
    from convrag.testing.new_process import NewProcess  # behind the variables above, which numpy reads

    NewProcess.start = staticmethod(fork_python)


def pytest_collection_finish() -> None:
    """Let collections from now on leave out what was imported: each would look at millions of objects."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def mtrag_path() -> Path:
    """The folder of MTRAG, in the benchmark's own layout; tests that use it are skipped where it is absent."""
    path = SHARED / "data" / "mtrag"
    if not path.is_dir():
        pytest.skip("the MTRAG data is not here")
    return path


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database of MLflow's, of which each test takes a copy: making one takes seconds."""
    from mlflow_database import make_database

    return make_database(tmp_path_factory.mktemp("database"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh working folder, so that outputs/ goes nowhere else."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what would cost money or much time, unless it is asked for."""
    reasons = {"live": "CONVRAG_LIVE=1 asks providers and clusters", "thorough": "CONVRAG_THOROUGH=1 runs all variants"}
    for marker, reason in reasons.items():
        if not os.environ.get(reason.partition("=")[0]):
            for item in items:
                if item.get_closest_marker(marker):
                    item.add_marker(pytest.mark.skip(reason=reason))
