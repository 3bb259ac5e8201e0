"""`rewriter=dhrag`: select exchanges of the history, then rewrite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from convrag import (
    LLM,
    ConfigError,
    Embedder,
    LLMError,
    PromptTemplate,
    Question,
    Report,
    Rewrite,
    Rewriter,
    Turn,
    TurnRecord,
)
from convrag.sdk.llm_rewriter import LLMRewriter, clean_reply, format_exchanges
from convrag_dhrag.report import report_history

if TYPE_CHECKING:
    from convrag_dhrag.database import HistoryDatabase


_MAX_TOKENS = 60  # the prompt asks for twenty words; there is room for long ones
_MAX_CHARACTERS = 300  # of a topic line; a longer reply is not used


class TopicSummarizer:
    """Asks an LLM what exchanges are about. Where there is no usable reply, the trace says why.

    Args:
        llm: the language model.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm
        self.template = PromptTemplate("topic", package="convrag_dhrag")

    def summarize(self, turns: Sequence[Turn]) -> tuple[str, dict[str, Any]]:
        """One call of the LLM. Turns, oldest first -> the topic line, maybe empty, and its entries in the trace."""
        sampling = {"temperature": 0.0, "max_tokens": _MAX_TOKENS}
        try:
            reply = self.llm.complete(self.template.render(sampling, history=format_exchanges(turns))).text
        except LLMError as error:
            return "", {"topic": "", "topic_missing": str(error)}
        line = clean_reply(reply)
        if not line or len(line) > _MAX_CHARACTERS:
            return "", {"topic": "", "topic_missing": f"the reply is no line: {reply[:_MAX_CHARACTERS]!r}"}
        return line, {"topic": line}


class DHRagRewriter(Rewriter):
    """Ask the LLM for a standalone question, showing it matching exchanges of the history: by cluster, summary, chain.

    Dynamic historical RAG. Each earlier turn is a triple of query, passage and response. Triples are clustered by
    TF-IDF over all three, anew at each turn. The question is matched with a cluster, with a summary in it (a group of
    triples and the one that represents it), and with a triple there. A turn continues the chain of turns whose last
    turn is similar to it; other turns may lie between. An exchange scores alpha x relevance (cosine of embeddings, 0 to
    1) + (1 - alpha) x recency (oldest 0, newest 1) + bonuses. The LLM sees the exchange that the question is matched
    with, and those with the best scores, in the conversation's order. The first question is not rewritten. Source: the
    seed dh_rag.md, after DH-RAG, arXiv 2502.13847; defaults are the seed's, except that the seed (dhrag_published)
    selects by score alone.

    Args:
        llm: the language model that rewrites.
        embedder: embeds each exchange and each question, once.
        alpha: weight of relevance against recency, 0 to 1; 1 asks for relevance alone.
        top_k: the most exchanges that are shown.
        last_exchange: keep the last exchange, whatever its score. Of the best 3 it is one in 96 % of follow-ups or
            more; where the question returns to an earlier topic, it is noise (docs/benchmarks.md has the figures).
        matched_exchange: keep the exchange that the question is matched with, whatever its score: in a long
            conversation it would lose to recent ones, since recency weighs more than the bonuses. False selects by
            score alone.
        max_clusters: the most clusters; there are about as many as the square root of the number of triples.
        min_triples: the fewest triples that are clustered; with fewer, a question matches a triple directly.
        summaries: into how many groups a cluster is divided, each with a representative; with 1, whatever gets the
            cluster's bonus gets the summary's too.
        chain_threshold: the least cosine, above 0, of a turn with the last turn of a chain that it continues.
        cluster_bonus: for exchanges in the matched cluster.
        summary_bonus: for those in the matched summary.
        chain_bonus: for those in the chain that the question continues.
        update: "all" keeps every triple; "paper" keeps `capacity` of them: when one more comes, it drops the one with
            the least alpha x relevance to the new one + (1 - alpha) x recency.
        capacity: of the database with update=paper, in triples (the authors' code).
        summarize: whether the LLM says in one line what the matched summary is about, which the prompt then shows; one
            more call for each question with a match.
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question`, `history` (a list
            of `user` and `assistant`, oldest first) and `topic` (the summary's line, or nothing).
        temperature: 0 gives the likeliest rewrite; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        ConfigError: a number is out of range.
        DataError: the prompt's file is missing or is no template.
    """

    libraries = ("numpy", "scikit-learn", "scipy", "threadpoolctl")

    def __init__(
        self,
        *,
        llm: LLM,
        embedder: Embedder,
        alpha: float = 0.6,
        top_k: int = 3,
        last_exchange: bool = False,
        matched_exchange: bool = True,
        max_clusters: int = 5,
        min_triples: int = 5,
        summaries: int = 2,
        chain_threshold: float = 0.4,
        cluster_bonus: float = 0.1,
        summary_bonus: float = 0.05,
        chain_bonus: float = 0.05,
        update: Literal["all", "paper"] = "all",
        capacity: int = 100,
        summarize: bool = False,
        prompt: Path | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 200,
    ) -> None:
        _check_at_least_one(
            top_k=top_k, max_clusters=max_clusters, min_triples=min_triples, summaries=summaries, capacity=capacity
        )
        if not 0 <= alpha <= 1:
            raise ConfigError(f"rewriter.alpha={alpha}: between 0 (recency only) and 1 (relevance only)")
        if not 0 < chain_threshold <= 1:
            raise ConfigError(f"rewriter.chain_threshold={chain_threshold}: above 0, at most 1")
        self.embedder = embedder
        self.alpha = alpha
        self.top_k = top_k
        self.last_exchange = last_exchange
        self.matched_exchange = matched_exchange
        self.max_clusters = max_clusters
        self.min_triples = min_triples
        self.summaries = summaries
        self.chain_threshold = chain_threshold
        self.cluster_bonus = cluster_bonus
        self.summary_bonus = summary_bonus
        self.chain_bonus = chain_bonus
        self.capacity = capacity if update == "paper" else None
        self.topic_summarizer = TopicSummarizer(llm) if summarize else None
        template = PromptTemplate("rewrite", package="convrag_dhrag", path=prompt)
        self.llm_rewriter = LLMRewriter(llm, template, temperature=temperature, max_tokens=max_tokens)
        topic = (self.topic_summarizer.template,) if self.topic_summarizer else ()
        self.prompt_templates = (template, *topic)

    def load_libraries(self) -> None:
        """Import scikit-learn, in one thread."""
        import_module("convrag_dhrag.selection")

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """Chain statistics, selected against available turns, and analysis/dhrag.jsonl."""
        return report_history(records)

    def rewrite(self, question: Question) -> Rewrite:
        """One call of the LLM, and one embedding for each new text; nothing for a first turn."""
        if not question.history:
            return Rewrite.of(question.text, system="dhrag", available=0, selected=[], reasons=[], chain=0, chains=[0])
        from convrag_dhrag.hierarchical_matching import TierSizes
        from convrag_dhrag.selection import Weights, select_exchanges

        selection = select_exchanges(
            question.text,
            self.embedder.embed([question.text], query=True)[0],
            self._update_database(question),
            top_k=self.top_k,
            weights=Weights(self.alpha, self.cluster_bonus, self.summary_bonus, self.chain_bonus),
            sizes=TierSizes(self.max_clusters, self.min_triples, self.summaries),
            last_exchange=self.last_exchange,
            matched_exchange=self.matched_exchange,
        )
        trace, topic = selection.make_trace(), ""
        if self.topic_summarizer and (turns := selection.list_summary_turns()):
            topic, entries = self.topic_summarizer.summarize(turns)
            trace |= entries
        return self.llm_rewriter.rewrite(question, trace, history=format_exchanges(selection.turns), topic=topic)

    def _update_database(self, question: Question) -> HistoryDatabase:
        """The conversation's database with all turns until now; it is built again where the history has changed."""
        from convrag_dhrag.database import HistoryDatabase

        memory = question.state(self)
        database: HistoryDatabase | None = memory.get("database")
        if database is None or not database.add_history(question.history):
            vectors = memory.setdefault("vectors", {})
            database = HistoryDatabase(self.embedder, self.chain_threshold, self.capacity, self.alpha, vectors)
            database.add_history(question.history)
            memory["database"] = database
        return database


def _check_at_least_one(**parameters: int) -> None:
    for name, value in parameters.items():
        if value < 1:
            raise ConfigError(f"rewriter.{name}={value}: at least 1")
