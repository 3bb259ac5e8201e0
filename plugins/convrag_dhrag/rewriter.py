"""rewriter=dhrag."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from convrag import LLM, ConfigError, Embedder, PromptTemplate, Question, Rewrite, Rewriter
from convrag.sdk.llm_rewriter import LLMRewriter, format_exchanges
from convrag_dhrag.topic_summary import TopicLine

if TYPE_CHECKING:
    from convrag_dhrag.database import Database


class DHRagRewriter(Rewriter):
    """Ask the LLM for a stand-alone question, showing it what of the history matches: by cluster, summary and chain.

    Dynamic historical RAG. Each earlier turn is a triple of query, passage and response. Triples are clustered by
    TF-IDF over all three; the question is matched with a cluster, a summary in it (a group of triples and the one that
    represents it) and a triple there, all found anew as the conversation grows. A turn continues the chain of turns
    whose last link resembles it, also after others. An exchange scores alpha x relevance (cosine of embeddings, 0 to
    1) + (1 - alpha) x recency (oldest 0, newest 1) + bonuses. The last exchange is always shown, since most pronouns
    point there, then the matched triple, then what scores best; in the order in which they were held. The first turn
    is searched for as it is. Source: the seed dh_rag.md, after DH-RAG, arXiv 2502.13847; defaults are the seed's.

    Args:
        llm: the language model that rewrites.
        embedder: embeds each exchange and each question, once.
        alpha: weight of relevance against recency, 0 to 1; 1 asks for relevance alone.
        top_k: the most exchanges that are shown, the last one and the matched one among them.
        max_clusters: the most clusters; there are about as many as the square root of the number of triples.
        min_triples: from so many triples on there are clusters; of fewer, a question matches a triple directly.
        summaries: into how many groups a cluster divides, each with a representative; 1 makes the summary's bonus go
            wherever the cluster's goes.
        chain_threshold: the least cosine, above 0, of a turn with the last link of a chain that it continues.
        cluster_bonus: for exchanges in the matched cluster.
        summary_bonus: for those in the matched summary.
        chain_bonus: for those in the chain that the question continues.
        update: "all" keeps every triple; "paper" keeps `capacity`, and when one more comes lets the one go that weighs
            least in alpha x relevance to what came + (1 - alpha) x recency.
        capacity: of the database with update=paper, in triples (the authors' code).
        summarize: let the LLM say in one line what the matched summary is about, and show that line in the prompt; one
            more call for each turn that matches.
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question`, `history` (a list
            of `user` and `assistant`, oldest first) and `topic` (the summary's line, or nothing).
        temperature: 0 gives the likeliest rewrite; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        ConfigError: a parameter makes no sense.
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        embedder: Embedder,
        alpha: float = 0.6,
        top_k: int = 3,
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
        _at_least_one(
            top_k=top_k, max_clusters=max_clusters, min_triples=min_triples, summaries=summaries, capacity=capacity
        )
        if not 0 <= alpha <= 1:
            raise ConfigError(f"rewriter.alpha={alpha}: a share lies between 0 and 1")
        if not 0 < chain_threshold <= 1:
            raise ConfigError(f"rewriter.chain_threshold={chain_threshold}: a cosine above 0, and at most 1")
        self.embedder = embedder
        self.alpha = alpha
        self.top_k = top_k
        self.max_clusters = max_clusters
        self.min_triples = min_triples
        self.summaries = summaries
        self.chain_threshold = chain_threshold
        self.cluster_bonus = cluster_bonus
        self.summary_bonus = summary_bonus
        self.chain_bonus = chain_bonus
        self.capacity = capacity if update == "paper" else None
        self.topic_line = TopicLine(llm) if summarize else None
        template = PromptTemplate("rewrite", package="convrag_dhrag", path=prompt)
        self.asker = LLMRewriter(llm, template, temperature=temperature, max_tokens=max_tokens)

    def content_hash(self) -> str:
        """The wording of the prompts."""
        return self.asker.template.hash + (self.topic_line.template.hash if self.topic_line else "")

    def rewrite(self, question: Question) -> Rewrite:
        """Embeddings for what was not embedded before, and one call of the LLM; neither for a first turn."""
        if not question.history:
            return Rewrite.of(question.text, system="dhrag", available=0, selected=[], reasons=[], chain=0, chains=[0])
        from convrag_dhrag.hierarchical_matching import Tiers
        from convrag_dhrag.scoring import Weights
        from convrag_dhrag.selection import select

        selection = select(
            question.text,
            self.embedder.embed([question.text], query=True)[0],
            self._database(question),
            top_k=self.top_k,
            weights=Weights(self.alpha, self.cluster_bonus, self.summary_bonus, self.chain_bonus),
            tiers=Tiers(self.max_clusters, self.min_triples, self.summaries),
        )
        trace, topic = selection.trace(), ""
        if self.topic_line and (turns := selection.summary()):
            topic, said = self.topic_line.of(turns)
            trace |= said
        return self.asker.rewrite(question, trace, history=format_exchanges(selection.turns), topic=topic)

    def _database(self, question: Question) -> Database:
        """The triples of the conversation until now; what is there from earlier turns is added to."""
        from convrag_dhrag.database import Bounds, Database

        memory = question.state(self)
        database: Database | None = memory.get("database")
        if database is None or not database.follow(question.history):
            bounds = None if self.capacity is None else Bounds(self.capacity, self.alpha)
            database = Database(self.embedder, self.chain_threshold, bounds)
            database.follow(question.history)
            memory["database"] = database
        return database


def _at_least_one(**parameters: int) -> None:
    for name, value in parameters.items():
        if value < 1:
            raise ConfigError(f"rewriter.{name}={value}: it must be at least 1")
