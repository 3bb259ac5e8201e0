"""`ranker=cascade`: several rankers in a row, each for fewer texts than the one before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge

from convrag import ConfigError, Hit, Question, Ranker, Ranking, use
from convrag.sdk.errors import RunStopped
from convrag.sdk.search.cascade import CascadeScores, RankingStep, score_in_steps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CascadeRanker(Ranker):
    """Rank in two or three steps: a cheap ranker for many texts, a dear one for the best of them.

    `reranker.first=bm25 reranker.second=cross_encoder reranker.third=llm_listwise` chooses the
    rankers; `reranker.second.batch_size=8` sets a parameter of one. The first ranker scores all
    texts, and each other one the best texts of the ranker before it, best first. Texts that are
    dropped on the way follow in the order in which their last ranker has them. A ranker that would
    keep all its texts is not asked.

    A reranker that fails keeps the order that it was given, the record says why, and the next one
    goes on. The trace has, for each step, the scores by passage id and how many were kept.

    Args:
        first: ranks all texts.
        second: ranks the best `keep_first` texts.
        third: ranks the best `keep_second` of these; none by default.
        keep_first: texts that the first ranker keeps.
        keep_second: texts that the second ranker keeps, fewer than keep_first; without a third
            ranker, it does not count.

    Raises:
        ConfigError: keep_second is not below keep_first.
    """

    libraries = ("numpy",)

    def __init__(
        self,
        *,
        first: Ranker = use("bm25"),
        second: Ranker = use("cross_encoder"),
        third: Ranker | None = None,
        keep_first: Annotated[int, Ge(1)] = 50,
        keep_second: Annotated[int, Ge(1)] = 10,
    ) -> None:
        if third is not None and keep_second >= keep_first:
            raise ConfigError(
                f"keep_second={keep_second}: it must be below keep_first={keep_first}, "
                "or the second ranker drops nothing"
            )
        self.rankers = {"first": first, "second": second}
        self.keep: dict[str, int | None] = {"first": keep_first, "second": None}
        if third is not None:
            self.rankers["third"] = third
            self.keep |= {"second": keep_second, "third": None}

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score n texts for a query: (n,) scores. An error of a ranker is one of the cascade."""
        scored = self._run(lambda name, some: self.rankers[name].score(query, some), texts)
        return _make_array(scored, texts)

    def score_for(self, question: Question, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score n texts as `score` does; a ranker that reads the conversation is shown it."""
        scored = self._run(lambda name, some: self.rankers[name].score_for(question, some), texts)
        return _make_array(scored, texts)

    def rank_hits(self, question: Question, hits: Sequence[Hit]) -> Ranking:
        """Score hits, with the scores of each step in the trace."""
        failures: dict[str, str] = {}

        def score_with(name: str, some: Sequence[str]) -> NDArray[np.float64]:
            try:
                return self.rankers[name].score_for(question, some)
            except (RunStopped, ImportError):
                raise  # a library that cannot be imported is a defect: no fallback
            except Exception as error:
                failures[name] = f"{type(error).__name__}: {error}"
                return _keep_order(some)

        texts = [hit.passage.content for hit in hits]
        scored = self._run(score_with, texts)
        return Ranking(
            [scored.final[text] for text in texts],
            {"steps": self._describe_steps(hits, scored, failures)},
            "; ".join(f"{name}: {reason}" for name, reason in failures.items()),
        )

    def _run(
        self, score_with: Callable[[str, Sequence[str]], NDArray[np.float64]], texts: Sequence[str]
    ) -> CascadeScores:
        """Score texts in steps; `score_with` asks the ranker with a name for the scores of some."""

        def score(name: str, some: Sequence[str]) -> list[float]:
            scores: list[float] = score_with(name, some).tolist()
            return scores

        steps = [RankingStep(partial(score, name), keep) for name, keep in self.keep.items()]
        return score_in_steps(steps, texts)

    def _describe_steps(
        self, hits: Sequence[Hit], scored: CascadeScores, failures: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        """Describe each step that was asked: how many texts it kept, and the scores it gave."""
        rows = []
        for name, scores in zip(self.rankers, scored.steps, strict=True):
            if not scores:
                continue
            row: dict[str, Any] = {"step": name, "kept": self.keep[name] or len(scores)}
            if name in failures:
                row["failed"] = failures[name]
            else:
                by_id = {hit.passage.id: scores.get(hit.passage.content) for hit in hits}
                row["scores"] = {id_: score for id_, score in by_id.items() if score is not None}
            rows.append(row)
        return rows


def _make_array(scored: CascadeScores, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the final score of each text."""
    import numpy as np

    return np.array([scored.final[text] for text in texts], dtype=np.float64)


def _keep_order(texts: Sequence[str]) -> NDArray[np.float64]:
    """Score texts so that they keep their order."""
    import numpy as np

    return -np.arange(len(texts), dtype=np.float64)
