"""10,000 answers score in under a minute without the neural metrics."""

import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from convrag.api.answers import Answer
from convrag.api.conversations import Conversation, Turn
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Hit, Passage
from convrag.api.records import TurnRecord
from convrag.api.stages import Dataset, Metrics
from convrag.score.scoring import Scores
from convrag.store.store import Store
from convrag_metrics.answerability import AnswerabilityMetrics
from convrag_metrics.answers import AnswerMetrics
from convrag_metrics.grounding import GroundingMetrics
from convrag_metrics.ranking import RankingMetrics

TURNS = 10_000
LENGTH = 10  # turns of a conversation
SECONDS = 60


class Talk(Dataset):
    """Repeat real questions, answers and passages of MTRAG with words of their own."""

    def __init__(self, path: Path) -> None:
        import json

        file = path / "mtrag-human" / "generation_tasks" / "reference.jsonl"
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        self.turns = [
            Turn(
                f"c{number // LENGTH}<::>{number % LENGTH + 1}",
                row["input"][-1]["text"],
                f"{row['targets'][0]['text']} {number}",
                tuple(
                    Passage(c["document_id"], c["text"], c.get("title", ""))
                    for c in row["contexts"][:5]
                ),
                {"answerability": row["Answerability"][0]},
            )
            for number, row in enumerate(islice(cycle(rows), TURNS))
        ]

    def conversations(self) -> Iterator[Conversation]:
        for start in range(0, TURNS, LENGTH):
            yield Conversation(f"c{start // LENGTH}", tuple(self.turns[start : start + LENGTH]))

    def qrels(self) -> dict[str, dict[str, int]]:
        return {
            turn.id: {passage.id: 1 for passage in turn.passages}
            for turn in self.turns
            if turn.passages
        }

    def records(self) -> Iterator[TurnRecord]:
        """Answer each question with the reference answer of the turn before, cited by sentence."""
        for number, turn in enumerate(self.turns):
            said = self.turns[number - 1].answer.replace(". ", ". [1] ") + " [2]"
            items = tuple(
                EvidenceItem(n, passage, passage.text) for n, passage in enumerate(turn.passages, 1)
            )
            hits = tuple(Hit(passage, -float(n)) for n, passage in enumerate(turn.passages))
            yield TurnRecord(
                conversation_id=turn.id.partition("<::>")[0],
                turn_id=turn.id,
                domain="default",
                number=number % LENGTH + 1,
                original_query=turn.question,
                hits=hits,
                evidence=Evidence(items),
                answer=Answer(said),
                labels=turn.labels,
            )


def test_ten_thousand_answers_score_within_a_minute(mtrag_path: Path, tmp_path: Path) -> None:
    data = Talk(mtrag_path)
    records = list(data.records())
    took = {}
    metrics: dict[str, Metrics] = {
        "ranking": RankingMetrics(dataset=data, store=Store(tmp_path)),
        "answers": AnswerMetrics(dataset=data),
        "answerability": AnswerabilityMetrics(dataset=data),
        "grounding": GroundingMetrics(),
    }
    measured = {}
    for name, metric in metrics.items():
        start = time.perf_counter()
        measured[name] = metric.measure(records)
        took[name] = time.perf_counter() - start
    start = time.perf_counter()
    scores = Scores(records, metrics, measured)
    assert scores.compute_intervals()["ROUGE-L"]
    took["means and intervals"] = time.perf_counter() - start
    for name, seconds in took.items():
        print(f"{name}: {seconds:.1f} s for {TURNS:,} answers")
    assert sum(took.values()) < SECONDS
