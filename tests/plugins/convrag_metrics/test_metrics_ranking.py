import ast
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ir_measures
import pytest
from hypothesis import given, strategies as st

from convrag import ConfigError, Conversation, Dataset, Hit, Passage, Store, TurnRecord
from convrag.testing import MetricsContract, TinyDataset
from convrag_datasets.jsonl import JsonlDataset
from convrag_metrics import trec_eval
from convrag_metrics.ranking import RankingMetrics
from convrag_metrics.trec_eval import parse_measure

_FOLDER = TemporaryDirectory()
STORE = Store(Path(_FOLDER.name))
DEFAULTS = ["R@1", "R@3", "R@5", "R@10", "nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10"]


class Judged(Dataset):
    def __init__(self, qrels: Mapping[str, Mapping[str, int]]) -> None:
        self.grades = qrels

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        return self.grades


class TestContract(MetricsContract):
    def make(self) -> RankingMetrics:
        return RankingMetrics(dataset=TinyDataset(), store=STORE)


def record(
    turn_id: str, ids: Sequence[str], scores: Sequence[float] = (), error: str = ""
) -> TurnRecord:
    scores = scores or range(len(ids), 0, -1)
    hits = tuple(Hit(Passage(id_, ""), score) for id_, score in zip(ids, scores, strict=True))
    return TurnRecord("c", turn_id, "default", 1, "?", hits=hits, error=error)


def measure(
    qrels: Mapping[str, Mapping[str, int]], *records: TurnRecord, measures: list[str]
) -> Mapping[str, object]:
    return RankingMetrics(dataset=Judged(qrels), store=STORE, measures=measures).measure(records)


def test_values_by_hand() -> None:
    qrels = {"c<::>1": {"a": 1, "b": 1, "x": 1}}
    values = RankingMetrics(dataset=Judged(qrels), store=STORE).measure(
        [record("c<::>1", ["a", "n", "b", "m"])]
    )
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert list(values) == ["c<::>1"]
    assert list(values["c<::>1"]) == DEFAULTS
    assert values["c<::>1"] == pytest.approx(
        {
            "R@1": 1 / 3,
            "R@3": 2 / 3,
            "R@5": 2 / 3,
            "R@10": 2 / 3,
            "nDCG@1": 1.0,
            "nDCG@3": 1.5 / ideal,
            "nDCG@5": 1.5 / ideal,
            "nDCG@10": 1.5 / ideal,
        }
    )


def test_grades_are_gains() -> None:
    values = measure({"t": {"a": 1, "b": 3}}, record("t", ["a", "b"]), measures=["nDCG@5"])
    assert values == {
        "t": {"nDCG@5": pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))}
    }


@pytest.mark.parametrize("scores", [[1.0, 1.0, 1.0], [0.1, 0.2, 0.3], [-1.0, -5.0, 0.0]])
def test_the_order_of_the_hits_counts_whatever_their_scores(scores: list[float]) -> None:
    for ids, reciprocal in [("zya", 1.0), ("yza", 0.5), ("ayz", 1 / 3)]:
        values = measure({"t": {"z": 1}}, record("t", ids, scores), measures=["RR"])
        assert values == {"t": {"RR": pytest.approx(reciprocal)}}


def test_only_turns_with_qrels_count() -> None:
    records = [
        record("judged", ["a"]),
        record("unjudged", ["a"]),
        record("nothing relevant named", ["a"]),
    ]
    values = measure(
        {"judged": {"a": 1}, "nothing relevant named": {}, "absent": {"a": 1}},
        *records,
        measures=["R@5"],
    )
    assert values == {"judged": {"R@5": 1.0}}


def test_a_turn_that_found_nothing_scores_zero() -> None:
    qrels = {"nothing": {"a": 1}, "failed": {"a": 1}, "halfway": {"a": 1}, "found": {"a": 1}}
    records = [
        record("nothing", []),
        record("failed", [], error="the model is down"),
        record("halfway", ["a"], error="the generator raised"),
        record("found", ["a"]),
    ]
    zero = {"R@5": 0.0, "nDCG@5": 0.0}
    one = {"R@5": 1.0, "nDCG@5": 1.0}  # what was found counts, also where the answer then failed
    expected = {"nothing": zero, "failed": zero, "halfway": one, "found": one}
    assert measure(qrels, *records, measures=["R@5", "nDCG@5"]) == expected
    assert measure(qrels, records[0], measures=["R@5"]) == {"nothing": {"R@5": 0.0}}


def test_records_are_streamed_in_batches_with_the_same_values() -> None:
    qrels = {f"t{number}": {"a": 1} for number in range(2500)}
    alive = 0
    most = 0

    class Counted(TurnRecord):
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def records() -> Iterator[TurnRecord]:
        nonlocal alive, most
        for number in range(2500):
            hits = (Hit(Passage("b", ""), 2.0), Hit(Passage("a", ""), 1.0))[number % 3 :]
            alive += 1
            most = max(most, alive)
            yield Counted("c", f"t{number}", "default", 1, "?", hits=hits)

    values = RankingMetrics(dataset=Judged(qrels), store=STORE, measures=["RR"]).measure(records())
    assert list(values) == list(qrels)
    assert [values[f"t{number}"]["RR"] for number in range(2500)] == [
        [0.5, 1.0, 0.0][n % 3] for n in range(2500)
    ]
    assert most <= 1001


IDS = st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), unique=True, max_size=12)


@given(ids=IDS, relevant=st.sets(st.sampled_from("abcdefgh"), min_size=1), k=st.integers(1, 12))
def test_recall_and_ndcg_are_those_of_a_brute_force(
    ids: list[str], relevant: set[str], k: int
) -> None:
    qrels = {"t": dict.fromkeys(sorted(relevant), 1)}
    values = measure(qrels, record("t", ids), measures=[f"R@{k}", f"nDCG@{k}"])
    gain = sum(1 / math.log2(rank + 2) for rank, id_ in enumerate(ids[:k]) if id_ in relevant)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(k, len(relevant))))
    recall = len(relevant & set(ids[:k])) / len(relevant)
    assert values == {
        "t": {f"R@{k}": pytest.approx(recall), f"nDCG@{k}": pytest.approx(gain / ideal)}
    }


def test_names_are_those_of_ir_measures() -> None:
    given_names = ["NDCG@5", "nDCG(cutoff=3)", "MRR", "Recall@5", "R@5"]
    values = measure({"t": {"a": 1}}, record("t", ["a"]), measures=given_names)
    assert values == {"t": dict.fromkeys(["nDCG@5", "nDCG@3", "RR", "R@5"], 1.0)}


IMPOSSIBLE = [
    "foo@5",
    "R",
    "nDCG@@",
    "R@5;R@3",
    "R@5.5",
    "ERR@5",
    "nDCG@0",
    "R@0",
    "R@-1",
    "R@True",
    "NumQ",
    "",
]


@pytest.mark.parametrize("name", [*IMPOSSIBLE, "R(rel=0)@5", "nDCG(dcg='exp-log2')@5"])
def test_check_reports_unknown_measures(name: str) -> None:
    metrics = RankingMetrics(dataset=Judged({"t": {"a": 1}}), store=STORE, measures=["R@5", name])
    messages = list(metrics.check())
    assert len(messages) == 1
    assert repr(name) in messages[0]
    with pytest.raises(ConfigError):
        metrics.measure([record("t", ["a"])])


def test_check_accepts_known_measures() -> None:
    assert list(RankingMetrics(dataset=Judged({}), store=STORE).check()) == []
    good = ["AP", "RR", "P@5", "Success@1", "R(rel=2)@5", "Rprec", "IPrec@0.1"]
    assert list(RankingMetrics(dataset=Judged({}), store=STORE, measures=good).check()) == []


def test_one_thread_at_a_time_parses_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11's `ast.parse` fails now and then with a SystemError where two threads are in it."""
    inside, most = [], []
    parse = ast.parse

    def note(text: str, **options: Any) -> Any:
        inside.append(text)
        time.sleep(0.01)
        most.append(len(inside))
        inside.remove(text)
        return parse(text, **options)

    monkeypatch.setattr(trec_eval.ast, "parse", note)
    names = [f"nDCG@{k}" for k in range(101, 109)]
    with ThreadPoolExecutor(len(names)) as threads:
        assert [str(each) for each in threads.map(parse_measure, names)] == names
    assert max(most) == 1


NAMES = [
    *("AP", "MAP", "RR", "P@5", "Success@1", "R(rel=2)@5", "IPrec@0.1", "nDCG @ 7"),
    *(
        "nDCG(dcg='exp-log2', judged_only=True)@3",
        "nDCG(gains={0: 0, 1: 3})@3",
        "NumQ",
        "RBP(p=0.5)",
    ),
]


@pytest.mark.skipif(not hasattr(ast, "Num"), reason="ir-measures' own parser needs ast.Num")
@pytest.mark.filterwarnings("ignore:ast")
@pytest.mark.parametrize("name", NAMES)
def test_names_are_read_as_ir_measures_reads_them(name: str) -> None:
    assert trec_eval._read_measure(name) == ir_measures.parse_measure(name)


GONE = ["Num", "Str", "Bytes", "NameConstant", "Ellipsis"]
"""Classes of `ast` that Python 3.14 has no more."""


def test_measures_need_nothing_that_python_3_14_has_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (*GONE, "__getattr__"):
        monkeypatch.delattr(ast, name, raising=False)
    parse_measure.cache_clear()
    assert [str(parse_measure(name)) for name in ("nDCG@5", "MRR", "R(rel=2)@5")] == [
        "nDCG@5",
        "RR",
        "R(rel=2)@5",
    ]


def write_data(folder: Path) -> JsonlDataset:
    """Two turns, of whose judgements two name passages that the corpus does not have."""
    lines = {
        "conversations": ['{"id": "c", "turns": [{"question": "one?"}, {"question": "two?"}]}'],
        "corpus": ['{"_id": "a", "text": "one"}', '{"_id": "b", "text": "two"}'],
        "qrels": ["c<::>1\ta\t1", "c<::>1\tgone\t1", "c<::>2\tb\t1", "c<::>2\tgone\t0"],
    }
    for name, rows in lines.items():
        (folder / name).write_text("\n".join(rows), encoding="utf-8")
    return JsonlDataset(**{name: folder / name for name in lines})


def test_judgements_on_passages_that_the_corpus_lacks_are_counted(tmp_path: Path) -> None:
    metric = RankingMetrics(dataset=write_data(tmp_path), store=Store(tmp_path / "store"))
    both = [record("c<::>1", ["a"]), record("c<::>2", ["b"])]
    report = metric.measure(both).report
    assert report is not None
    assert report.lines == (
        "2 of 4 relevance judgements name passages that the corpus does not have (1 of them; 'gone' for turn 'c<::>1', "
        "for instance): no system can find these.",
    )
    assert report.numbers == {"judgements": 4, "outside_corpus": 2, "absent_passages": 1}
    report = metric.measure(both[1:]).report
    assert report is not None
    assert report.numbers["judgements"] == 2


def test_where_all_judged_passages_are_there_or_there_is_no_corpus_nothing_is_said(
    tmp_path: Path,
) -> None:
    data = write_data(tmp_path)
    without = JsonlDataset(conversations=tmp_path / "conversations", qrels=tmp_path / "qrels")
    assert (
        RankingMetrics(dataset=without, store=STORE).measure([record("c<::>1", ["a"])]).report
        is None
    )
    (tmp_path / "qrels").write_text("c<::>1\ta\t1", encoding="utf-8")
    metric = RankingMetrics(dataset=data, store=Store(tmp_path / "store"))
    assert metric.measure([record("c<::>1", ["a"])]).report is None


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "", "a b", "x" * 100_000])
def test_ids_of_any_form_are_compared_whole(name: str) -> None:
    """trec_eval ended the process for half a surrogate pair, and took "a\0b" for "a"."""
    values = measure(
        {"t\0\ud800": {"a": 1, name: 1}}, record("t\0\ud800", [name]), measures=["R@5"]
    )
    assert values == {"t\0\ud800": {"R@5": 0.5}}
    assert measure({"t": {"a": 1}}, record("t", [name]), measures=["R@5"]) == {"t": {"R@5": 0.0}}


PASSAGES = ["MARCO_D1-3", "MARCO_D7-1", "MARCO_D2-11", "MARCO_D1-9"]
DOCUMENTS = {"t": {"MARCO_D2": 2, "MARCO_D9": 1}}


def test_a_run_without_a_judged_passage_says_so_with_an_id_of_each_side() -> None:
    said = []
    for qrels, ids in [(DOCUMENTS, PASSAGES), ({"t": {"7": 1}}, ["MARCO_7"])]:
        report = (
            RankingMetrics(dataset=Judged(qrels), store=STORE).measure([record("t", ids)]).report
        )
        assert report is not None
        said += report.lines
    zero = "No passage that was found is judged, so all scores are 0: this run has"
    assert said == [
        f"{zero} 'MARCO_D2-11', for instance, and the relevance judgements have 'MARCO_D2'; they judge documents: "
        "metrics.ranking.documents=true counts the best passage of each.",
        f"{zero} 'MARCO_7', for instance, and the relevance judgements have '7'.",
    ]
    qrels = {"t": {"a": 1}, "u": {"b": 1}}
    assert (
        RankingMetrics(dataset=Judged(qrels), store=STORE).measure([record("t", ["b"])]).report
        is None
    )
    assert (
        RankingMetrics(dataset=Judged(qrels), store=STORE).measure([record("t", [])]).report is None
    )


def test_the_best_passage_of_a_judged_document_counts() -> None:
    metric = RankingMetrics(
        dataset=Judged(DOCUMENTS), store=STORE, measures=["RR", "R@2", "R@3"], documents=True
    )
    measured = metric.measure(
        [record("t", ["MARCO_D1-3", "MARCO_D1-9", "MARCO_D2-11", "MARCO_D2-1", "MARCO_D9"])]
    )
    assert measured == {"t": {"RR": 0.5, "R@2": 0.5, "R@3": 1.0}}
    assert measured.report is None


@pytest.mark.parametrize("grade", [-1, -2, -1000])
def test_a_negative_grade_is_not_relevant(grade: int) -> None:
    """trec_eval's C code writes outside of its memory for -2 or less, and leaves -1 out of Bpref."""
    measures = ["nDCG@5", "R@5", "AP", "RR", "Bpref", "Rprec"]
    ranking = record("t", ["b", "a", "c"])
    values = measure({"t": {"a": 2, "b": grade, "d": 1}}, ranking, measures=measures)
    not_relevant = measure({"t": {"a": 2, "b": 0, "d": 1}}, ranking, measures=measures)
    assert dict(values) == dict(not_relevant)


def test_a_turn_with_negative_grades_alone_scores_zero() -> None:
    values = measure({"t": {"a": -2}}, record("t", ["a"]), measures=["nDCG@5", "R@5"])
    assert values == {"t": {"nDCG@5": 0.0, "R@5": 0.0}}


def test_the_best_passage_of_a_judged_document_counts() -> None:
    def cut(number: int, document: str) -> Hit:
        passage = Passage(f"{document}#{number}", "", metadata={"document": document})
        return Hit(passage, 10 - number)

    hits = (cut(1, "b.md"), cut(2, "a.md"), cut(3, "a.md"), cut(4, "c.md"))
    found = TurnRecord("c", "t", "default", 1, "?", hits=hits)
    values = measure({"t": {"a.md": 1, "c.md#4": 1}}, found, measures=["RR", "R@2", "R@3", "P@3"])
    assert values["t"] == {"RR": 0.5, "R@2": 0.5, "R@3": 1.0, "P@3": pytest.approx(2 / 3)}
