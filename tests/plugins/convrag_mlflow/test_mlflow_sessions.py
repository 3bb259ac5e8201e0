"""MLflow's scorers of conversations over our traces: the program of docs/grids.md, after a run of
simulated users.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mlflow_database import ENVIRONMENT, copy_database
from places import ROOT
from tasks import run_task

pytest.importorskip("mlflow")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_scorer_of_sessions_is_given_whole_conversations(tmp_path: Path, database: Path) -> None:
    copy_database(database, tmp_path)
    fast = ("generator=direct", "rewriter=none", "report=false", "limit=2", "tracker.traces=true")
    done = run_task(["dataset=simulated", "metrics=goal_success", *fast], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    page = (ROOT / "docs/grids.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(import mlflow.*?)```", page, re.DOTALL)
    counted = int(re.search(r"2 conversations, (\d+) turns", done.stdout)[1])  # type: ignore[index]
    (tmp_path / "judge.py").write_text(
        program, encoding="utf-8"
    )  # MLflow reads the source of scorers
    options = {
        "cwd": tmp_path,
        "env": ENVIRONMENT | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        "text": True,
    }
    judged = subprocess.run(
        [sys.executable, "judge.py"], check=True, capture_output=True, **options
    )  # type: ignore[call-overload]
    assert f"'turns/mean': np.float64({counted / 2})" in judged.stdout
    assert "'refused/mean'" in judged.stdout
