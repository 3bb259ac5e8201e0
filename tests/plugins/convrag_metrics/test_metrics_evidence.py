"""`metrics=evidence`: the passages that the model sees, measured by hand and beside ir-measures."""

from collections.abc import Iterator, Mapping, Sequence
from math import log2
from pathlib import Path
from tempfile import TemporaryDirectory

import ir_measures
import pytest
from hypothesis import given, settings, strategies as st

import toys
from convrag import (
    Conversation,
    DataError,
    Dataset,
    Evidence,
    EvidenceItem,
    Hit,
    Passage,
    Store,
    TurnRecord,
)
from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from convrag.testing import MetricsContract, TinyDataset
from convrag_metrics.alpha_ndcg import compute_alpha_ndcg
from convrag_metrics.evidence import EvidenceMetrics
from convrag_metrics.subtopics import name_document, read_subtopics

_FOLDER = TemporaryDirectory()
STORE = Store(Path(_FOLDER.name))
CORPUS = {
    "a1": Passage("a1", "one", "A"),
    "a2": Passage("a2", "two", "A"),
    "b1": Passage("b1", "three", "B"),
    "x": Passage("x", "no"),
}


class Judged(Dataset):
    def __init__(
        self,
        grades: Mapping[str, Mapping[str, int]],
        corpus: Sequence[Passage] = tuple(CORPUS.values()),
    ):
        self.grades = grades
        self.passages = corpus

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        return self.grades

    def corpus(self, domain: str) -> Iterator[Passage]:
        return iter(self.passages)


class TestContract(MetricsContract):
    def make(self) -> EvidenceMetrics:
        return EvidenceMetrics(dataset=TinyDataset(), store=STORE)


def record(
    turn_id: str, ids: Sequence[str], hints: Sequence[str] = (), error: str = ""
) -> TurnRecord:
    items = [
        EvidenceItem(
            n,
            CORPUS.get(id_, Passage(id_, id_)),
            "see above" if id_ in hints else f"{id_} says so",
            id_ in hints,
        )
        for n, id_ in enumerate(ids, 1)
    ]
    hits = tuple(Hit(passage, 1.0) for passage in CORPUS.values())
    return TurnRecord(
        "c", turn_id, "default", 1, "?", hits=hits, evidence=Evidence(tuple(items)), error=error
    )


def measure(
    grades: Mapping[str, int],
    ids: Sequence[str],
    *,
    corpus: Sequence[Passage] = tuple(CORPUS.values()),
) -> Mapping[str, float]:
    metric = EvidenceMetrics(dataset=Judged({"t": grades}, corpus), store=STORE)
    return metric.measure([record("t", ids)])["t"]


def test_values_by_hand() -> None:
    """Two of three relevant passages, of one document of two, at ranks 1 and 3."""
    values = measure({"a1": 1, "a2": 1, "b1": 1}, ["a2", "x", "a1"])
    ideal = 1 + 1 / log2(3) + 1 / log2(4)
    ideal_alpha = 1 + 1 / log2(3) + 0.5 / log2(4)  # a document, the other, the first again
    assert values == pytest.approx(
        {
            "evidence_nDCG": (1 + 1 / log2(4)) / ideal,
            "evidence_precision": 2 / 3,
            "evidence_recall": 2 / 3,
            "evidence_alpha_nDCG": (1 + 0.5 / log2(4)) / ideal_alpha,
            "evidence_subtopic_recall": 1 / 2,
            "evidence_passages": 3.0,
            "evidence_words": 9.0,
        }
    )


def test_the_evidence_counts_and_not_the_ranking() -> None:
    """The hits hold all relevant passages in each of these records."""
    assert measure({"b1": 2}, ["x"])["evidence_recall"] == 0
    assert measure({"b1": 2}, ["b1"])["evidence_nDCG"] == 1
    assert measure({"b1": 2, "a1": 1}, ["a1", "b1"])["evidence_nDCG"] == pytest.approx(
        (1 + 2 / log2(3)) / (2 + 1 / log2(3))
    )


def test_by_default_a_selector_makes_a_difference(tmp_path: Path) -> None:
    """Its grid has nothing else to show where no answers are made: the ranking is the same."""
    common = (
        "generator=none",
        "tracker=none",
        "limit=3",
        "top_k=20",
        f"store.path={tmp_path / 'store'}",
    )
    top, few = (
        run_experiment(compose(*common, f"selector={name}"), tmp_path / name)[1].overall
        for name in ("top", "dynamic")
    )
    assert top["nDCG@10"] == few["nDCG@10"]
    assert top["evidence_passages"] == 5 > few["evidence_passages"]
    assert top["evidence_recall"] == top["R@5"]


def test_two_documents_are_better_than_one_twice() -> None:
    grades = {"a1": 1, "a2": 1, "b1": 1}
    same, other = measure(grades, ["a1", "a2"]), measure(grades, ["a1", "b1"])
    assert same["evidence_nDCG"] == other["evidence_nDCG"]
    assert same["evidence_alpha_nDCG"] < other["evidence_alpha_nDCG"]
    assert (same["evidence_subtopic_recall"], other["evidence_subtopic_recall"]) == (0.5, 1)


def test_a_passage_outside_of_the_corpus_is_its_own_document() -> None:
    assert measure({"gone": 1, "a1": 1}, ["gone"])["evidence_subtopic_recall"] == 0.5
    assert measure({"a1": 1, "a2": 1}, ["a1"], corpus=())["evidence_subtopic_recall"] == 0.5


def test_turns_without_qrels_have_lengths_only() -> None:
    metric = EvidenceMetrics(
        dataset=Judged({"other": {"a1": 1}, "nothing": {}}), store=STORE, llm=toys.EchoLLM()
    )
    values = metric.measure([record("t", ["a1"]), record("nothing", [])])
    assert values == {
        "t": {"evidence_passages": 1.0, "evidence_words": 3.0, "evidence_tokens": 3.0},
        "nothing": {"evidence_passages": 0.0, "evidence_words": 0.0, "evidence_tokens": 0.0},
    }
    assert metric.list_measures()[0] == "evidence_nDCG"
    assert (
        EvidenceMetrics(dataset=Judged({}), store=STORE).explain_gap()
        == "the data set has no relevance judgements"
    )


def test_no_evidence_scores_0_and_a_hint_counts() -> None:
    metric = EvidenceMetrics(
        dataset=Judged({"failed": {"a1": 1}, "hinted": {"a1": 1}}), store=STORE
    )
    values = metric.measure(
        [record("failed", [], error="down"), record("hinted", ["a1", "a1"], hints=["a1"])]
    )
    assert set(values["failed"].values()) == {0.0}
    assert values["hinted"]["evidence_precision"] == values["hinted"]["evidence_alpha_nDCG"] == 1
    assert (values["hinted"]["evidence_passages"], values["hinted"]["evidence_words"]) == (1, 4)


def test_subtopics_from_a_file(tmp_path: Path) -> None:
    """Nuggets: a1 has two of three, a2 one of these, b1 the third; x is no answer to anything."""
    path = tmp_path / "nuggets.qrels"
    path.write_text(
        "t cost a1 1\nt time a1 2\nt time a2 1\nt place b1 1\nt place x 0\nother cost a1 1\n"
    )
    metric = EvidenceMetrics(
        dataset=Judged({"t": {"a1": 1, "x": 1}, "u": {"a1": 1}}), store=STORE, subtopics=path
    )
    values = metric.measure([record("t", ["a2", "a1", "x"]), record("u", ["a1"])])
    ideal = 2 + 1 / log2(3) + 0.5 / log2(4)
    assert values["t"]["evidence_alpha_nDCG"] == pytest.approx((1 + 1.5 / log2(3)) / ideal)
    assert values["t"]["evidence_subtopic_recall"] == pytest.approx(2 / 3)
    assert "evidence_alpha_nDCG" not in values["u"]
    assert values["u"]["evidence_recall"] == 1


@pytest.mark.parametrize(("text", "message"), [
    ("t a1 1\n", r"nuggets.qrels, line 1: there must be 4 columns \(turn, subtopic, passage, grade\), not 3"),
    ("t n a1 1\n\nt n a1 good\n", "nuggets.qrels, line 3: the grade must be an integer, not 'good'"),
    ("\n", "nuggets.qrels: this file holds no judgements"),
])  # fmt: skip
def test_a_bad_file_of_subtopics_is_said_before_the_run(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "nuggets.qrels"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_subtopics(path)
    (problem,) = EvidenceMetrics(dataset=Judged({}), store=STORE, subtopics=path).check()
    assert "nuggets.qrels" in problem


def test_what_the_document_of_a_passage_is() -> None:
    assert name_document(Passage("p", "", "Title", "https://a", {"document": "d.md"})) == "d.md"
    assert name_document(Passage("p", "", "Title", "https://a")) == "https://a"
    assert name_document(Passage("p", "", "Title", "Cloudant")) == "Title"
    assert name_document(Passage("p", "")) == "p"


# alpha-nDCG
# ----------------------------------------------------------------------------------------------------------


def test_alpha_ndcg_by_hand() -> None:
    relevant = [{"1", "2"}, {"1"}, {"3"}]
    ideal = 2 + 1 / log2(3) + 0.5 / log2(4)  # both, then 3, then 1 again
    assert compute_alpha_ndcg([{"1"}, {"1", "2"}, (), {"3"}], relevant) == pytest.approx(
        (1 + 1.5 / log2(3) + 1 / log2(5)) / ideal
    )
    assert compute_alpha_ndcg([{"1"}, {"1"}], relevant, alpha=1) == pytest.approx(
        1 / (2 + 1 / log2(3))
    )
    assert compute_alpha_ndcg([], relevant) == compute_alpha_ndcg([()], []) == 0


def test_without_repetitions_lost_it_is_a_dcg_of_counts() -> None:
    relevant = [{"1", "2"}, {"1"}]
    assert compute_alpha_ndcg([{"1"}, {"1", "2"}], relevant, alpha=0) == pytest.approx(
        (1 + 2 / log2(3)) / (2 + 1 / log2(3))
    )


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.sampled_from("abcdefgh"),
        st.sets(st.sampled_from("123"), min_size=1),
        min_size=1,
        max_size=8,
    ),
    st.lists(st.sampled_from("abcdefghxyz"), unique=True, max_size=11),
    st.sampled_from([0.0, 0.5, 0.8]),
)
def test_alpha_ndcg_equals_ndeval(
    relevant: dict[str, set[str]], ranking: list[str], alpha: float
) -> None:
    """ndeval has the cutoffs 5, 10 and 20; with 20, none of these rankings is cut."""
    pytest.importorskip("pyndeval")
    qrels = [
        ir_measures.Qrel("q", id_, 1, subtopic)
        for id_, every in relevant.items()
        for subtopic in sorted(every)
    ]
    run = [ir_measures.ScoredDoc("q", id_, -float(rank)) for rank, id_ in enumerate(ranking)]
    expected = [
        each.value
        for each in ir_measures.iter_calc([ir_measures.alpha_nDCG(alpha=alpha) @ 20], qrels, run)
    ]
    found = compute_alpha_ndcg(
        [relevant.get(id_, set()) for id_ in ranking], list(relevant.values()), alpha
    )
    assert found == pytest.approx(expected[0] if expected else 0.0, abs=1e-5)
