"""Contracts of the stages around the turns."""

from __future__ import annotations

from typing import Any

from convrag.testing.samples import passages
from convrag.testing.stage import StageContract
from convrag.types import Hit, TurnRecord


class DatasetContract(StageContract):
    """Conversations with unique ids, in a fixed order."""

    group = "dataset"

    def call(self, stage: Any) -> Any:
        return [(script.id, script.domain, len(script.turns)) for script in stage.conversations()]

    def test_ids_are_unique_and_no_conversation_is_empty(self) -> None:
        scripts = list(self.make().conversations())
        turns = [turn.id for script in scripts for turn in script.turns]
        assert len({script.id for script in scripts}) == len(scripts) > 0
        assert len(set(turns)) == len(turns)
        assert all(script.turns and all(turn.question.strip() for turn in script.turns) for script in scripts)

    def test_domains_and_judgements_name_what_is_there(self) -> None:
        stage = self.make()
        scripts = list(stage.conversations())
        assert {script.domain for script in scripts} <= set(stage.domains())
        assert set(stage.qrels()) <= {turn.id for script in scripts for turn in script.turns}

    def test_the_corpus_streams_and_has_a_stable_fingerprint(self) -> None:
        for domain in self.make().domains():
            ids = [passage.id for passage in self.make().corpus(domain)]
            assert len(ids) == len(set(ids))
            assert self.make().corpus_fingerprint(domain) == self.make().corpus_fingerprint(domain)


class MetricsContract(StageContract):
    """Records in, numbers per turn out."""

    group = "metrics"

    def records(self) -> list[TurnRecord]:
        """Two turns, of which the second failed."""
        hits = tuple(Hit(passage, 1.0 / n) for n, passage in enumerate(passages(), 1))
        return [
            TurnRecord("tea", "tea<::>1", "default", 1, "Why does a kettle whistle?", hits=hits),
            TurnRecord("tea", "tea<::>2", "default", 2, "And green tea?", error="retriever: down"),
        ]

    def call(self, stage: Any) -> Any:
        return {turn: dict(scores) for turn, scores in stage.measure(self.records()).items()}

    def test_it_measures_turns_that_are_there(self) -> None:
        scores = self.call(self.make())
        assert set(scores) <= {record.turn_id for record in self.records()}
        assert all(isinstance(value, float) for turn in scores.values() for value in turn.values())

    def test_no_records_are_no_numbers(self) -> None:
        assert dict(self.make().measure([])) == {}


class TrackerContract(StageContract):
    """An observer of runs."""

    group = "tracker"


class TaskContract(StageContract):
    """Something that the command can do."""

    group = "task"
