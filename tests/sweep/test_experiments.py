"""Cells that are the same experiment, and what is said of them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from convrag.config.compose import compose
from convrag.sweep.cells import make_cells
from convrag.sweep.experiments import Experiment, explain_same, mark_same, read_experiment

DIRECT = ("generator=none", "limit=1", "tracker=none")


def identity(*overrides: str) -> str:
    found = read_experiment(compose(*DIRECT, *overrides))
    assert found is not None
    return found.identity


def test_a_stage_that_is_not_used_makes_no_other_experiment(here: Path) -> None:
    assert identity("clusterer=lsa") == identity(
        "clusterer=kmeans", "ranker=size", "summarizer=llm"
    )


def test_a_chunker_makes_no_other_experiment_of_a_data_set_without_documents(here: Path) -> None:
    assert (
        identity("chunker=tokens", "chunker.tokens=50")
        == identity("chunker=markdown")
        == identity()
    )


def test_a_chunker_makes_another_experiment_of_documents(here: Path) -> None:
    (here / "handbook").mkdir()
    (here / "handbook" / "leave.md").write_text("# Leave\n\nTen weeks.\n", encoding="utf-8")
    documents = ("dataset=documents", f"dataset.path={here / 'handbook'}")
    one, other, again = (
        read_experiment(compose(*DIRECT, *documents, f"chunker={name}"))
        for name in ("markdown", "tokens", "markdown")
    )
    assert one is not None
    assert other is not None
    assert again is not None
    assert one.identity != other.identity
    assert one.identity == again.identity
    assert "chunker" in one.groups


@pytest.mark.parametrize(
    "setting", ["top_k=3", "top_n=1", "history=gold", "limit=2", "metrics.ranking.measures=[R@5]"]
)
def test_what_bears_on_results_makes_another_experiment(setting: str, here: Path) -> None:
    assert identity() != identity(setting)


def test_matters_of_operation_make_no_other_experiment(here: Path) -> None:
    assert identity() == identity("workers=2", "sweep.metric=R@5", "sweep.sample=3")


@pytest.mark.parametrize("overrides", [("retriever=run",), ("task=evaluate",), ("task=plugins",)])
def test_of_what_cannot_be_built_and_of_other_tasks_nothing_is_said(
    overrides: tuple[str, ...], here: Path
) -> None:
    assert read_experiment(compose(*overrides)) is None


def marked(
    *factors: str, same: Callable[[Mapping[str, str]], Any], used: str = "rewriter"
) -> tuple[list[str], list[str]]:
    """The states of the cells, and the notes; `same` gives what decides a cell's results."""
    cells = make_cells(factors, Path("grid"), OverridesParser.create())
    choices = [dict(override.split("=") for override in cell.overrides) for cell in cells]
    experiments = [Experiment(str(same(each)), frozenset([used])) for each in choices]
    found = mark_same(cells, experiments)
    assert all(
        cell.same_as in {other.id for other in found if not other.same_as}
        for cell in found
        if cell.state
    )
    return [cell.state for cell in found], explain_same(found, experiments)


def test_the_first_of_equal_cells_is_run_and_the_reason_said() -> None:
    states, notes = marked(
        "rewriter=none,mmr",
        "clusterer=a,b",
        "top_k=1,2",
        same=lambda each: [
            each["rewriter"],
            each["top_k"],
            each["rewriter"] == "mmr" and each["clusterer"],
        ],
    )
    assert states == ["", "", "same", "same", "", "", "", ""]
    assert notes == ["clusterer made no difference to 4 cells: no stage of theirs uses it"]


def test_factors_that_no_cell_uses_are_named_together() -> None:
    states, notes = marked(
        "rewriter=none,mmr", "clusterer=a,b", "ranker=a,b", same=lambda each: each["rewriter"]
    )
    assert states.count("same") == 6
    assert notes == [
        "clusterer and ranker made no difference to 8 cells: no stage of theirs uses them"
    ]


def test_a_stage_that_is_used_and_equal_is_not_called_unused() -> None:
    _, notes = marked("top_k=1,2", "rewriter=x,y", same=lambda each: each["top_k"])
    assert notes == [
        "rewriter made no difference to 4 cells: the stages are the same with each value"
    ]
    _, notes = marked("top_k=1,2", "seed=x,y", same=lambda each: each["top_k"])
    assert notes == ["seed made no difference to 4 cells: the stages are the same with each value"]


def test_cells_of_which_nothing_is_known_are_all_run() -> None:
    cells = make_cells(["rewriter=none,mmr"], Path("grid"), OverridesParser.create())
    assert mark_same(cells, [None, None]) == cells
    assert explain_same(cells, [None, None]) == []
