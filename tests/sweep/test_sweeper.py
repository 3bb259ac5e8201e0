"""A grid as Hydra's sweeper runs it, its cells in this process."""

import json
import os
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from convrag import Report, Run, RunSummary, hookimpl
from convrag.api.errors import ConfigError, ConvragError, FolderInUse, JobLost, LauncherFailed
from convrag.concurrency.locks import FOLDER_LOCK, hold_folder
from convrag.config.compose import CONFIG_NAME
from convrag.config.loader import make_loader
from convrag.config.settings import read_metric_names
from convrag.registry import plugins
from convrag.sdk.errors import NotReady
from convrag.sdk.types import Sweep
from convrag.sweep.cell import run_cell
from convrag.sweep.cells import CellsFailed
from convrag.sweep.folders import make_cell_id, register_folder_names
from convrag.sweep.grid import ComposedCells, Grid
from convrag.sweep.plan import plan_sweep
from convrag.sweep.sweeper import run_grid
from convrag.turn.wiring import Wiring
from convrag_rewriters.baselines import LastNRewriter

PLAIN = ("limit=1", "generator=none", "tracker=none", "metrics.ranking.measures=[nDCG@5]")


def rewriter_of(overrides: Sequence[str]) -> str:
    return next(each for each in overrides if each.startswith("rewriter=")).removeprefix(
        "rewriter="
    )


class InProcess:
    """A launcher that runs cells one after the other, and notes which ones it got, batch by batch."""

    def __init__(self, config: DictConfig, loader: ComposedCells) -> None:
        self.config, self.loader = config, loader
        self.batches: list[list[str]] = []
        self.before: Callable[[], None] = lambda: None

    @property
    def launched(self) -> list[str]:
        return [name for batch in self.batches for name in batch]

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> list[JobReturn]:
        assert initial_job_idx == len(self.launched)
        self.batches.append([])
        return [self._run(list(overrides)) for overrides in job_overrides]

    def _run(self, overrides: list[str]) -> JobReturn:
        self.before()
        self.batches[-1].append(rewriter_of(overrides))
        config = self.loader.load_sweep_config(self.config, overrides)
        folder = Path(config.hydra.sweep.dir, make_cell_id(overrides)).absolute()
        folder.mkdir(exist_ok=True)
        with open_dict(config):
            del config["hydra"]
        metrics = read_metric_names(config.sweep.metric)
        value = run_cell(
            overrides, folder, lambda: Wiring(config).get("task").execute(config, folder), metrics
        )
        return JobReturn(status=JobStatus.COMPLETED, _return_value=value)


def make_grid(*overrides: str, batch: int | None = None, flags: Sequence[str] = ()) -> Grid:
    """The grid of `python -m convrag -m OVERRIDES`, with some settings that make it quick."""
    register_folder_names()
    loader = ComposedCells(make_loader())
    given = [*PLAIN, *overrides]
    config = loader.load_configuration(
        CONFIG_NAME, [*given, *flags, "hydra.mode=MULTIRUN"], RunMode.MULTIRUN
    )
    launcher: Any = InProcess(config, loader)
    return Grid(config, given, config.hydra.sweeper.params or {}, loader, launcher, batch)


def launched(grid: Grid) -> list[str]:
    return grid.launcher.launched  # type: ignore[attr-defined, no-any-return]


def folder_of(grid: Grid) -> Path:
    return Path(grid.config.hydra.sweep.dir)


def endings(grid: Grid) -> dict[str, dict[str, Any]]:
    """How each cell ended, by its rewriter."""
    found = [json.loads(path.read_text()) for path in folder_of(grid).glob("*/cell.json")]
    return {rewriter_of(ending["overrides"]): ending for ending in found}


def listed(grid: Grid) -> list[dict[str, Any]]:
    """The cells in sweep.json."""
    found: list[dict[str, Any]] = json.loads((folder_of(grid) / "sweep.json").read_text())["cells"]
    return found


class Watcher:
    """An observer of grids."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.runs: list[tuple[str, str]] = []
        self.problems: list[str] = []
        self.sweep: Sweep | None = None

    @hookimpl
    def convrag_sweep_check(self, sweep: Sweep) -> list[str]:
        return self.problems

    @hookimpl
    def convrag_sweep_started(self, sweep: Sweep) -> None:
        self.heard.append(f"started {len(sweep.cells)}")

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> None:
        self.runs.append((run.folder.name, run.sweep))

    @hookimpl
    def convrag_sweep_report(self, sweep: Sweep) -> Report:
        self.heard.append("report")
        return Report("mine", lines=("all is well",), files={"mine.md": "# Mine\n"})

    @hookimpl
    def convrag_sweep_finished(self, sweep: Sweep, reports: list[Report]) -> None:
        self.sweep = sweep
        titles = [report.title for report in reports]
        self.heard.append(
            f"finished {[cell.state for cell in sweep.cells]} {'mine' in titles} {sweep.interrupted}"
        )


@pytest.fixture
def watcher(here: Path) -> Iterator[Watcher]:
    watcher = Watcher()
    manager = plugins.load().manager
    manager.register(watcher, "watcher")
    yield watcher
    manager.unregister(watcher)


def test_a_grid_gives_the_values_of_its_metric(
    watcher: Watcher, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = make_grid("rewriter=none,last_n")
    values = run_grid(grid)
    for value, cell in zip(values, ("none", "last_n"), strict=True):
        folder = folder_of(grid) / make_cell_id([*PLAIN, f"rewriter={cell}"])
        assert value == json.loads((folder / "metrics.json").read_text())["overall"]["nDCG@5"]
    assert watcher.heard == ["started 2", "report", "finished ['ok', 'ok'] True False"]
    assert watcher.sweep is not None
    assert watcher.sweep.id == watcher.sweep.folder.name == folder_of(grid).name
    assert watcher.runs == [(cell.id, watcher.sweep.id) for cell in watcher.sweep.cells]
    assert (folder_of(grid) / "mine.md").read_text() == "# Mine\n"
    assert OmegaConf.load(folder_of(grid) / "multirun.yaml").hydra.sweeper.params is None
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "convrag: [1/2] rewriter=none"
    assert re.fullmatch(
        rf"convrag: \[1/2\] nDCG@5 {values[0]:.3f}, evidence_nDCG [\d.]+ \(\d+(\.\d)? s\)", said[1]
    )
    assert said[2].startswith("convrag: [2/2] rewriter=last_n (about ")
    assert "convrag: all is well" in said


def test_a_sample_launches_so_many_cells(here: Path) -> None:
    grid = make_grid(
        "rewriter=none,last_n,full_history", "top_n=1,2,3", "sweep.sample=2", "sweep.seed=7"
    )
    assert len(run_grid(grid)) == len(launched(grid)) == 2
    again = make_grid(
        "rewriter=none,last_n,full_history", "top_n=1,2,3", "sweep.sample=2", "sweep.seed=7"
    )
    run_grid(again)
    assert {ending["state"] for ending in endings(again).values()} == {"reused"}
    assert len(list(folder_of(grid).glob("*/cell.json"))) == 2


def test_the_same_experiment_is_run_once(
    watcher: Watcher, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = make_grid(
        "rewriter=none,last_n",
        "clusterer=lsa,kmeans",
        "sweep.baseline='rewriter=last_n+clusterer=kmeans'",
    )
    assert len(run_grid(grid)) == 2
    assert launched(grid) == ["none", "last_n"]
    assert watcher.sweep is not None
    first, same, *_ = watcher.sweep.cells
    assert (same.state, same.same_as) == ("same", first.id)
    assert not same.folder.exists()
    note = "clusterer made no difference to 4 cells: no stage of theirs uses it"
    assert watcher.sweep.notes == (note,)
    assert capsys.readouterr().err.startswith(f"convrag: {note}\nconvrag: [1/2] rewriter=none")
    board = (folder_of(grid) / "leaderboard.md").read_text()
    assert f"* {note}" in board
    assert "the baseline, `rewriter=last_n`" in board
    assert len((folder_of(grid) / "leaderboard.csv").read_text().splitlines()) == 3
    listed = json.loads((folder_of(grid) / "sweep.json").read_text())["cells"]
    assert [cell.get("same_as", "") for cell in listed] == ["", first.id, "", listed[2]["id"]]


def test_a_cell_that_fails_does_not_end_the_others(
    watcher: Watcher, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = make_grid("rewriter=none,replay,last_n")
    with pytest.raises(CellsFailed, match=r"1 of 3 cells failed") as caught:
        run_grid(grid)
    assert caught.value.exit_status == 1
    assert watcher.heard[-1] == "finished ['ok', 'failed', 'ok'] True False"
    (text,) = folder_of(grid).glob("*/error.txt")
    assert "rewriter.path" in text.read_text()
    assert "Traceback" in text.read_text()
    said = capsys.readouterr().err
    assert (
        "this cell failed: rewriter=replay: this data set has no rewrites: name a file of them, rewriter.path="
        in said
    )
    assert [cell["state"] for cell in listed(grid)] == ["ok", "failed", "ok"]
    assert "Traceback" not in said


def test_a_partial_cell_has_its_own_state_and_is_run_again(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    overrides = ("rewriter=none,last_n,full_history",)
    with monkeypatch.context() as broken:
        broken.setattr(LastNRewriter, "rewrite", lambda self, question: question.text)
        grid = make_grid(*overrides)
        with pytest.raises(
            CellsFailed, match=r"^1 of 3 cells partial: see .*asks only for what is missing"
        ) as caught:
            run_grid(grid)
    assert caught.value.exit_status == 3
    assert watcher.heard[-1] == "finished ['ok', 'partial', 'ok'] True False"
    assert [cell["state"] for cell in listed(grid)] == ["ok", "partial", "ok"]
    assert "(partial: the rewriter fell back in all" in capsys.readouterr().err
    assert "partial: rewriter fell back |" in (folder_of(grid) / "leaderboard.md").read_text()
    run_grid(make_grid(*overrides))
    assert watcher.heard[-1] == "finished ['reused', 'ok', 'reused'] True False"
    assert "partial" not in (folder_of(grid) / "leaderboard.md").read_text()


def test_an_interrupted_grid_is_closed_and_goes_on(watcher: Watcher) -> None:
    overrides = ("rewriter=none,last_n,full_history",)
    grid = make_grid(*overrides)

    def interrupt() -> None:
        if len(launched(grid)) == 2:
            raise KeyboardInterrupt

    grid.launcher.before = interrupt  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        run_grid(grid)
    assert watcher.heard == ["started 3", "finished ['ok', 'ok', ''] False True"]
    again = make_grid(*reversed(overrides))
    run_grid(again)
    expected = ["reused", "reused", "ok"]
    ended = endings(again)
    assert [ended[name]["state"] for name in ("none", "last_n", "full_history")] == expected
    assert watcher.heard[-1] == "finished ['reused', 'reused', 'ok'] True False"


def test_a_grid_that_is_refused_writes_nothing(watcher: Watcher) -> None:
    watcher.problems = ["the moon is full"]
    grid = make_grid("rewriter=none,last_n")
    with pytest.raises(NotReady, match="the moon is full"):
        run_grid(grid)
    for wrong in ("rewriter=nosuch,none", "rewriter.nosuch=1,2"):
        with pytest.raises((ConvragError, HydraException)):
            run_grid(make_grid(wrong))
    with pytest.raises(ConvragError, match=r"top_k=0"):
        run_grid(make_grid("rewriter=none,last_n", "top_k=0"))
    assert launched(grid) == watcher.heard == []
    assert not Path("outputs/sweeps").exists()


def test_the_same_grid_at_once_says_who_runs_it_and_writes_nothing(here: Path) -> None:
    grid = make_grid("rewriter=none,last_n")
    with hold_folder(folder_of(grid)), ThreadPoolExecutor(1) as other:
        with pytest.raises(FolderInUse, match=f"process {os.getpid()} on"):
            other.submit(run_grid, grid).result()
        assert [path.name for path in folder_of(grid).iterdir()] == [FOLDER_LOCK]
    assert launched(grid) == []


def test_the_launcher_gets_batches_where_it_should(here: Path) -> None:
    grid = make_grid("rewriter=none,last_n,full_history", batch=2)
    assert len(run_grid(grid)) == 3
    assert grid.launcher.batches == [["none", "last_n"], ["full_history"]]  # type: ignore[attr-defined]


def test_a_cell_whose_process_was_lost_has_failed_and_the_others_go_on(here: Path) -> None:
    grid = make_grid("rewriter=none,last_n,full_history")
    run, lost = (
        grid.launcher._run,
        JobReturn(status=JobStatus.FAILED, _return_value=JobLost("the worker was killed")),
    )  # type: ignore[attr-defined]
    grid.launcher._run = lambda overrides: (
        lost if rewriter_of(overrides) == "last_n" else run(overrides)
    )  # type: ignore[attr-defined]
    with pytest.raises(CellsFailed, match="1 of 3 cells failed"):
        run_grid(grid)
    ending = endings(grid)["last_n"]
    assert (ending["state"], ending["error"]) == ("failed", "the worker was killed")
    assert [cell["state"] for cell in listed(grid)] == ["ok", "failed", "ok"]
    again = make_grid("rewriter=none,last_n,full_history")
    run_grid(again)
    assert [cell["state"] for cell in listed(again)] == ["reused", "ok", "reused"]


def test_a_launcher_that_gives_up_is_named_and_the_same_command_goes_on(here: Path) -> None:
    grid = make_grid("rewriter=none,last_n,full_history")

    def give_up() -> None:
        if len(launched(grid)) == 1:
            raise RuntimeError("Job 1_1 has not produced any output (state: CANCELLED)")

    grid.launcher.before = give_up  # type: ignore[attr-defined]
    with pytest.raises(
        LauncherFailed, match=r"InProcess has given up: Job 1_1 .*CANCELLED.*\n.*The same command"
    ) as caught:
        run_grid(grid)
    assert caught.value.exit_status == 1
    again = make_grid("rewriter=none,last_n,full_history")
    run_grid(again)
    assert [cell["state"] for cell in listed(again)] == ["reused", "ok", "ok"]


def test_each_cell_is_composed_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = make_grid("rewriter=none,last_n,full_history")
    composed: list[list[str]] = []
    compose = ConfigLoaderImpl.load_sweep_config

    def note(
        self: ConfigLoaderImpl, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        composed.append(sweep_overrides)
        return compose(self, master_config, sweep_overrides)

    monkeypatch.setattr(ConfigLoaderImpl, "load_sweep_config", note)
    run_grid(grid)
    assert len(composed) == 3


def test_a_ready_grid_brings_its_factors_and_the_command_line_wins(here: Path) -> None:
    grid = make_grid("+sweep=rewriters", "rewriter=none,last_n")
    run_grid(grid)
    assert launched(grid) == ["none", "last_n"]
    assert all("history=gold" in ending["overrides"] for ending in endings(grid).values())
    (listed,) = Path("outputs/sweeps").glob("*/sweep.json")
    named = {tuple(cell["overrides"]) for cell in json.loads(listed.read_text())["cells"]}
    assert named == {tuple(ending["overrides"]) for ending in endings(grid).values()}


def test_a_ready_grid_chooses_a_stage_for_a_stage_by_its_plain_name(here: Path) -> None:
    grid = replace(make_grid("rewriter=mmr"), params={"rewriter.clusterer": "lsa,kmeans"})
    sweep, _ = plan_sweep(grid)
    assert [cell.name for cell in sweep.cells] == [
        f"clusterer@rewriter.clusterer={name}" for name in ("lsa", "kmeans")
    ]
    assert [cell.state for cell in sweep.cells] == ["", ""]


@pytest.mark.parametrize("metric", ["nDCG@5", "'R@5,nDCG@5'"])
def test_a_metric_that_no_cell_can_have_is_refused_before_the_first_one(
    metric: str, watcher: Watcher
) -> None:
    grid = make_grid(
        "rewriter=none,last_n", "metrics.ranking.measures=[R@5]", f"sweep.metric={metric}"
    )
    there = "There are R@5, ROUGE-L, token_precision"
    with pytest.raises(ConfigError, match=rf"^sweep\.metric=nDCG@5: no metric gives it\. {there}"):
        run_grid(grid)
    assert not Path("outputs/sweeps").exists()


def test_a_metric_that_a_cell_did_not_measure_is_told_with_its_scores(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody knew: the metric gives it, but these cells make no answers. What there is was
    compared.
    """
    grid = make_grid("rewriter=none,last_n", "sweep.metric=[nDCG@5,ROUGE-L]")
    run_grid(grid)
    assert "ROUGE-L was not measured" in capsys.readouterr().err
    assert "| nDCG@5 [95 %] |" in (folder_of(grid) / "leaderboard.md").read_text()


def test_a_metric_that_the_data_set_cannot_have_is_refused_before_the_first_cell(
    here: Path,
) -> None:
    (here / "c.jsonl").write_text('{"id": "c", "turns": [{"question": "Why?"}]}\n')
    (here / "p.jsonl").write_text('{"_id": "p", "text": "A kettle whistles."}\n')
    data = ["dataset=jsonl", "dataset.conversations=c.jsonl", "dataset.corpus=p.jsonl"]
    with pytest.raises(
        ConfigError,
        match=r"^sweep\.metric=nDCG@5: the data set has no relevance judgements; task=que",
    ):
        run_grid(make_grid("rewriter=none,last_n", "sweep.metric=nDCG@5", *data))
    with pytest.raises(ConfigError, match=r"^the data set has no conversations to run"):
        run_grid(make_grid("rewriter=none,last_n", "dataset=jsonl", "dataset.corpus=p.jsonl"))
    assert not Path("outputs/sweeps").exists()


@pytest.mark.parametrize("wrong", ["[R@5,R@5]", "3"])
def test_what_names_no_measures_is_refused(wrong: str, here: Path) -> None:
    with pytest.raises(ConfigError, match=r"it must name measures, each once"):
        run_grid(make_grid("rewriter=none,last_n", f"sweep.metric={wrong}"))
    assert not Path("outputs/sweeps").exists()


class PlainLoader:
    """In place of Hydra's loader."""

    def load_sweep_config(
        self, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        return OmegaConf.create({"overrides": sweep_overrides})


def test_another_process_composes_its_own_cells() -> None:
    inner: Any = PlainLoader()
    loader = ComposedCells(inner)
    loader.keep(("rewriter=mmr",), OmegaConf.create({"big": "configuration"}))
    assert b"configuration" not in pickle.dumps(loader)
    copied = pickle.loads(pickle.dumps(loader))
    assert copied.load_sweep_config(OmegaConf.create(), ["rewriter=mmr"]) == {
        "overrides": ["rewriter=mmr"]
    }
