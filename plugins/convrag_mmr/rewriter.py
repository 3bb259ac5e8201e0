"""The rewriter: extract, embed, cluster, represent, select, rewrite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from convrag.registry.parameters import use

from convrag import (
    LLM,
    Clusterer,
    ConfigError,
    ConvragError,
    Embedder,
    PromptTemplate,
    Query,
    Question,
    Rewrite,
    Rewriter,
)
from convrag.sdk.llm_rewriter import LLMRewriter
from convrag_mmr.caching_embedder import Remembering
from convrag_mmr.context import exchanges, lines
from convrag_mmr.history import Sentence, extract
from convrag_mmr.polishing import polish


class MMRRewriter(Rewriter):
    """Ask the LLM for a stand-alone question, showing it few sentences: relevant, and each with something new (MMR).

    The history's sentences are clustered into topics; of each topic, those nearest to its centre are candidates; of the
    candidates, maximal marginal relevance picks those that resemble the question and not each other. The LLM sees them
    in the order in which they were said, and always the last exchange as it was held. The first turn is searched for as
    it is; where the LLM fails, or its reply is no question, so is any other, and the record says why.

    Args:
        llm: the language model that rewrites.
        embedder: embeds the question, and each sentence of the history once.
        clusterer: finds the topics; an outlier is a topic of its own.
        num_sentences: sentences that are picked, beside the last exchange (5: the seed; its best runs had 10).
        representatives: candidates of each topic (3: the seed).
        question_weight: weight of the user's own words, which are searched for beside the rewrite. 1 trusts neither
            more: on MTRAG rewriting helps 21.5 % of the queries and hurts 17.8 %. 0: the rewrite alone (the seed).
        lambda_: weight of relevance against diversity, 0 to 1 (0.7: the seed, in whose runs it hardly mattered).
        post_process: tidy the rewrite: single spaces, a capital, a question mark behind a question (the seed did).
        min_words: words that a sentence of the history must have, separated by white space (3: the seed's code).
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question`, `context` (a list
            of `turn`, `speaker`, `text`), `history` (the same as a list of `turn`, `user`, `assistant`) and
            `question_weight`.
        temperature: of the rewrite (0.5: the seed's code); 0 gives the likeliest, None leaves it to the llm.
        max_tokens: the longest reply, in tokens (200: the seed's code); None leaves it to the llm.

    Raises:
        ConfigError: a number is out of range.
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        embedder: Embedder,
        clusterer: Clusterer = use("kmeans"),
        num_sentences: int = 5,
        representatives: int = 3,
        question_weight: float = 1.0,
        lambda_: float = 0.7,
        post_process: bool = False,
        min_words: int = 3,
        prompt: Path | None = None,
        temperature: float | None = 0.5,
        max_tokens: int | None = 200,
    ) -> None:
        if num_sentences < 1 or representatives < 1:
            raise ConfigError(
                f"rewriter.num_sentences={num_sentences} and rewriter.representatives={representatives}: at least 1"
            )
        if question_weight < 0:
            raise ConfigError(f"rewriter.question_weight={question_weight}: 0 or more")
        if not 0 <= lambda_ <= 1:
            raise ConfigError(f"rewriter.lambda_={lambda_}: between 0 (diversity only) and 1 (relevance only)")
        self.embedder = embedder
        self.clusterer = clusterer
        self.num_sentences = num_sentences
        self.representatives = representatives
        self.question_weight = question_weight
        self.lambda_ = lambda_
        self.post_process = post_process
        self.min_words = min_words
        template = PromptTemplate("rewrite", package="convrag_mmr", path=prompt)
        self.asker = LLMRewriter(llm, template, temperature=temperature, max_tokens=max_tokens)

    def content_hash(self) -> str:
        """The wording of the prompt."""
        return self.asker.template.hash

    def rewrite(self, question: Question) -> Rewrite:
        """One call of the LLM, but none for a first turn, nor where nobody said anything yet."""
        known = question.state(self)
        found = extract(question.history, self.min_words, known.setdefault("split", {}))
        if not found:
            return Rewrite.of(question.text, **_trace(_nothing(question), [], [], [], []))
        embedder = Remembering(self.embedder, known.setdefault("vectors", {}))
        labels, candidates, picked = self._select(question.text, [unit.sentence for unit in found], embedder)
        trace = _trace("llm", found, labels, candidates, picked)
        shown = exchanges([found[index] for index in sorted(picked)], question.history)
        inputs = {"history": shown, "context": lines(shown), "question_weight": self.question_weight}
        return self._finished(self.asker.rewrite(question, trace, **inputs), question)

    def _select(self, question: str, texts: list[str], embedder: Embedder) -> tuple[list[int], list[int], list[int]]:
        """Each text's cluster; the positions of the representatives, and of those picked, in the order of picking."""
        from convrag_mmr.selection import mmr, representatives

        labels = self.clusterer.cluster(texts, embedder)
        if len(labels) != len(texts):
            raise ConvragError(f"{type(self.clusterer).__name__} gave {len(labels)} labels for {len(texts)} texts")
        rows = embedder.embed(texts)
        candidates = representatives(rows, labels, self.representatives)
        wanted = embedder.embed([question], query=True)[0]
        picked = candidates[mmr(wanted, rows[candidates], self.num_sentences, self.lambda_)]
        return labels.tolist(), candidates.tolist(), picked.tolist()

    def _finished(self, rewrite: Rewrite, question: Question) -> Rewrite:
        """The LLM's rewrite, tidied if so wished, and beside it the question, unless that is what it says anyway."""
        if rewrite.fallback:
            return rewrite
        text = polish(rewrite.text) if self.post_process else rewrite.text
        queries = [Query(text), Query(question.text, self.question_weight)]
        same = text.split() == question.text.split()
        return replace(rewrite, queries=tuple(queries[:1] if same or not self.question_weight else queries))


def _nothing(question: Question) -> str:
    """Why there are no sentences to choose from."""
    if question.number == 1:
        return "first_turn"
    return "no_sentences" if question.history else "no_history"


def _trace(
    method: str, found: Sequence[Sentence], labels: Sequence[int], candidates: Sequence[int], picked: Sequence[int]
) -> dict[str, Any]:
    """The seed's intermediate record; sentences in the order in which they were said, the picked ones as picked."""
    units = [{**unit._asdict(), "cluster_id": label} for unit, label in zip(found, labels, strict=True)]
    sizes = Counter(labels)
    return {
        "method": method,
        "num_extracted_sentences": len(units),
        "extracted_sentences": units,
        "num_clusters": len(sizes.keys() - {-1}),
        "cluster_sizes": {str(label): sizes[label] for label in sorted(sizes)},
        "representative_sentences": [units[index] for index in candidates],
        "selected_sentences": [units[index] for index in picked],
    }
