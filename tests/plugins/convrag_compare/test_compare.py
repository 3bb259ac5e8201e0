"""Comparisons of runs: leaderboards, baselines, effects, reports of grids, and finding the runs."""

import csv
import io
import json
import math
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from comparisons import BAD, GOOD, grid, run_result
from convrag.api.errors import ConfigError
from convrag.api.records import Cell, Sweep, Usage
from convrag_compare import convrag_sweep_check, convrag_sweep_report
from convrag_compare.baseline import find_baseline
from convrag_compare.factors import format_run
from convrag_compare.find_runs import find_runs
from convrag_compare.leaderboard import build_leaderboard
from convrag_compare.plots.scatter_plot import has_costs
from convrag_compare.report import compare_runs
from convrag_compare.run_result import FAILED, RunResult, Scores
from convrag_compare.tables import Table, format_number, format_p, format_signed
from convrag_compare.terminal_tables import make_tables, print_tables
from convrag_web.report.reports import write_comparison_report
from tasks import run_task
from web.report_records import read_blocks


@pytest.fixture(autouse=True)
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no plots here: each takes a second, and test_compare_plots.py tests them."""
    monkeypatch.setattr("convrag_compare.report.draw_plots", lambda board, folder: [])


def board_rows(results: list[RunResult], folder: Path, **more: Any) -> list[dict[str, str]]:
    made = compare_runs(results, ["nDCG@5"], find_baseline(results, None), folder, **more)
    return list(csv.DictReader(io.StringIO(made.files["leaderboard.csv"])))


def test_the_leaderboard_is_sorted_and_compared_with_the_baseline(tmp_path: Path) -> None:
    rows = board_rows(grid(), tmp_path)
    assert [(row["rewriter"], row["ranker"]) for row in rows] == [
        ("a", "y"),
        ("b", "y"),
        ("b", "x"),
        ("a", "x"),
    ]
    assert "limit" not in rows[0]
    best, *_, baseline = rows
    assert float(best["nDCG@5"]) == pytest.approx(0.85)
    assert float(best["nDCG@5_difference"]) == pytest.approx(0.85 - float(baseline["nDCG@5"]))
    assert (
        float(best["nDCG@5_p"]) == 2 / 2**6
    )  # all six conversations are better: this way and its mirror image
    assert float(best["nDCG@5_p_holm"]) == pytest.approx(
        2 * 2 / 2**6
    )  # the best two are equal, and count once
    assert [float(best["nDCG@5_low"]), float(best["nDCG@5_high"])] == pytest.approx([0.85, 0.85])
    assert baseline["nDCG@5_difference"] == baseline["nDCG@5_p_holm"] == ""


def test_files_are_the_same_again_and_hold_no_times(tmp_path: Path) -> None:
    again = [
        replace(each, summary=replace(each.summary, seconds=99.0, timings={"generator": 7.0}))
        for each in grid()
    ]
    one, other = (
        compare_runs(runs, ["nDCG@5"], runs[0], tmp_path).files for runs in (grid(), again)
    )
    for name in ("leaderboard.md", "leaderboard.csv", "effects.md"):
        assert one[name] == other[name]
    assert one["costs.md"] != other["costs.md"]


def test_costs_without_a_language_model_have_no_tokens(tmp_path: Path) -> None:
    ruled = [
        run_result(f"rewriter={name}", GOOD, usage={"generator": Usage(calls=3)}) for name in "ab"
    ]
    for runs, has_tokens in ((ruled, False), (grid(), True), ([*ruled, *grid()], True)):
        files = compare_runs(runs, ["nDCG@5"], None, tmp_path).files
        assert ("prompt tokens" in files["costs.csv"]) == has_tokens
        assert ("completion tokens" in files["costs.md"]) == has_tokens
        assert has_costs(build_leaderboard(runs, ["nDCG@5"], None)) == has_tokens
        table = list(csv.reader(io.StringIO(files["costs.csv"])))
        assert len({len(row) for row in table}) == 1


def test_a_failed_cell_stands_last_and_nothing_is_said_of_it(tmp_path: Path) -> None:
    results = grid()
    results[1] = RunResult("bad", results[1].choices, FAILED, "no key")
    made = compare_runs(results, ["nDCG@5"], results[0], tmp_path)
    rows = list(csv.DictReader(io.StringIO(made.files["leaderboard.csv"])))
    assert [row["state"] for row in rows] == ["ok", "ok", "ok", "failed"]
    assert rows[-1]["nDCG@5"] == rows[-1]["nDCG@5_p"] == ""
    assert float(rows[0]["nDCG@5_p_holm"]) == pytest.approx(
        2 * float(rows[0]["nDCG@5_p"])
    )  # two were compared
    assert "`rewriter=a ranker=y`: failed (cell bad)." in made.files["leaderboard.md"]


def test_nothing_ended_well(tmp_path: Path) -> None:
    made = compare_runs(
        [RunResult("one", {"rewriter": "a"}, FAILED, "no")], ["nDCG@5"], None, tmp_path
    )
    assert "Nothing was measured" in made.files["leaderboard.md"]
    assert "effects.md" not in made.files


def test_runs_without_judgements_have_a_leaderboard_of_names(tmp_path: Path) -> None:
    bare = [
        replace(each, scores=Scores(), summary=replace(each.summary, overall={}, domains={}))
        for each in grid()
    ]
    made = compare_runs(bare, ["nDCG@5"], bare[0], tmp_path)
    assert "Nothing was measured" in made.files["leaderboard.md"]
    assert "calls made" in made.files["costs.md"]
    assert "effects.md" not in made.files


def test_what_no_run_could_measure_is_told_once(tmp_path: Path) -> None:
    silence = {
        "metrics.ranking": {"lines": ["nDCG@5 is not measured."]},
        "dedup": {"lines": ["much"]},
    }
    results = [run_result(f"rewriter={name}", BAD, reports=silence) for name in "ab"]
    text = compare_runs(results, ["R@5"], results[0], tmp_path).files["leaderboard.md"]
    assert text.count("nDCG@5 is not measured.") == 1
    assert "much" not in text


def test_fallbacks_and_failed_turns_are_told(tmp_path: Path) -> None:
    results = [
        run_result("rewriter=a", BAD),
        run_result("rewriter=b", GOOD, failed=2, fallbacks={"rewriter": 4}),
    ]
    text = compare_runs(results, ["nDCG@5"], results[0], tmp_path).files["leaderboard.md"]
    assert "* `rewriter=b` is partial: 2 of 12 turns failed." in text
    assert "* `rewriter=b`: turns in which a stage fell back: rewriter 4." in text


def test_a_partial_run_is_compared_and_its_state_stands_beside_its_score(tmp_path: Path) -> None:
    gaps: dict[str, Any] = {
        "failed": 2,
        "fallbacks": {"rewriter": 10},
        "always_fell_back": ("rewriter",),
    }
    results = [run_result("rewriter=a", BAD, **gaps), run_result("rewriter=b", GOOD, failed=1)]
    made = compare_runs(results, ["nDCG@5"], results[0], tmp_path)
    best, worst = csv.DictReader(io.StringIO(made.files["leaderboard.csv"]))
    assert (best["state"], best["turns"], best["failed_turns"], best["always_fell_back"]) == (
        "partial",
        "12",
        "1",
        "",
    )
    assert (worst["failed_turns"], worst["always_fell_back"]) == ("2", "rewriter")
    assert float(best["nDCG@5_difference"]) > 0.5
    text = made.files["leaderboard.md"]
    assert re.search(r"^\| b \| 0\.850 .*\| partial: 1/12 failed \|$", text, re.MULTILINE)
    assert re.search(
        r"^\| a \| .*\| partial: 2/12 failed, rewriter fell back \|$", text, re.MULTILINE
    )
    assert "the rewriter fell back in all 10 turns that it was needed in" in text
    assert "Partial runs: 2 of 2" in made.files["effects.md"]
    from rich.console import Console

    (table,) = make_tables(made, {}, Console(width=200))
    assert list(table.columns[-1].cells) == [
        "partial: 1/12 failed",
        "partial: 2/12 failed, rewriter fell back",
    ]
    assert "Partial" not in compare_runs(grid(), ["nDCG@5"], None, tmp_path).files["effects.md"]


def test_several_domains_have_a_table(tmp_path: Path) -> None:
    results = [
        run_result(f"rewriter={n}", v, domains=("news", "law"))
        for n, v in (("a", BAD), ("b", GOOD))
    ]
    files = compare_runs(results, ["nDCG@5"], results[0], tmp_path).files
    assert "## nDCG@5 by domain" in files["leaderboard.md"]
    row = next(csv.DictReader(io.StringIO(files["leaderboard.csv"])))
    assert float(row["law:R@5"]) == pytest.approx(0.425)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, "rewriter=a ranker=x"),
        ("rewriter=b", "rewriter=b ranker=x"),
        ("rewriter=b+ranker=y", "rewriter=b ranker=y"),
        ("ranker=y+rewriter=b", "rewriter=b ranker=y"),
    ],
)
def test_baselines(wanted: str | None, found: str) -> None:
    assert format_run(find_baseline(grid(), wanted), ["rewriter", "ranker"]) == found


def test_a_plus_in_a_value_of_the_baseline() -> None:
    results = [
        run_result("dataset.domain=x", GOOD),
        run_result("dataset.domain=x+y +system=mmr", GOOD),
    ]
    assert find_baseline(results, "dataset.domain=x+y+system=mmr") is results[1]
    assert find_baseline(results, "dataset.domain=x+y++system=mmr") is results[1]


def test_the_terminal_shows_reused_cells_and_fits(tmp_path: Path) -> None:
    from rich.console import Console

    made = compare_runs(grid(), ["nDCG@5"], None, tmp_path)
    states = {each.name: "reused" for each in grid()}
    console = Console(width=80, file=io.StringIO())
    print_tables(made, states, console)
    shown = console.file.getvalue()
    assert shown.count("reused") == 4
    assert max(map(len, shown.splitlines())) <= 80
    assert "reused" not in made.files["leaderboard.md"]


def test_markdown_is_escaped() -> None:
    table = Table(["a_b", "95 %"], [["x|y & $z", "-0.1"]])
    assert "| x&#124;y & $z | -0.1 |" in table.markdown()


def test_numbers() -> None:
    assert [format_number(each) for each in (0.12345, -0.0001, math.nan)] == ["0.123", "0.000", ""]
    assert [format_signed(each) for each in (0.5, -0.5, 0.0001)] == ["+0.500", "-0.500", "0.000"]
    assert (format_p(0.00001), format_p(0.05)) == ("<0.0001", "0.0500")


# Finished runs on disk
# ------------------------------------------------------------------------------------------


def write(run: RunResult, folder: Path, overrides: list[str]) -> Path:
    """A run's folder as the runner leaves it."""
    (folder / ".hydra").mkdir(parents=True)
    (folder / ".hydra" / "overrides.yaml").write_text(json.dumps(overrides))
    (folder / "metrics.json").write_text(json.dumps(asdict(run.summary)))
    scores = run.scores
    columns = zip(scores.turns, scores.conversations, scores.domains, scores.numbers, strict=True)
    with (folder / "scores.jsonl").open("w") as file:
        for index, (turn, conversation, domain, position) in enumerate(columns):
            row = {
                "turn_id": turn,
                "conversation_id": conversation,
                "domain": domain,
                "turn": position,
            }
            values = {name: column[index] for name, column in scores.measures.items()}
            file.write(json.dumps({**row, "scores": values}) + "\n")
    return folder


def swept(folder: Path, **settings: Any) -> Sweep:
    """A grid of two cells that ended well and one that failed."""
    cells = []
    for name, values in (("none", BAD), ("mmr", GOOD)):
        overrides = (f"rewriter={name}", "limit=3")
        write(run_result(" ".join(overrides), values), folder / f"id-{name}", list(overrides))
        cells.append(Cell(f"id-{name}", overrides, folder / f"id-{name}", "ok"))
    cells.append(Cell("id-bad", ("rewriter=bad", "limit=3"), folder / "id-bad", "failed", "no key"))
    sweep = {"metric": None, "baseline": None, "sample": None, "seed": 0} | settings
    config = {"sweep": sweep, "task": {"_option_": "run"}, "store": {"path": str(folder / "store")}}
    return Sweep("s", folder, tuple(cells), config)


def test_a_grid_is_reported_on(tmp_path: Path) -> None:
    sweep = swept(tmp_path)
    made = convrag_sweep_report(sweep)
    assert made is not None
    assert "Calls of stages and metrics: 6 made, 2 reused (costs.md)." in made.lines
    assert "| mmr | 0.850 |" in made.files["leaderboard.md"]
    assert "`rewriter=bad`: failed (cell id-bad)." in made.files["leaderboard.md"]
    write_comparison_report(made, {}, tmp_path)
    written = (tmp_path / "report.html").stat().st_mtime_ns
    write_comparison_report(made, {}, tmp_path)
    assert (tmp_path / "report.html").stat().st_mtime_ns == written, "nothing has changed"
    (tmp_path / "heat_nDCG@5.png").write_bytes(b"a plot")
    write_comparison_report(made, {}, tmp_path)
    head = read_blocks(tmp_path / "report.html")["head"]
    assert head["plots"] == ["heat_nDCG@5"], "what was drawn since then is in it"
    assert (head["kind"], head["board"]["rows"][0]["name"]) == ("comparison", "id-mmr")
    reused = tuple(
        replace(cell, state="reused") if cell.state == "ok" else cell for cell in sweep.cells
    )
    assert (
        convrag_sweep_report(replace(sweep, cells=reused)).files["leaderboard.md"]
        == made.files["leaderboard.md"]
    )
    partial = write(run_result("x", GOOD, failed=1), tmp_path / "id-partial", [])
    cell = Cell(
        "id-partial", ("rewriter=last_n", "limit=3"), partial, "partial", "1 of 12 turns failed"
    )
    more = convrag_sweep_report(replace(sweep, cells=(*sweep.cells, cell)))
    assert re.search(
        r"^\| last_n \| 0\.850 .*\| partial: 1/12 failed \|$",
        more.files["leaderboard.md"],
        re.MULTILINE,
    )


def test_an_unknown_baseline_is_told_before_the_first_cell(tmp_path: Path) -> None:
    (problem,) = convrag_sweep_check(swept(tmp_path, baseline="rewriter=dhrag"))
    assert "sweep.baseline=rewriter=dhrag: no cell has these overrides" in problem
    assert problem.endswith("\n  rewriter=none\n  rewriter=mmr\n  rewriter=bad")
    assert not list(convrag_sweep_check(swept(tmp_path / "other", baseline="rewriter=mmr+limit=3")))


def test_what_a_former_report_left_is_taken_away(tmp_path: Path) -> None:
    for name in ("effects.md", "mine.png"):
        (tmp_path / name).touch()
    compare_runs([run_result("only", GOOD)], ["nDCG@5"], None, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.png"]


def test_a_reused_reply_counts_with_the_time_that_it_took() -> None:
    one = run_result("one", GOOD)
    summary = replace(
        one.summary,
        turns=10,
        timings={"generator": 0.2},
        usage={"generator": Usage(reused_seconds=3.0)},
    )
    late = replace(one, summary=summary)
    assert late.latency == pytest.approx(20.0)
    assert late.full_latency == pytest.approx(320.0)


def test_a_baseline_that_failed_is_replaced_only_where_nobody_chose_it(tmp_path: Path) -> None:
    sweep = swept(tmp_path)
    first_bad = replace(sweep, cells=tuple(reversed(sweep.cells)))
    assert "`rewriter=mmr`" in convrag_sweep_report(first_bad).files["leaderboard.md"]
    config = {**sweep.config, "sweep": {**sweep.config["sweep"], "baseline": "rewriter=bad"}}
    made = convrag_sweep_report(replace(sweep, config=config))
    assert "nothing is compared with it" in made.lines[0]
    assert "`difference`" not in made.files["leaderboard.md"]


def test_runs_are_found_by_folder_glob_and_grid(tmp_path: Path) -> None:
    sweep = swept(tmp_path / "grid")
    listed = {
        "id": "s",
        "cells": [{"id": cell.id, "overrides": list(cell.overrides)} for cell in sweep.cells],
    }
    (tmp_path / "grid/sweep.json").write_text(json.dumps(listed))
    whole = find_runs([str(tmp_path / "grid")])
    assert [run.choices["rewriter"] for run in whole] == ["none", "mmr"]
    assert find_runs([str(tmp_path / "grid/id-*")])[0].choices["rewriter"] == "mmr"
    assert len(find_runs([str(tmp_path / "grid"), str(tmp_path / "grid/id-mmr")])) == 2
    (tmp_path / "grid/id-mmr/cell.json").write_text(
        '{"state": "failed"}'
    )  # its metrics are of an earlier try
    assert [run.choices["rewriter"] for run in find_runs([str(tmp_path / "grid")])] == ["none"]
    with pytest.raises(ConfigError, match=r"not a finished run"):
        find_runs([str(tmp_path / "nowhere")])


def test_a_default_counts_as_a_choice_and_twins_get_their_names(tmp_path: Path) -> None:
    one = write(run_result("x", BAD), tmp_path / "one", ["rewriter=mmr", "top_k=5"])
    other = write(run_result("x", GOOD), tmp_path / "two/run", ["top_k=5"])
    (other / ".hydra/config.yaml").write_text("rewriter:\n  _option_: full_history\ntop_k: 5\n")
    assert [run.choices["rewriter"] for run in find_runs([str(one), str(other)])] == [
        "mmr",
        "full_history",
    ]
    twin = write(run_result("x", GOOD), tmp_path / "three/run", ["rewriter=mmr", "top_k=5"])
    runs = find_runs([str(one), str(twin)])
    assert [run.choices["run"] for run in runs] == ["one", "run"]


def test_a_quoted_value_is_the_value_and_a_reference_is_not_looked_up(tmp_path: Path) -> None:
    overrides = [
        "dataset.path='/my data'",
        r"+rewriter.a='it\'s'",
        "rewriter.b=${oc.env:NO_SUCH}",
        "+rewriter.c=${x.y}",
    ]
    (run,) = find_runs([str(write(run_result("x", GOOD), tmp_path / "one", overrides))])
    assert run.choices == {
        "dataset.path": "/my data",
        "rewriter.a": "it's",
        "rewriter.b": "${oc.env:NO_SUCH}",
        "rewriter.c": "${x.y}",
    }


def test_a_run_that_repeats_another_stands_once(tmp_path: Path) -> None:
    """The same command twice leaves two folders; another model's answer in the second one makes it
    a run of its own.
    """
    for name, values, identity, task in (
        ("a", GOOD, "1", "run"),
        ("b", GOOD, "1", "run"),
        ("c", BAD, "1", "run"),
        ("d", GOOD, "2", "run"),
        ("e", GOOD, "3", "evaluate"),
        ("f", GOOD, "3", "evaluate"),
    ):
        folder = write(run_result("x", values), tmp_path / name, ["rewriter=mmr"])
        (folder / "run.json").write_text(json.dumps({"identity": identity}))
        (folder / ".hydra/config.yaml").write_text(f"task:\n  _option_: {task}\n")
    found = find_runs([str(tmp_path / "*")])
    assert [run.name for run in found] == ["a", "c", "d", "e", "f"]
    assert [run.repeated_by for run in found] == [("b",), (), (), (), ()]
    command = ["task=compare", "task.runs=[a,b,c]", "task.names=[x,y]", "tracker=none"]
    done = run_task(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "b: the same experiment as a." in done.stdout
    assert len((tmp_path / "out/leaderboard.csv").read_text().splitlines()) == 3
    assert "`run=x`" in (tmp_path / "out/leaderboard.md").read_text()
    refused = run_task([*command[:2], "sweep.metric=BLEU"], tmp_path)
    assert (refused.returncode, "no run was measured by it" in refused.stderr) == (2, True)
