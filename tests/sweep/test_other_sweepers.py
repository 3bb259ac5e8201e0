"""Sweepers that are not ours: each of their jobs is a run by itself, and gives them the value of
`sweep.metric`.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from omegaconf import OmegaConf

optuna = pytest.mark.skipif(
    find_spec("hydra_plugins") is None or find_spec("hydra_plugins.hydra_optuna_sweeper") is None,
    reason="needs hydra-optuna-sweeper",
)


pytestmark = pytest.mark.slow


def convrag(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", "convrag", "-m", *arguments]
    command += [
        "generator=none",
        "limit=3",
        "tracker=none",
        "metrics.ranking.measures=[nDCG@5,R@5]",
    ]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def values(folder: Path, metric: str) -> list[float]:
    """Read a metric of each job, in their order."""
    jobs = sorted(
        folder.glob("outputs/sweeps/*/*/metrics.json"), key=lambda path: int(path.parent.name)
    )
    return [json.loads(path.read_text())["overall"][metric] for path in jobs]


@optuna
@pytest.mark.parametrize("metric", ["nDCG@5", "R@5"])
def test_optuna_finds_the_best_weight(metric: str, tmp_path: Path) -> None:
    study = (
        "hydra/sweeper=optuna",
        *(f"hydra.sweeper.{each}" for each in ("n_trials=5", "n_jobs=1", "sampler.seed=1")),
    )
    asked = ("rewriter=blend", "rewriter.weight=interval(0.1,1)", f"sweep.metric={metric}")
    done = convrag(*study, "hydra.sweeper.direction=maximize", *asked, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    measured = values(tmp_path, metric)
    (file,) = tmp_path.glob("outputs/sweeps/*/optimization_results.yaml")
    found = OmegaConf.load(file)
    assert len(measured) == 5
    assert len(set(measured)) > 1
    assert found.best_value == max(measured)
    best = file.parent / str(measured.index(max(measured))) / ".hydra/config.yaml"
    assert OmegaConf.load(best).rewriter.weight == found.best_params["rewriter.weight"]


@optuna
def test_a_job_that_fails_is_told_to_optuna(tmp_path: Path) -> None:
    done = convrag(
        "hydra/sweeper=optuna", "hydra.sweeper.n_trials=1", "rewriter=replay", folder=tmp_path
    )
    assert done.returncode == 2
    assert (
        "convrag: rewriter=replay: this data set has no rewrites: name a file of them, rewriter.path=FILE"
        in done.stderr
    )
    assert "Traceback" not in done.stderr


def test_jobs_of_hydras_own_sweeper_are_runs_by_themselves(tmp_path: Path) -> None:
    for _ in range(2):
        done = convrag("hydra/sweeper=basic", "rewriter=none,last_n", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "nDCG@5" in done.stdout
    assert sorted(
        path.parent.name for path in tmp_path.glob("outputs/sweeps/*/*/metrics.json")
    ) == ["0", "0", "1", "1"]
    assert len(list(tmp_path.glob("outputs/sweeps/*"))) == 2
    assert not list(tmp_path.glob("outputs/sweeps/*/sweep.json"))
