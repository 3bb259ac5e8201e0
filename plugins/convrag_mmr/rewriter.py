"""`rewriter=mmr`: extract sentences, cluster them, select some of them, rewrite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Interval

from convrag import (
    LLM,
    Clusterer,
    Embedder,
    PromptTemplate,
    Query,
    Question,
    Rewrite,
    Rewriter,
    use,
)
from convrag.sdk.llm.rewriter import LLMRewriter
from convrag.sdk.llm.sampling import MaxTokens, Temperature
from convrag.sdk.search.vectors import cluster_texts, embed_new, separate_outliers
from convrag_mmr.history_sentences import (
    Sentence,
    extract_sentences,
    group_by_turn,
    list_utterances,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_QUESTION_WORDS = frozenset(["how", "what", "when", "where", "which", "who", "whose", "why"])
"""First words of a text that gets a question mark, the published system's (English)."""

_END_MARKS = (".", "?", "!", "…", "。", "？", "！", "؟", "।")
_CLOSING = "\"'”’»)]"

_DECIMALS = 6
"""Decimals of cosines that count; further ones are rounding errors between equally near rows."""


@dataclass(kw_only=True, eq=False)
class MMRRewriter(Rewriter):
    """Ask the LLM for a standalone question, given diverse sentences of the history (MMR).

    The history's sentences are clustered into topics. The sentences nearest to each topic's
    centroid are candidates. Of these, maximal marginal relevance selects those that are similar to
    the question and not to each other. The LLM sees them in the order of the conversation,
    together with the complete last exchange. The first question is not rewritten. Where the LLM
    fails, or its reply is not a question, the question is used as it is, and the record says why.
    rewriter=mmr_published has the seed's values where these defaults differ.

    Args:
        llm: the language model that rewrites.
        embedder: embeds the question, and each sentence of the history once.
        clusterer: finds the topics; an outlier is a topic of its own.
        num_sentences: sentences that are selected (5: the seed; its best runs had 10).
        representatives: candidates of each topic (3: the seed).
        last_exchange: show the LLM the complete last exchange too, since most pronouns refer to it;
            False shows the selected sentences alone (the seed).
        question_weight: weight of the question as it was asked, which is searched for next to the
            rewrite. Default: as much as the rewrite's, since rewriting helps 21.5 % of MTRAG's
            queries and hurts 17.8 %. 0: the rewrite alone (the seed).
        lambda_: weight of relevance against diversity, 0 to 1 (0.7: the seed, in whose runs it made
            little difference).
        post_process: format the rewrite as the seed does: single spaces, a capital, and at the end
            a question mark after who, what, when, where, why, how, which and whose, else a period.
        min_words: the fewest words of a sentence of an answer, in any script (3: the seed's code).
            What the user said is one unit, whatever its length.
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question`,
            `context` (a list of `turn`, `speaker`, `text`), `history` (the same as a list of
            `turn`, `user`, `assistant`) and `question_weight`.
        temperature: of the rewrite (0.5: the seed's code); 0 gives the likeliest, None leaves it to
            the llm.
        max_tokens: the longest reply, in tokens (200: the seed's code); None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is not a template.
    """

    libraries = ("numpy",)

    llm: LLM
    embedder: Embedder
    clusterer: Clusterer = use("kmeans")
    num_sentences: Annotated[int, Ge(1)] = 5
    representatives: Annotated[int, Ge(1)] = 3
    last_exchange: bool = True
    question_weight: Annotated[float, Ge(0)] = 1.0
    lambda_: Annotated[float, Interval(ge=0, le=1)] = 0.7
    post_process: bool = False
    min_words: Annotated[int, Ge(0)] = 3
    prompt: Path | None = None
    temperature: Temperature | None = 0.5
    max_tokens: MaxTokens | None = 200

    def __post_init__(self) -> None:
        template = PromptTemplate("rewrite", package="convrag_mmr", path=self.prompt)
        self.llm_rewriter = LLMRewriter(
            self.llm, template, temperature=self.temperature, max_tokens=self.max_tokens
        )
        self.prompt_templates = (template,)

    def rewrite(self, question: Question) -> Rewrite:
        """Ask the LLM, except in a first turn and where the history has no sentences."""
        found = extract_sentences(question.history, self.min_words)
        if not found:
            return Rewrite.of(
                question.text, **_make_trace(_why_no_sentences(question), [], [], [], [])
            )
        embedder = CachingEmbedder(self.embedder, question.state(self))
        labels, candidates, selected = self._select(
            question.text, [each.sentence for each in found], embedder
        )
        trace = _make_trace(
            "llm", _number_as_in_conversation(found, question), labels, candidates, selected
        )
        sentences = [found[index] for index in sorted(selected)]
        history = group_by_turn(sentences, question.history, last_exchange=self.last_exchange)
        inputs = {
            "history": history,
            "context": list_utterances(history),
            "question_weight": self.question_weight,
        }
        return self._add_question(self.llm_rewriter.rewrite(question, trace, **inputs), question)

    def _select(
        self, question: str, texts: list[str], embedder: Embedder
    ) -> tuple[list[int], list[int], list[int]]:
        """Return each text's cluster, the representatives, and the selected texts, best first.

        Texts are given by their positions.
        """
        from convrag.sdk.search.diversity import compute_similarities, select_by_mmr

        labels = cluster_texts(self.clusterer, texts, embedder)
        rows = embedder.embed(texts)
        candidates = select_representatives(rows, labels, self.representatives)
        query = embedder.embed([question], query=True)[0]
        relevance = compute_similarities(rows[candidates], query)
        selected = candidates[
            select_by_mmr(relevance, rows[candidates], self.num_sentences, self.lambda_)
        ]
        return labels, candidates.tolist(), selected.tolist()

    def _add_question(self, rewrite: Rewrite, question: Question) -> Rewrite:
        """Add the question to the LLM's rewrite, which is post-processed if asked for.

        Where the two are equal, one is enough.
        """
        if rewrite.fallback:
            return rewrite
        text = format_question(rewrite.text) if self.post_process else rewrite.text
        queries = [Query(text)]
        is_same = text.split() == question.text.split()
        if self.question_weight and not is_same:
            queries.append(Query(question.text, self.question_weight))
        return replace(rewrite, queries=tuple(queries))


class CachingEmbedder(Embedder):
    """Embeds new texts only; the vectors of others come from a conversation's memory.

    It has the fingerprint of the embedder, so that the store finds a clustering made with either.

    Args:
        embedder: embeds new texts.
        vectors: text -> vector of the texts embedded so far; new ones are added.
    """

    def __init__(self, embedder: Embedder, vectors: dict[str, Any]) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self.fingerprint = embedder.fingerprint

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Embed texts, (n, d) float32; queries are embedded each time."""
        if query or not texts:
            return self.embedder.embed(texts, query=query)
        return embed_new(self.embedder, texts, self.vectors)


def select_representatives(
    rows: NDArray[np.float32], labels: Sequence[int], most: int
) -> NDArray[np.int64]:
    """Find the rows of each cluster that are nearest to its centroid: positions in rising order.

    Args:
        rows: (n, d) unit or zero rows.
        labels: (n,) clusters; an outlier (-1) is a cluster of its own.
        most: the most rows of each cluster. Of rows that are equally near, the earlier ones are
            taken.
    """
    import numpy as np

    n = len(rows)
    if not n:
        return np.zeros(0, dtype=np.int64)
    groups = np.array(separate_outliers(labels))
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sizes = np.diff(starts, append=n)
    exact = rows[order].astype(np.float64)
    centroids = np.add.reduceat(exact, starts) / sizes[:, None]
    lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
    centroids /= np.where(lengths > 0, lengths, 1)
    nearness = (exact * np.repeat(centroids, sizes, axis=0)).sum(axis=1).round(_DECIMALS)
    cluster = np.repeat(np.arange(len(starts)), sizes)
    nearest = np.lexsort((order, -nearness, cluster))
    rank = np.arange(n) - np.repeat(starts, sizes)
    return np.sort(order[nearest[rank < most]])


def format_question(text: str) -> str:
    """Format a text as a question: single spaces, a capital at the beginning, and an end mark.

    The mark is "?" where the first word is one of the published question words, and "." elsewhere.
    A text that has an end mark keeps it, also before closing quotes and brackets.
    """
    text = " ".join(text.split()).rstrip(",;:-– ")
    if text and not text.rstrip(_CLOSING).endswith(_END_MARKS):
        first_word = text.partition(" ")[0].lower().replace("’", "'").removesuffix("'s")
        text += "?" if first_word in _QUESTION_WORDS else "."
    return text[:1].upper() + text[1:]


def _why_no_sentences(question: Question) -> str:
    """Say why there are no sentences to select from."""
    if question.number == 1:
        return "first_turn"
    return "no_sentences" if question.history else "no_history"


def _number_as_in_conversation(found: Sequence[Sentence], question: Question) -> Sequence[Sentence]:
    """Number the turns of sentences as in the whole conversation; 0 for a memory's own turn."""
    if question.before_memory is None:
        return found
    numbers = {turn.id: number for number, turn in enumerate(question.before_memory, 1)}
    seen = [numbers.get(turn.id, 0) for turn in question.history]
    return [each._replace(turn=seen[each.turn - 1]) for each in found]


def _make_trace(
    method: str,
    found: Sequence[Sentence],
    labels: Sequence[int],
    candidates: Sequence[int],
    selected: Sequence[int],
) -> dict[str, Any]:
    """Make the seed's intermediate record.

    Sentences are in the conversation's order, selected ones in the order of their selection.
    """
    units = [
        {**unit._asdict(), "cluster_id": label} for unit, label in zip(found, labels, strict=True)
    ]
    sizes = Counter(labels)
    return {
        "method": method,
        "num_extracted_sentences": len(units),
        "extracted_sentences": units,
        "num_clusters": len(sizes.keys() - {-1}),
        "cluster_sizes": {str(label): sizes[label] for label in sorted(sizes)},
        "representative_sentences": [units[index] for index in candidates],
        "selected_sentences": [units[index] for index in selected],
    }
