"""`ranker=duot5`: T5 compares each text with every other one, and comparisons add up to scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge

from convrag import Ranker, operational, use
from convrag.sdk.search.cascade import RankingStep, score_in_steps
from convrag.sdk.types import remembered
from convrag_neural.t5_ranker import T5Ranker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convrag_neural.t5_ranker import TrueFalseT5

Aggregation = Literal["sym_sum", "sym_sum_log", "copeland"]

_MIN_PROBABILITY = 1e-12
"""The least probability that is taken the logarithm of, and the greatest margin of a tie."""


class DuoT5Ranker(T5Ranker):
    """Compare all pairs of texts with duoT5, a T5 that says which is more relevant: precise, slow.

    The model reads "Query: ... Document0: ... Document1: ... Relevant:" for each ordered pair; the
    probability of "true" against "false" as its first word says that the first text is more
    relevant (Pradeep et al. 2021). n texts are n (n - 1) pairs: 12 clusters of nuggets are 132.
    Where there are more than `max_candidates` texts, a cheaper ranker chooses those that are
    compared; the others follow in its order. Pairs are remembered one by one.

    Args:
        prefilter: chooses the candidates.
        model: a folder, which needs no network, or a name on the Hugging Face hub, which is
            downloaded once (GINGER's).
        tokenizer: likewise, where the model comes without one ("t5-base"); None takes the model's
            own.
        aggregation: what a text's probabilities are made into: "sym_sum" adds those of all its
            pairs, both ways round (GINGER); "sym_sum_log" adds their logarithms, so that one clear
            defeat costs more; "copeland" counts the texts that it beats, a tie for half.
        max_candidates: texts that are compared with each other, 2 at least; 20 make 380 pairs.
        batch_tokens: tokens that are read at once, padding included: more makes fewer batches, and
            needs more memory (the default: about half a gigabyte for the base model).
        device: where the model runs: cpu, cuda, cuda:1, mps, xpu; "auto" takes a GPU where there is
            one. Results are the same to some six digits on all of them, and one's are used on the
            others.
        max_length: tokens of query and both texts together that are read, 64 at least; texts that
            are too long are cut, never the rest of the prompt. A query may take a quarter (1024:
            GINGER's code).

    Raises:
        ConvragError: when it is used, the model cannot be loaded.
    """

    def __init__(
        self,
        *,
        prefilter: Ranker = use("bm25"),
        model: str = "castorini/duot5-base-msmarco",
        tokenizer: str | None = None,
        aggregation: Aggregation = "sym_sum",
        max_candidates: Annotated[int, Ge(2)] = 20,
        batch_tokens: Annotated[int, operational, Ge(1)] = 16_384,
        device: Annotated[str, operational] = "auto",
        max_length: Annotated[int, Ge(64)] = 1024,
    ) -> None:
        super().__init__(
            model=model,
            tokenizer=tokenizer,
            device=device,
            max_length=max_length,
            batch_size=batch_tokens,  # the tokens limit them
            batch_tokens=batch_tokens,
        )
        self.prefilter = prefilter
        self.aggregation: Aggregation = aggregation
        self.max_candidates = max_candidates

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score each text: (n,) aggregated probabilities.

        Texts that were not compared score below all others. Equal texts count as one.
        """
        import numpy as np

        steps = [
            RankingStep(
                lambda many: self.prefilter.score(query, many).tolist(), self.max_candidates
            ),
            RankingStep(lambda candidates: self._score_candidates(query, candidates)),
        ]
        scores = score_in_steps(steps, texts, best_first=False).final
        return np.array([scores[text] for text in texts], dtype=np.float64)

    def _score_candidates(self, query: str, candidates: Sequence[str]) -> list[float]:
        """Compare each candidate with every other one, and add up the comparisons."""
        import numpy as np

        n = len(candidates)
        pairs = [
            (first, second) for first in candidates for second in candidates if first != second
        ]
        probabilities = np.full((n, n), 0.5)
        if pairs:
            probabilities[~np.eye(n, dtype=bool)] = self.compare(query, pairs)
        aggregated: list[float] = aggregate_comparisons(probabilities, self.aggregation).tolist()
        return aggregated

    @remembered(each="pairs", array="float64")
    def compare(self, query: str, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Compare pairs of texts: (n,) probabilities that the first one is more relevant."""
        with self._locked_model() as model:
            return model.predict_probabilities(self._build_prompts(model, query, pairs))

    def _build_prompts(
        self, model: TrueFalseT5, query: str, pairs: Sequence[tuple[str, str]]
    ) -> list[str]:
        query = model.truncate(" ".join(query.split()), self.max_length // 4)
        room = (self.max_length - model.count_tokens(_build_prompt(query, "", ""))) // 2
        texts = dict.fromkeys(text for pair in pairs for text in pair)
        cut = {text: model.truncate(" ".join(text.split()), room) for text in texts}
        return [_build_prompt(query, cut[first], cut[second]) for first, second in pairs]


def _build_prompt(query: str, first: str, second: str) -> str:
    return f"Query: {query} Document0: {first} Document1: {second} Relevant:"


def aggregate_comparisons(
    probabilities: NDArray[np.float64], how: Aggregation
) -> NDArray[np.float64]:
    """Aggregate the comparisons of n texts into a score for each: (n,).

    Args:
        probabilities: (n, n); [i, j]: text i is more relevant than text j. The diagonal is ignored.
        how: "sym_sum": the sum over j of p[i, j] + (1 - p[j, i]); "sym_sum_log": of their
            logarithms; "copeland": the number of texts j for which they add up to more than 1, and
            half the number of those for which to 1.
    """
    import numpy as np

    wins = probabilities
    not_beaten = 1 - probabilities.T
    if how == "sym_sum_log":
        log_wins = np.log(np.maximum(wins, _MIN_PROBABILITY))
        values = log_wins + np.log(np.maximum(not_beaten, _MIN_PROBABILITY))
    elif how == "copeland":
        margins = wins + not_beaten - 1
        values = np.where(np.abs(margins) < _MIN_PROBABILITY, 0.5, margins > 0)
    else:
        values = wins + not_beaten
    is_diagonal = np.eye(len(values), dtype=bool)
    scores: NDArray[np.float64] = np.where(is_diagonal, 0.0, values).sum(axis=1)
    return scores
