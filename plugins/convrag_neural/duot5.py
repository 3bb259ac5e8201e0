"""`ranker=duot5`: every text against every other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from convrag.registry.parameters import operational, use

from convrag import ConfigError, Ranker, remembered
from convrag_neural.aggregation import Aggregation, aggregate
from convrag_neural.loading import LocalModel
from convrag_neural.models import files_hash, local_folder, missing_tokenizer
from convrag_neural.t5_libraries import T5_LIBRARIES, missing_converter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convrag_neural.t5 import TrueFalseT5

_SHORTEST = 64


class DuoT5Ranker(Ranker):
    """Compare all pairs of texts with duoT5, a T5 that says which is more relevant: precise, and slow for many texts.

    The model reads "Query: ... Document0: ... Document1: ... Relevant:" for each ordered pair; the probability of
    "true" against "false" as its first word is that of the first text being more relevant (Pradeep et al. 2021).
    n texts are n (n - 1) pairs: 12 clusters of nuggets are 132. Where there are more than `max_candidates` texts, a
    cheaper ranker chooses those that are compared; the others follow in its order. Pairs are remembered one by one.

    Args:
        prefilter: chooses the candidates.
        model: a folder, which needs no network, or a name on the Hugging Face hub, which is downloaded once (GINGER's).
        tokenizer: likewise, where the model comes without one ("t5-base"); None takes the model's own.
        aggregation: what a text's probabilities are made into: "sym_sum" adds those of all its pairs, both ways round
            (GINGER); "sym_sum_log" adds their logarithms, so that one clear defeat costs more; "copeland" counts the
            texts that it beats, a tie for half.
        max_candidates: texts that are compared with each other, 2 at least; 20 make 380 pairs.
        batch_tokens: tokens that are read at once, padding included: more makes fewer batches, and needs more memory
            (the default: about half a gigabyte for the base model).
        device: where the model runs: cpu, cuda, cuda:1, mps.
        max_length: tokens of query and both texts together that are read, 64 at least; texts that are too long are cut,
            never the rest of the prompt. A query may take a quarter (1024: GINGER's code).

    Raises:
        ConfigError: a number is out of range.
        ConvragError: when it is used, the model cannot be loaded.
    """

    requires: ClassVar[Mapping[str, str]] = T5_LIBRARIES

    def __init__(
        self,
        *,
        prefilter: Ranker = use("bm25"),
        model: str = "castorini/duot5-base-msmarco",
        tokenizer: str | None = None,
        aggregation: Aggregation = "sym_sum",
        max_candidates: int = 20,
        batch_tokens: Annotated[int, operational] = 16_384,
        device: str = "cpu",
        max_length: int = 1024,
    ) -> None:
        if max_candidates < 2 or batch_tokens < 1 or max_length < _SHORTEST:
            raise ConfigError(
                f"ranker.max_candidates={max_candidates} must be at least 2, ranker.batch_tokens={batch_tokens} "
                f"at least 1, ranker.max_length={max_length} at least {_SHORTEST}"
            )
        self.prefilter = prefilter
        self.model = model
        self.tokenizer = tokenizer or model
        self.aggregation: Aggregation = aggregation
        self.max_candidates = max_candidates
        self.batch_tokens = batch_tokens
        self.device = device
        self.max_length = max_length
        self._local = LocalModel(model, self._load)

    def check(self) -> Iterator[str]:
        """Whether the model and its tokenizer are there, and can be read."""
        if converter := missing_converter(self.tokenizer, "ranker=duot5"):
            yield str(converter)
        yield from self._local.problems()
        if problem := missing_tokenizer(self.tokenizer, self.model):
            yield problem

    def content_hash(self) -> str:
        """The files of a model in a folder: another model in its place is another ranker."""
        return files_hash(self.model) + (files_hash(self.tokenizer) if self.tokenizer != self.model else "")

    def prepare(self) -> None:
        """Load the model."""
        with self._local.held():
            pass

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Aggregated probabilities; texts that were not compared score below all that were. Equal texts are one."""
        import numpy as np

        distinct = list(dict.fromkeys(texts))
        candidates, others = self._candidates(query, distinct)
        n = len(candidates)
        pairs = [(first, second) for first in candidates for second in candidates if first != second]
        probabilities = np.full((n, n), 0.5)
        if pairs:
            probabilities[~np.eye(n, dtype=bool)] = self.compare(query, pairs)
        scores = dict(zip(candidates, aggregate(probabilities, self.aggregation).tolist(), strict=True))
        least = min(scores.values(), default=0.0)
        scores |= {text: least - 1 - rank for text, rank in others.items()}
        return np.array([scores[text] for text in texts], dtype=np.float64)

    @remembered(each="pairs", array="float64")
    def compare(self, query: str, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """(n,) probabilities that the first text of a pair is more relevant than the second."""
        import numpy as np

        with self._local.held() as model:
            prompts = self._prompts(model, query, pairs)
            lengths = [model.length(prompt) for prompt in prompts]
            found = np.zeros(len(prompts), dtype=np.float64)
            for batch in batches(lengths, self.batch_tokens):
                found[batch] = model.probabilities([prompts[index] for index in batch])
        return found

    def _candidates(self, query: str, texts: list[str]) -> tuple[list[str], dict[str, int]]:
        """The texts to compare, in the order in which they came, and the others' ranks; equal scores share one."""
        if len(texts) <= self.max_candidates:
            return texts, {}
        scores = self.prefilter.score(query, texts).tolist()
        order = sorted(range(len(texts)), key=lambda index: -scores[index])
        left = order[self.max_candidates :]
        ranks = {score: rank for rank, score in enumerate(dict.fromkeys(scores[index] for index in left))}
        return (
            [texts[index] for index in sorted(order[: self.max_candidates])],
            {texts[index]: ranks[scores[index]] for index in left},
        )

    def _prompts(self, model: TrueFalseT5, query: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
        query = model.fit(" ".join(query.split()), self.max_length // 4)
        room = (self.max_length - model.length(_prompt(query, "", ""))) // 2
        texts = dict.fromkeys(text for pair in pairs for text in pair)
        cut = {text: model.fit(" ".join(text.split()), room) for text in texts}
        return [_prompt(query, cut[first], cut[second]) for first, second in pairs]

    def _load(self, model: str) -> TrueFalseT5:
        from convrag_neural.t5 import TrueFalseT5

        return TrueFalseT5(
            model,
            str(local_folder(self.tokenizer) or self.tokenizer),
            device=self.device,
            max_length=self.max_length,
            batch_size=self.batch_tokens,  # the batches are cut here, by tokens
        )


def batches(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Positions in batches, longest first: as many as fit when all are padded to the longest, one at least."""
    found: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if found and lengths[found[-1][0]] * (len(found[-1]) + 1) <= most:
            found[-1].append(index)
        else:
            found.append([index])
    return found


def _prompt(query: str, first: str, second: str) -> str:
    return f"Query: {query} Document0: {first} Document1: {second} Relevant:"
