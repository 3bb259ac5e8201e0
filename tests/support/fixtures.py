"""Fixtures of the tests and of benchmarks/: the real data where present, a fresh working folder, an
empty database.
"""

import os
from pathlib import Path

import pytest

from places import ROOT

SHARED = Path(os.environ.get("CONVRAG_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def mtrag_path() -> Path:
    """The folder of MTRAG, in the benchmark's own layout; tests that use it are skipped where it is
    absent.
    """
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
