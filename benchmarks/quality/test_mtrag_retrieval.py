"""The figures of benchmarks: nDCG@5 and p-values, and which turns are asked."""

import pytest

from convrag_datasets.mtrag import MtragDataset
from mtrag_retrieval import ask_scored_turns, compute_ndcg, compute_p


def test_ndcg_is_that_of_trec_eval() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    grades = {"a": 2, "b": 1, "c": 1, "d": 0}
    for ranking in (
        ["b", "x", "a", "d", "c"],
        ["x", "y"],
        ["a", "b", "c"],
        ["x", "x2", "x3", "x4", "x5", "a"],
    ):
        run = {"q": {id_: float(-rank) for rank, id_ in enumerate(ranking)}}
        theirs = pytrec_eval.RelevanceEvaluator({"q": grades}, {"ndcg_cut_5"}).evaluate(run)["q"][
            "ndcg_cut_5"
        ]
        assert compute_ndcg(ranking, grades) == pytest.approx(theirs)
    assert compute_ndcg(["a"], {}) == 0


def test_the_turns_of_a_conversation_are_one_observation() -> None:
    """If all four conversations are better, two of the 16 ways to flip the signs are as far from
    zero.
    """
    ours, theirs = [1.0, 0.5, 1.0, 1.0, 1.0], [0.0, 0.5, 0.0, 0.0, 0.0]
    assert compute_p(["a", "a", "b", "c", "d"], ours, theirs) == pytest.approx(2 / 16)
    assert compute_p(["a"] * 5, ours, theirs) == 1


def test_judged_turns_are_asked_behind_all_turns_before_them(mtrag_path) -> None:
    dataset = MtragDataset(path=mtrag_path, domain="clapnq")
    asked = list(ask_scored_turns(dataset, "clapnq"))
    assert [turn.id for _, turn in asked] == [
        turn.id
        for each in dataset.conversations()
        for turn in each.turns
        if turn.id in dataset.qrels()
    ]
    assert all(len(question.history) == question.number - 1 for question, _ in asked)
    assert all(question.text == turn.question for question, turn in asked)
