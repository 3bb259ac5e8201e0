"""Whether a command is a run or a grid is found without composing its configuration a first time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl

from commands import run_convrag
from convrag.cli import run_mode
from convrag.config.compose import CONFIG_NAME

CELLS = ["rewriter=none,last_n", "limit=1", "generator=none", "report=false", "tracker=none"]


class Compositions:
    """Stands for Hydra: where it looks for configurations, and how often it composes to find the mode."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *providers: str) -> None:
        self.config_loader = self
        self.path = ConfigSearchPathImpl()
        for provider in ("hydra", "main", *providers):
            self.path.append(provider, "pkg://somewhere")
        self.composed: list[object] = []
        monkeypatch.setattr(run_mode, "_compose_to_find_mode", lambda *given: self.composed.append(given))

    def get_search_path(self) -> ConfigSearchPathImpl:
        return self.path

    def find(self, *overrides: str, name: str = CONFIG_NAME) -> bool:
        """Whether a configuration was composed for it."""
        run_mode._find_mode(self, name, overrides)  # type: ignore[arg-type]
        return bool(self.composed)


@pytest.mark.parametrize(
    "override", ["hydra.mode=RUN", "++hydra.mode=RUN", "~hydra", "+seed=mine", "sweep=seeds", "hydra=x"]
)
def test_a_configuration_is_composed_first_where_it_may_set_the_mode(
    override: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Compositions(monkeypatch).find("rewriter=none", override)


def test_other_commands_compose_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Compositions(monkeypatch).find("rewriter=none,last_n", "task.show=trace", "dataset.path=~/hydra")


def test_files_of_ones_own_may_set_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Compositions(monkeypatch, "command-line").find("rewriter=none")
    assert Compositions(monkeypatch).find("rewriter=none", name="mine")


def test_the_mode_can_be_set_in_the_command(tmp_path: Path) -> None:
    done = run_convrag(["hydra.mode=MULTIRUN", *CELLS], tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("outputs/sweeps/*/leaderboard.md"))


def test_the_mode_can_be_set_in_a_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine/study").mkdir(parents=True)
    (tmp_path / "mine/study/grid.yaml").write_text("# @package _global_\nhydra:\n  mode: MULTIRUN\n")
    done = run_convrag(["--config-dir", "mine", "+study=grid", *CELLS], tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("outputs/sweeps/*/leaderboard.md"))
