"""The plots are drawn, whatever was varied, and their labels can be read."""

import itertools
from pathlib import Path

import pytest

from comparisons import BAD, GOOD, MIXED, grid, run_result
from convrag_compare.leaderboard import Leaderboard, build_leaderboard
from convrag_compare.plots.heat_map import choose_axes, draw_heat_map, list_combinations
from convrag_compare.plots.scatter_plot import (
    draw_cost,
    draw_latency,
    find_pareto_front,
    label_points,
)
from convrag_compare.plots.turn_curves import draw_turns, make_curves
from convrag_compare.report import compare_runs
from convrag_compare.run_result import RunResult


@pytest.fixture(autouse=True)
def libraries() -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("adjustText")


def board_of(*runs: RunResult) -> Leaderboard:
    return build_leaderboard(list(runs), ["nDCG@5"], runs[0])


@pytest.mark.parametrize("factors", [{"a": 2}, {"rewriter": 2, "clusterer": 2, "ranker": 1}])
def test_every_plot_is_drawn(factors: dict[str, int], tmp_path: Path) -> None:
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
    names = ("heat", "quality_cost", "quality_latency", "turns")
    assert {f"{name}_{measure}.png" for name in names for measure in ("nDCG@5", "R@5")} == drawn


def test_a_measure_by_which_all_runs_are_equal_is_not_drawn(tmp_path: Path) -> None:
    runs = [
        run_result(f"rewriter={name}", GOOD, words=words)
        for name, words in (("a", 3.0), ("b", 4.0))
    ]
    compare_runs(runs, ["nDCG@5", "words"], runs[0], tmp_path)
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == {
        f"{name}_words.png" for name in ("heat", "quality_cost", "quality_latency", "turns")
    }


def test_positions_that_few_conversations_have_are_left_out_and_the_plot_says_so() -> None:
    values = {f"c{n}": [0.5, 0.4, *([1.0] * 2 if n < 4 else [])] for n in range(6)}
    board = board_of(
        run_result("rewriter=a", values), run_result("rewriter=b", values | {"c0": [0.2, 0.3]})
    )
    shown = make_curves(board, "nDCG@5")
    assert [list(curve.positions) for curve in shown] == [[1, 2], [1, 2]]
    figure = draw_turns(board, "nDCG@5", shown)
    assert {x for axes in figure.axes for line in axes.lines for x in line.get_xdata()} == {1, 2}
    assert "of at least 5 conversations" in figure.get_supxlabel()
    assert not make_curves(board_of(run_result("rewriter=a", {"c0": [0.5, 0.4]})), "nDCG@5")


def test_a_curve_has_the_interval_of_the_mean_at_each_position() -> None:
    (curve,) = make_curves(board_of(run_result("rewriter=a", MIXED)), "nDCG@5")
    assert curve.means == pytest.approx([0.5, 0.45])
    assert curve.bounds[0] == pytest.approx([0.5, 0.5])
    assert 0.0 <= curve.bounds[1, 0] < 0.45 < curve.bounds[1, 1] <= 0.9


def test_equal_runs_have_one_curve_and_one_name() -> None:
    board = board_of(
        *(
            run_result(f"rewriter={r} ranker={k}", BAD if r == "a" else GOOD)
            for r in "abc"
            for k in "xy"
        )
    )
    figure = draw_turns(board, "nDCG@5", make_curves(board, "nDCG@5"))
    assert [axes.get_title() for axes in figure.axes] == ["b x = b y = c x = 1 more", "a x = a y"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][-1] == "baseline (a x = a y)"


def test_a_factor_that_does_not_move_the_measure_has_no_heat_maps_of_its_own() -> None:
    values = (("a", BAD), ("b", GOOD))
    runs = [
        run_result(f"rewriter={r} ranker={k} clusterer={c}", each)
        for r, each in values
        for k in "xy"
        for c in "123"
    ]
    board = board_of(*runs)
    assert list_combinations(board, "nDCG@5") == [{}]
    assert choose_axes(board, "nDCG@5") == ("rewriter", "")
    axes, _ = draw_heat_map(board, "nDCG@5", {}).axes
    assert axes.get_title() == "nDCG@5, any ranker, any clusterer"


def test_all_cells_that_are_printed_like_the_best_are_bold_and_a_missing_one_says_so() -> None:
    close = {name: [0.9, 0.8001] for name in GOOD}
    values = {("a", "x"): close, ("b", "x"): BAD, ("c", "x"): GOOD, ("a", "y"): MIXED}
    board = board_of(*(run_result(f"f={f} g={g}", each) for (f, g), each in values.items()))
    axes, bar = draw_heat_map(board, "nDCG@5", {}).axes
    assert [text.get_text() for text in axes.texts if text.get_weight() == "bold"] == [
        "0.850",
        "0.850",
    ]
    assert [text.get_text() for text in axes.texts].count("no score") == 2
    assert bar.get_ylabel() == "nDCG@5"
    assert bar.get_ylim() == pytest.approx((0.275, 0.85005))


def test_a_plot_with_a_log_scale_has_plain_numbers_in_its_svg(tmp_path: Path) -> None:
    seconds = {"a": 0.01, "b": 5.0}
    runs = [
        run_result(f"rewriter={n}", GOOD, timings={"generator": s}, usage={})
        for n, s in seconds.items()
    ]
    runs.append(run_result("rewriter=c", BAD, timings={"generator": 1.0}, usage={}))
    compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    text = (tmp_path / "quality_latency_nDCG@5.svg").read_text()
    assert "<!-- 100 -->" in text
    assert not [path for path in tmp_path.glob("*.svg") if "mathdefault" in path.read_text()]
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.*g")}
    (tmp_path / "heat_nDCG@5.svg").unlink()
    compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.*g")} == before
    assert {Path(name).suffix for name in before} == {".png", ".svg"}
    assert not [name for name in before if name.startswith("quality_cost")]  # no run used a token


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a/b", "a-b"),
        (f"{'same' * 40}/one", f"{'same' * 40}/two"),
        ("Notes", "notes"),  # one file on a disk that ignores case
    ],
)
def test_each_combination_has_a_plot_of_its_own(one: str, other: str, tmp_path: Path) -> None:
    levels = itertools.product("ab", "xy", (one, other))
    runs = [
        run_result(f"rewriter={rewriter} ranker={ranker} dataset.path={path}", {"c": [number / 10]})
        for number, (rewriter, ranker, path) in enumerate(levels)
    ]
    compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    maps = [path.name for path in tmp_path.glob("heat_*.png")]
    assert len({name.casefold() for name in maps}) == 2
    assert all(len(name) <= 130 for name in maps)


def test_plots_stay_where_they_would_be_drawn_from_the_same(tmp_path: Path) -> None:
    runs = [run_result(f"rewriter={name}", values) for name, values in (("a", GOOD), ("b", BAD))]
    compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    plot = tmp_path / "turns_nDCG@5.png"
    plot.write_bytes(b"as before")
    compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    assert plot.read_bytes() == b"as before"
    runs[1].scores.measures["nDCG@5"][0] = 0.375
    (tmp_path / "heat_of_before.svg").touch()
    compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "heat_of_before.svg").exists()


def test_a_point_stands_for_equal_runs() -> None:
    runs = [
        run_result(f"clusterer={c} data=/{d}/corpus", GOOD if c == "b" else BAD)
        for c in "ab"
        for d in "xy"
    ]
    axes, beside = draw_cost(board_of(*runs), "nDCG@5").axes
    assert beside.texts[0].get_text().split("\n") == [
        " 1  b x/corpus = b y/corpus",
        " 2  a x/corpus = a y/corpus",
    ]
    (points,) = (line for line in axes.lines if line.get_marker() == "o")
    assert len(points.get_xdata()) == 2


def test_runs_have_their_numbers_at_their_points() -> None:
    runs = [run_result(f"f=level_{n}", GOOD, timings={"generator": 0.1 + n}) for n in range(4)]
    axes, _ = draw_latency(board_of(*runs), "nDCG@5").axes
    assert {"1", "2", "4"} <= {text.get_text() for text in axes.texts}


def test_labels_do_not_overlap_and_are_placed_alike_each_time() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    def place_labels() -> tuple[list[object], list[object]]:
        figure = Figure(figsize=(6, 4))
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        points = [(0.1 * (n % 5), 0.02 * n) for n in range(30)]
        axes.plot(*zip(*points, strict=True), "o")
        label_points(axes, [(*point, str(n)) for n, point in enumerate(points)])
        figure.draw_without_rendering()
        return [each.get_window_extent() for each in axes.texts], [
            each.get_position() for each in axes.texts
        ]

    boxes, positions = place_labels()
    assert not [1 for one, other in itertools.combinations(boxes, 2) if one.overlaps(other)]
    assert place_labels()[1] == positions


@pytest.mark.parametrize("library", ["matplotlib", "adjustText"])
def test_without_a_library_for_plots_all_else_is_made(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "convrag_compare.plots.plot_files.find_spec",
        lambda name: None if name == library else object(),
    )
    made = compare_runs(grid(), ["nDCG@5"], None, tmp_path)
    assert any(f"{library} is not installed" in line for line in made.lines)
    assert "leaderboard.md" in made.files


def test_the_front_is_what_nothing_beats() -> None:
    assert find_pareto_front([(1, 0.2), (2, 0.1), (3, 0.5), (3, 0.4), (0.5, 0.2)]) == [4, 2]
