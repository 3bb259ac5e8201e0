"""What holds of MTRAG's own conversations, rewrites, answers and published runs."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from convrag import Hit, Passage, Query, Question, Store, TurnRecord
from convrag_condense.gate import compute_known_share, list_said
from convrag_datasets.mtrag import MtragDataset
from convrag_metrics.idk import detect_idk
from convrag_metrics.ranking import RankingMetrics


def read_references(mtrag: Path) -> list[dict[str, list]]:
    """The rows of the file of reference answers."""
    lines = (
        (mtrag / "mtrag-human/generation_tasks/reference.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    return [json.loads(line) for line in lines]


def test_conversations(mtrag_path: Path) -> None:
    dataset = MtragDataset(path=mtrag_path)
    assert list(dataset.check()) == []
    conversations = list(dataset.conversations())
    assert len(conversations) == 55
    turns = [turn for conversation in conversations for turn in conversation.turns]
    assert len(turns) == len({turn.id for turn in turns}) == 429
    assert all(turn.question and turn.answer and len(turn.labels) == 3 for turn in turns)
    assert sum(turn.labels["answerability"] == "UNANSWERABLE" for turn in turns) == 30
    for conversation in conversations:
        numbers = [
            int(turn.id.removeprefix(f"{conversation.id}<::>")) for turn in conversation.turns
        ]
        assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize(
    ("domain", "judged", "size"), [("clapnq", 208, 11_909), ("cloud", 188, 13_200)]
)
def test_qrels_and_corpus(mtrag_path: Path, domain: str, judged: int, size: int) -> None:
    dataset = MtragDataset(path=mtrag_path, domain=domain)
    assert len(dataset.qrels()) == judged
    assert all(any(grade > 0 for grade in grades.values()) for grades in dataset.qrels().values())
    passages = {passage.id: passage for passage in dataset.corpus(domain)}
    assert len(passages) == size
    assert all(passages.keys() >= grades.keys() for grades in dataset.qrels().values())
    turns = {
        turn.id: turn for conversation in dataset.conversations() for turn in conversation.turns
    }
    for turn_id, grades in dataset.qrels().items():
        assert grades.keys() <= {passage.id for passage in turns[turn_id].passages}


@pytest.mark.parametrize(
    ("system", "domain", "recall", "ndcg"),
    [
        ("elser", "clapnq", 0.552, 0.513),
        ("bge", "clapnq", 0.462, 0.438),
        ("elser", "cloud", 0.431, 0.395),
        ("bge", "cloud", 0.338, 0.303),
    ],
)
def test_the_published_runs_score_as_published(
    mtrag_path: Path, tmp_path: Path, system: str, domain: str, recall: float, ndcg: float
) -> None:
    dataset = MtragDataset(path=mtrag_path, domain=domain)
    rankings: dict[str, list[str]] = {turn_id: [] for turn_id in dataset.qrels()}
    for line in (
        (mtrag_path / f"runs/{system}_{domain}_rewrite.trec")
        .read_text(encoding="utf-8")
        .splitlines()
    ):
        turn_id, _, passage_id, *_ = line.split()
        rankings[turn_id].append(passage_id)
    records = [
        TurnRecord("c", turn_id, domain, 1, "?", queries=(Query("?"),), hits=tuple(make_hits(ids)))
        for turn_id, ids in rankings.items()
    ]
    values = RankingMetrics(dataset=dataset, store=Store(tmp_path)).measure(records)
    means = [
        sum(value[name] for value in values.values()) / len(rankings) for name in ("R@5", "nDCG@5")
    ]
    assert len(values) == len(rankings)
    assert means == pytest.approx([recall, ndcg], abs=0.002)


def make_hits(ids: list[str]) -> Iterator[Hit]:
    yield from (Hit(Passage(each, ""), float(-rank)) for rank, each in enumerate(ids))


def test_reference_answers_that_do_not_know_are_told_apart(mtrag_path: Path) -> None:
    rows = read_references(mtrag_path)
    counts = Counter(
        (row["Answerability"][0], detect_idk(row["targets"][0]["text"])) for row in rows
    )
    assert counts["ANSWERABLE", "yes"] == 0
    assert counts["ANSWERABLE", "no"] >= 0.98 * sum(
        n for (label, _), n in counts.items() if label == "ANSWERABLE"
    )
    assert counts["UNANSWERABLE", "yes"] >= 0.9 * sum(
        n for (label, _), n in counts.items() if label == "UNANSWERABLE"
    )
    assert counts["PARTIAL", "yes"] <= 2


def test_the_guard_of_condense_accepts_the_rewrites(mtrag_path: Path) -> None:
    rejected = total = 0
    for domain in ("clapnq", "cloud"):
        path = mtrag_path / f"mtrag-human/retrieval_tasks/{domain}/{domain}_rewrite.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rewrites = {row["_id"]: row["text"].removeprefix("|user|: ").strip() for row in rows}
        for question in ask_judged(MtragDataset(path=mtrag_path, domain=domain)):
            if question.history:
                total += 1
                said = [*list_said(question.history), question.text]
                rejected += compute_known_share(rewrites[question.turn_id], said) < 0.5
    assert total == 343
    assert rejected / total <= 0.02


def ask_judged(dataset: MtragDataset) -> Iterator[Question]:
    """The judged questions with their gold histories."""
    judged = dataset.qrels()
    for script in dataset.conversations():
        for number, turn in enumerate(script.turns):
            if turn.id in judged:
                yield Question(
                    turn.question,
                    script.id,
                    turn.id,
                    script.domain,
                    number + 1,
                    script.turns[:number],
                )
