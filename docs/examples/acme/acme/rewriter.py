"""`rewriter=acme_topic`: the question, and what an earlier answer that clusters with it says."""

from __future__ import annotations

from typing import Literal

from convrag import Clusterer, Embedder, Question, Rewrite, Rewriter


class TopicRewriter(Rewriter):
    """Add the first words of earlier answers that fall into one cluster with the question.

    Args:
        clusterer: groups the question with the earlier answers.
        embedder: is at the clusterer's service.
        words: how many words of each such answer to add.
        order: which answers come first.
    """

    def __init__(
        self,
        *,
        clusterer: Clusterer,
        embedder: Embedder,
        words: int = 8,
        order: Literal["oldest", "newest"] = "newest",
    ) -> None:
        self.clusterer = clusterer
        self.embedder = embedder
        self.words = words
        self.order = order

    def rewrite(self, question: Question) -> Rewrite:
        """The question itself, followed by what was added."""
        answers = [turn.answer for turn in question.history if turn.answer]
        labels = self.clusterer.cluster([*answers, question.text], self.embedder).tolist()
        related = [
            answer
            for answer, label in zip(answers, labels[:-1], strict=True)
            if label == labels[-1] != -1
        ]
        if self.order == "newest":
            related.reverse()
        added = [" ".join(answer.split()[: self.words]) for answer in related]
        return Rewrite.of(" ".join([question.text, *added]), related=len(related))
