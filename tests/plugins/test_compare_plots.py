"""The plots are drawn, whatever was varied, and their labels can be read."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from comparisons import GOOD, grid, outcome
from convrag_compare.reporting import report
from convrag_compare.scatter import front


@pytest.mark.parametrize("factors", [{"a": 2}, {"rewriter": 3, "clusterer": 2, "ranker": 2}, {"a": 12}])
def test_every_plot_is_drawn(factors: dict[str, int], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    combinations = list(itertools.product(*(range(count) for count in factors.values())))
    runs = [
        outcome(
            " ".join(f"{f}={n}" for f, n in zip(factors, each, strict=True)),
            {k: [v[0], v[1] / (2 + i)] for k, v in GOOD.items()},
        )
        for i, each in enumerate(combinations)
    ]
    report(runs, "nDCG@5", runs[0], tmp_path)
    drawn = {path.name for path in tmp_path.glob("*.png")}
    maps = 2 * factors.get("clusterer", 1)
    assert len([name for name in drawn if name.startswith("heat")]) == maps
    assert {"quality_cost.png", "quality_latency.png", "turns.png"} <= drawn


def test_labels_do_not_overlap() -> None:
    figure_module = pytest.importorskip("matplotlib.figure")
    from convrag_compare.placing import place_labels

    figure = figure_module.Figure(figsize=(6, 4))
    axes = figure.add_subplot()
    points = [(0.1 * (n % 5), 0.02 * n) for n in range(20)]
    axes.plot(*zip(*points, strict=True), "o")
    place_labels(figure, axes, [(*point, str(n)) for n, point in enumerate(points)], points)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 20
    assert not [1 for one, other in itertools.combinations(boxes, 2) if one.overlaps(other)]


def test_without_matplotlib_all_else_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convrag_compare.plots.find_spec", lambda name: None)
    made = report(grid(), "nDCG@5", None, tmp_path)
    assert any("matplotlib is not installed" in line for line in made.lines)
    assert "leaderboard.md" in made.files


def test_the_front_is_what_nothing_beats() -> None:
    assert front([(1, 0.2), (2, 0.1), (3, 0.5), (3, 0.4), (0.5, 0.2)]) == [4, 2]
