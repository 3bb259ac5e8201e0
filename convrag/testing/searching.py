"""Contracts of the stages that find passages."""

from __future__ import annotations

from typing import Any

from convrag.testing.samples import TEXTS, question
from convrag.testing.stage import StageContract
from convrag.types import Hit, Query, Rewrite


class RewriterContract(StageContract):
    """A question in, at least one standalone query out."""

    group = "rewriter"

    def call(self, stage: Any) -> Any:
        rewrite = stage.rewrite(question())
        return [(query.text, query.weight) for query in rewrite.queries], rewrite.fallback

    def test_a_follow_up_gives_queries(self) -> None:
        rewrite = self.make().rewrite(question())
        assert isinstance(rewrite, Rewrite)
        assert rewrite.text.strip()
        assert all(query.weight > 0 for query in rewrite.queries)

    def test_a_first_question_needs_no_history(self) -> None:
        assert self.make().rewrite(question(turns=0)).text.strip()

    def test_unicode_goes_through(self) -> None:
        assert self.make().rewrite(question("お茶は何度？ Ça va 🙂?")).text.strip()

    def test_turns_one_after_the_other_equal_turns_from_the_start(self) -> None:
        """What a stage keeps in `question.scratch` must be rebuildable from the history."""
        kept: dict[object, dict[str, Any]] = {}
        stage = self.make()
        for turns in range(3):
            asked = question(turns=turns)
            incremental = stage.rewrite(type(asked)(**{**_fields(asked), "memory": kept}))
        assert incremental.queries == stage.rewrite(question(turns=2)).queries


class RetrieverContract(StageContract):
    """Queries in, at most k passages out, best first. `make` indexes convrag.testing.passages()."""

    group = "retriever"
    domain = "default"

    def search(self, stage: Any, *texts: str, k: int = 3) -> list[Hit]:
        """Retrieve for queries of weight 1."""
        found: list[Hit] = stage.retrieve([Query(text, turn_id="tea<::>1", domain=self.domain) for text in texts], k)
        return found

    def call(self, stage: Any) -> Any:
        return [(hit.passage.id, hit.score) for hit in self.search(stage, "copper kettle")]

    def test_the_best_come_first(self) -> None:
        hits = self.search(self.make(), "copper kettle")
        assert hits, "nothing was found for words that stand in the passages"
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)

    def test_no_passage_comes_twice_and_k_is_kept(self) -> None:
        stage = self.make()
        for k in (1, 2, 100):
            ids = [hit.passage.id for hit in self.search(stage, "kettle", "tea", k=k)]
            assert len(ids) == len(set(ids)) <= k

    def test_odd_queries_do_no_harm(self) -> None:
        stage = self.make()
        for text in ("", "?!", "zzzxxy", "お茶 🙂", "kettle " * 500):
            assert len(self.search(stage, text)) <= 3


class RankerContract(StageContract):
    """A query and n texts in, n scores out."""

    group = "ranker"

    def call(self, stage: Any) -> Any:
        return [float(score) for score in stage.score("copper kettle", list(TEXTS))]

    def test_each_text_gets_a_score(self) -> None:
        stage = self.make()
        for n in (0, 1, 2, 4):
            assert stage.score("copper kettle", list(TEXTS[:n])).shape == (n,)

    def test_equal_texts_get_equal_scores(self) -> None:
        scores = self.make().score("copper kettle", [TEXTS[0]] * 3)
        assert len(set(scores.tolist())) == 1


def _fields(asked: Any) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in asked.__slots__}
