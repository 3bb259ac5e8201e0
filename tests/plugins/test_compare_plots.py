"""The plots are drawn, whatever was varied, and their labels can be read."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from comparisons import BAD, GOOD, MIXED, Values, grid, run_result
from convrag_compare.leaderboard import build_leaderboard
from convrag_compare.plot_heat_map import HeatMap, draw_heat_map, list_combinations, make_heat_map
from convrag_compare.plot_scatter import draw_cost, draw_latency, find_pareto_front
from convrag_compare.plot_style import name_rows
from convrag_compare.plot_turns import TurnCurves, draw_turns, make_curves
from convrag_compare.report import compare_runs
from convrag_compare.run_result import RunResult


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


def curves_of(*runs: RunResult) -> TurnCurves:
    return make_curves(build_leaderboard(list(runs), ["nDCG@5"], runs[0]), "nDCG@5")


def test_positions_that_few_conversations_have_are_left_out_and_the_plot_says_so() -> None:
    pytest.importorskip("matplotlib")
    values = {f"c{n}": [0.5, 0.4, *([1.0] * 2 if n < 4 else [])] for n in range(6)}
    runs = [run_result(f"rewriter={name}", values | {"c0": [first, 0.3]}) for name, first in (("a", 0.1), ("b", 0.2))]
    board = build_leaderboard(runs, ["nDCG@5"], runs[0])
    shown = make_curves(board, "nDCG@5")
    assert [list(curve.positions) for curve in shown.curves] == [[1, 2], [1, 2]]
    figure = draw_turns(board, "nDCG@5", shown)
    assert {x for axes in figure.axes for line in axes.lines for x in line.get_xdata()} == {1, 2}
    assert "not drawn: turns 3 to 4, of fewer than 5 conversations" in figure.get_supxlabel()


def test_no_curve_goes_through_turns_of_one_conversation() -> None:
    values = {"c0": [0.5, 0.4, 1.0], "c1": [0.3, 0.2], "c2": [0.1]}
    shown = curves_of(run_result("rewriter=a", values))
    (curve,) = shown.curves
    assert (list(curve.positions), curve.means) == ([1, 2], pytest.approx([0.3, 0.3]))
    assert all(low != low for low in curve.low)
    assert shown.describe_left_out() == "not drawn: turn 3, of only one conversation"
    assert not curves_of(run_result("rewriter=a", {"c0": [0.5, 0.4]})).curves


def test_a_curve_has_the_interval_of_the_mean_at_each_position() -> None:
    (curve,) = curves_of(run_result("rewriter=a", MIXED)).curves
    assert curve.means == pytest.approx([0.5, 0.45])
    assert (curve.low[0], curve.high[0]) == pytest.approx((0.5, 0.5))
    assert 0.0 <= curve.low[1] < 0.45 < curve.high[1] <= 0.9


def test_equal_runs_have_one_curve_and_one_name() -> None:
    pytest.importorskip("matplotlib")
    runs = [run_result(f"rewriter={r} ranker={k}", BAD if r == "a" else GOOD) for r in "abc" for k in "xy"]
    board = build_leaderboard(runs, ["nDCG@5"], runs[0])
    shown = make_curves(board, "nDCG@5")
    assert [len(curve.rows) for curve in shown.curves] == [4, 2]
    assert name_rows(board, shown.curves[0].rows) == ["b = c", "x = y"]
    assert name_rows(board, [board.rows[0], board.rows[3]]) == ["b x = c y"]
    figure = draw_turns(board, "nDCG@5", shown)
    assert [axes.get_title() for axes in figure.axes if axes.lines] == ["b = c, x = y", "a, x = y"]
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert len(names) == len(set(names)) == 3


def heat_map_of(values: dict[str, Values], *factors: str) -> HeatMap:
    """The heat map of runs that are named by their levels ("a x")."""
    runs = [
        run_result(" ".join(f"{f}={v}" for f, v in zip(factors, levels.split(), strict=True)), each)
        for levels, each in values.items()
    ]
    board = build_leaderboard(runs, ["nDCG@5"], runs[0])
    (combination,) = list_combinations(board, "nDCG@5")
    return make_heat_map(board, "nDCG@5", combination)


def test_equal_rows_and_columns_of_a_heat_map_stand_once() -> None:
    grid_of = {"a": BAD, "b": GOOD, "c": BAD}
    shown = heat_map_of({f"{r} {k}": v if k == "x" else MIXED for r, v in grid_of.items() for k in "xyz"}, "f", "g")
    assert list(shown.rows) == ["a = c", "b"]
    assert list(shown.columns) == ["x", "y = z"]
    assert [[round(cell.value, 3) for cell in row] for row in shown.cells] == [[0.275, 0.475], [0.85, 0.475]]


def test_a_factor_that_does_not_move_the_measure_has_no_heat_maps_of_its_own() -> None:
    three = {f"{r} {k} {c}": v for r, v in (("a", BAD), ("b", GOOD)) for k in "xy" for c in "12345"}
    shown = heat_map_of(three, "rewriter", "ranker", "clusterer")
    assert (list(shown.rows), list(shown.columns)) == (["a", "b"], [""])


def test_all_cells_that_are_printed_like_the_best_are_framed() -> None:
    pytest.importorskip("matplotlib")
    close = {name: [0.9, 0.8001] for name in GOOD}
    values = {"a": close, "b": BAD, "c": GOOD}
    shown = heat_map_of(values, "f")
    assert [row[0].best for row in shown.cells] == [True, False, True]
    runs = [run_result(f"f={name}", each) for name, each in values.items()]
    figure = draw_heat_map(build_leaderboard(runs, ["nDCG@5"], runs[0]), "nDCG@5", {})
    axes, bar = figure.axes
    assert [patch.get_y() for patch in axes.patches if patch.get_gid() == "best"] == pytest.approx([-0.46, 1.54])
    assert bar.get_ylabel() == "nDCG@5"
    assert (bar.get_ylim()) == pytest.approx((0.275, 0.85005))


def test_a_plot_with_a_log_scale_has_plain_numbers_in_its_svg(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("adjustText")
    seconds = {"a": 0.01, "b": 5.0}
    runs = [run_result(f"rewriter={n}", GOOD, timings={"generator": s}, usage={}) for n, s in seconds.items()]
    runs.append(run_result("rewriter=c", BAD, timings={"generator": 1.0}, usage={}))
    compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    text = (tmp_path / "quality_latency_nDCG@5.svg").read_text()
    assert "<!-- 100 -->" in text
    assert not [path for path in tmp_path.glob("*.svg") if "mathdefault" in path.read_text()]
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.*g")}
    compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.*g")} == before
    assert {Path(name).suffix for name in before} == {".png", ".svg"}
    assert not [name for name in before if name.startswith("quality_cost")]  # no run used a token


def test_a_point_stands_for_equal_runs_and_a_legend_names_each_thing_once() -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("adjustText")
    runs = [run_result(f"clusterer={c} data=/{d}/corpus", GOOD if c == "b" else BAD) for c in "ab" for d in "xy"]
    axes, beside = draw_cost(build_leaderboard(runs, ["nDCG@5"], runs[0]), "nDCG@5").axes
    assert len([line for line in axes.lines if line.get_marker() == "o" or line.get_marker() == "s"]) == 2
    assert beside.texts[0].get_text().split("\n") == [" 1  b x/corpus = y/corpus", " 2  a x/corpus = y/corpus"]
    names = [text.get_text() for text in beside.get_legend().get_texts()]
    assert len(names) == len(set(names)) == 6


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
    runs = [
        run_result(" ".join(f"f{i}=level_{n}" for i, n in enumerate(each)), GOOD, timings={"generator": 0.1 * place})
        for place, each in enumerate(levels, 1)
    ]
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
