"""The cells of a grid, without running any."""

from pathlib import Path

import pytest
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from convrag.api.errors import ConfigError
from convrag.api.records import Cell
from convrag.sweep.cells import (
    draw_cells,
    make_cells,
    name_cells,
    order_for_host,
)
from convrag.sweep.folders import make_cell_id, make_sweep_id, params_as_overrides

PARSER = OverridesParser.create()
FOLDER = Path("grid")


def overrides(*arguments: str) -> list[tuple[str, ...]]:
    return [cell.overrides for cell in make_cells(arguments, FOLDER, PARSER)]


@pytest.mark.parametrize(
    "arguments",
    [
        ("rewriter=none,last_n", "top_n=2,3", "limit=1"),
        ("+seed=mmr,dhrag", "top_k=range(1,4)", "~llm"),
        ("rewriter=none,last_n", "rewriter=mmr,dhrag"),
        (
            "'metrics=[ranking],[ranking,rouge]'".strip("'"),
            "llm.model='a,b'",
            "store.path=/tmp/a b",
        ),
    ],
)
def test_the_cells_are_those_of_hydras_own_sweeper(arguments: tuple[str, ...]) -> None:
    (theirs,) = BasicSweeper.split_arguments(PARSER.parse_overrides(list(arguments)), None)
    assert overrides(*arguments) == [tuple(each) for each in theirs]


def test_the_command_line_wins_over_a_ready_grid() -> None:
    ready = params_as_overrides({"rewriter": "mmr,dhrag", "generator": "none"})
    assert overrides(*ready, "rewriter=last_n") == [("rewriter=last_n", "generator=none")]


def test_a_cell_that_is_listed_twice_is_one_cell() -> None:
    assert overrides("rewriter=none,none", "workers=1,2") == [("rewriter=none", "workers=1")]


def test_an_interval_is_no_list_of_values() -> None:
    with pytest.raises(
        ConfigError, match=r"rewriter.weight=interval\(0.1,1\): a grid needs .*hydra/sweeper=optuna"
    ):
        overrides("rewriter.weight=interval(0.1,1)")


def test_ids_are_those_of_folders_that_are_there() -> None:
    """Folders that earlier releases wrote are found again."""
    cell = ("rewriter=dhrag", "clusterer=kmeans", "ranker=size", "store.path=/tmp/sw/old/store")
    assert make_cell_id(cell) == make_cell_id(reversed(cell)) == "3ee14ec77d26"
    grid = ("rewriter=none,mmr,dhrag", "clusterer=lsa,kmeans", "ranker=bm25,size")
    assert (
        make_sweep_id(None, grid)
        == make_sweep_id({}, [*reversed(grid), "workers=3", "hydra.sweep.dir=x"])
        == "660ab2e94c10"
    )


def test_what_brings_the_configuration_counts_for_the_id_of_a_grid() -> None:
    assert (
        len(
            {
                make_sweep_id({}, ["a=1,2"]),
                make_sweep_id({"b": "1,2"}, ["a=1,2"]),
                make_sweep_id({}, ["a=1,2"], ["mine"]),
            }
        )
        == 3
    )


def test_a_sample_is_drawn_by_its_seed_and_keeps_the_order() -> None:
    cells = make_cells(["top_k=range(1,30)"], FOLDER, PARSER)
    drawn = draw_cells(cells, 5, 7)
    assert drawn == draw_cells(list(reversed(cells)), 5, 7)[::-1]
    assert drawn != draw_cells(cells, 5, 8)
    assert drawn == [cell for cell in cells if cell in drawn]
    assert len(drawn) == 5
    assert draw_cells(cells, 99, 7) == cells


def test_a_name_holds_what_differs() -> None:
    named = name_cells(make_cells(["+seed=mmr,dhrag", "top_k=3,4", "limit=1"], FOLDER, PARSER))
    assert [cell.name for cell in named][:2] == ["seed=mmr top_k=3", "seed=mmr top_k=4"]
    (alone,) = name_cells(make_cells(["rewriter=mmr", "limit=1"], FOLDER, PARSER))
    assert alone.name == "rewriter=mmr limit=1"


def test_each_host_has_an_order_of_its_own() -> None:
    cells = [Cell(str(number), (), Path()) for number in range(20)]
    first, second = (order_for_host(cells, host) for host in ("a", "b"))
    assert first == order_for_host(list(reversed(cells)), "a") != second
    assert sorted(cell.id for cell in first) == sorted(cell.id for cell in cells)
