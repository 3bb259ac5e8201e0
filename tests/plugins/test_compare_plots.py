"""The plots are drawn, whatever was varied, and their labels can be read."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from comparisons import GOOD, grid, run_result
from convrag_compare.leaderboard import build_leaderboard
from convrag_compare.plot_scatter import draw_latency, find_pareto_front
from convrag_compare.plot_turns import draw_turns
from convrag_compare.report import compare_runs


@pytest.mark.parametrize("factors", [{"a": 2}, {"rewriter": 3, "clusterer": 2, "ranker": 2}, {"a": 12}])
def test_every_plot_is_drawn(factors: dict[str, int], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("adjustText")
    combinations = list(itertools.product(*(range(count) for count in factors.values())))
    runs = [
        run_result(
            " ".join(f"{f}={n}" for f, n in zip(factors, each, strict=True)),
            {k: [v[0], v[1] / (2 + i)] for k, v in GOOD.items()},
        )
        for i, each in enumerate(combinations)
    ]
    compare_runs(runs, ["nDCG@5", "R@5"], runs[0], tmp_path)
    drawn = {path.name for path in tmp_path.glob("*.png")}
    maps = 2 * factors.get("clusterer", 1)
    assert len([name for name in drawn if name.startswith("heat")]) == maps
    names = ("quality_cost", "quality_latency", "turns")
    assert {f"{name}_{measure}.png" for name in names for measure in ("nDCG@5", "R@5")} <= drawn


def test_a_measure_by_which_all_runs_are_equal_is_not_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("adjustText")
    runs = [run_result(f"rewriter={name}", GOOD, words=words) for name, words in (("a", 3.0), ("b", 4.0))]
    compare_runs(runs, ["nDCG@5", "words"], runs[0], tmp_path)
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == {f"{name}_words.png" for name in ("heat", "quality_cost", "quality_latency", "turns")}


def test_positions_that_few_conversations_have_are_left_out() -> None:
    pytest.importorskip("matplotlib")
    values = {f"c{n}": [0.5, 0.4, *([1.0] if n < 4 else [])] for n in range(6)}
    runs = [run_result("rewriter=a", values), run_result("rewriter=b", GOOD)]
    (axes,) = draw_turns(build_leaderboard(runs, ["nDCG@5"], runs[0]), "nDCG@5").axes
    assert sorted({x for line in axes.lines for x in line.get_xdata()}) == [1, 2]


def draw_labels(count: int, text: str) -> list[Any]:
    """The labels of points that lie close together."""
    figure_module = pytest.importorskip("matplotlib.figure")
    pytest.importorskip("adjustText")
    from convrag_compare.plot_style import label_points

    figure = figure_module.Figure(figsize=(6, 4))
    axes = figure.add_subplot()
    points = [(0.1 * (n % 5), 0.02 * n) for n in range(count)]
    axes.plot(*zip(*points, strict=True), "o")
    label_points(axes, [(*point, text.format(n)) for n, point in enumerate(points)], points, beside=text == "{}")
    figure.draw_without_rendering()
    return list(axes.texts)


@pytest.mark.parametrize(("count", "text"), [(12, "full_history {}"), (30, "{}")])
def test_labels_do_not_overlap(count: int, text: str) -> None:
    boxes = [label.get_window_extent() for label in draw_labels(count, text)]
    assert len(boxes) == count
    assert not [1 for one, other in itertools.combinations(boxes, 2) if one.overlaps(other)]


def test_labels_are_placed_alike_each_time() -> None:
    first, second = ([label.get_position() for label in draw_labels(20, "condense {}")] for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("combinations", "named"), [([8], True), ([13], False), ([2, 2], False)])
def test_a_few_runs_of_one_factor_have_their_names_at_their_points(combinations: list[int], named: bool) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("adjustText")
    levels = itertools.product(*(range(count) for count in combinations))
    runs = [run_result(" ".join(f"f{i}=level_{n}" for i, n in enumerate(each)), GOOD) for each in levels]
    axes = draw_latency(build_leaderboard(runs, ["nDCG@5"], runs[0]), "nDCG@5").axes
    labels = {text.get_text() for text in axes[0].texts}
    assert len(axes) == (1 if named else 2)
    assert ({"level_0", "level_7"} <= labels) == named
    assert ({"1", "2", "4"} <= labels) != named


@pytest.mark.parametrize("library", ["matplotlib", "adjustText"])
def test_without_a_library_for_plots_all_else_is_made(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("convrag_compare.plots.find_spec", lambda name: None if name == library else object())
    made = compare_runs(grid(), ["nDCG@5"], None, tmp_path)
    assert any(f"{library} is not installed" in line for line in made.lines)
    assert "leaderboard.md" in made.files


def test_the_front_is_what_nothing_beats() -> None:
    assert find_pareto_front([(1, 0.2), (2, 0.1), (3, 0.5), (3, 0.4), (0.5, 0.2)]) == [4, 2]
