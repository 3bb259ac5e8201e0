"""The base of rankers at servers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge

from convrag import Ranker, operational
from convrag_llms.request_batches import RequestBatches
from convrag_llms.rerank_reply import Scores
from convrag_llms.server_stage import ServerStage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(kw_only=True, eq=False)
class ServerRanker(ServerStage, Ranker):
    """A ranker at a server.

    Args:
        batch_size: the most texts of a request. Where a server refuses it, fewer are sent.
        batch_tokens: the most tokens of a request, as far as they can be estimated.
    """

    group = "ranker"
    kind = "a server of a reranker"
    libraries = ("numpy",)

    batch_size: Annotated[int, operational, Ge(1)] = 96
    batch_tokens: Annotated[int, operational, Ge(1)] = 100_000

    def __post_init__(self) -> None:
        super().__post_init__()
        self._batches = RequestBatches(
            self.batch_size, self.batch_tokens, self.concurrency, self.endpoint.model
        )

    @abstractmethod
    def ask(self, body: Mapping[str, Any], timeout: float) -> Scores:
        """Send one request once, and read its scores, within the deadline of this thread.

        Args:
            body: model, query, documents and top_n, and the parameters of `extra`.
            timeout: seconds for the whole of it, for libraries that take a timeout.

        Raises:
            UnusableReply: it has no scores, or not one for each document.
            Exception: one of errors.py, or what a library raises and errors.py can read.
        """

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score each text: (n,) scores of the model. Each distinct text is sent once.

        Blank texts score below all others. Without a query, all texts score 0.
        """
        import numpy as np

        distinct = list(dict.fromkeys(text for text in texts if text.strip()))
        if not query.strip() or not distinct:
            return np.zeros(len(texts))
        found: dict[str, float] = {}

        def keep(places: Sequence[int], scores: NDArray[np.float64]) -> None:
            for place, score in zip(places, scores.tolist(), strict=True):
                found[distinct[place]] = score

        self._batches.send(distinct, partial(self._score_batch, query), keep)
        lowest = min(found.values()) - 1.0
        return np.array([found.get(text, lowest) for text in texts], dtype=np.float64)

    def describe_requests(self) -> Iterator[str]:
        """Say how many requests were sent, and how many texts were cut."""
        yield from super().describe_requests()
        yield from self._batches.describe()

    def _score_batch(self, query: str, texts: list[str]) -> NDArray[np.float64]:
        """Score texts in one request: (n,). Raises as `send`."""
        body = {
            **self.extra,
            "model": self.endpoint.model,
            "query": query,
            "documents": texts,
            "top_n": len(texts),
        }
        scores: Scores = self.send(self.ask, body, [query, *texts])
        return scores.values
