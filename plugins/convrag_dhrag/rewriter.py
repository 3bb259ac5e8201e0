"""`rewriter=dhrag`: select exchanges of the history, then rewrite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Interval

from convrag import (
    LLM,
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
from convrag.sdk.llm.history import continue_reading
from convrag.sdk.llm.rewriter import LLMRewriter, clean_reply, format_exchanges
from convrag.sdk.llm.sampling import MaxTokens, Temperature

if TYPE_CHECKING:
    from convrag_dhrag.database import HistoryDatabase


_MAX_TOKENS = 60  # the prompt asks for twenty words; there is room for long ones
_MAX_CHARACTERS = 300  # of a topic line; a longer reply is not used


@dataclass(kw_only=True, eq=False)
class DHRagRewriter(Rewriter):
    """Ask the LLM for a standalone question, given the exchanges that match by cluster or chain.

    Dynamic historical RAG. Each earlier turn is a triple of query, passage and response. Triples
    are clustered by TF-IDF over all three, anew at each turn. The question is matched with a
    cluster, with a summary in it (a group of triples and the one that represents it), and with a
    triple there. A turn continues the chain of turns whose last turn is similar to it; other turns
    may lie between. An exchange scores alpha x relevance (cosine of embeddings, 0 to 1) + (1 -
    alpha) x recency (oldest 0, newest 1) + bonuses. The LLM sees the exchange that the question is
    matched with, and those with the best scores, in the conversation's order. The first question is
    not rewritten. Source: the seed dh_rag.md, after DH-RAG, arXiv 2502.13847; defaults are the
    seed's, except that the seed (dhrag_published) selects by score alone.

    Args:
        llm: the language model that rewrites.
        embedder: embeds each exchange and each question, once.
        alpha: weight of relevance against recency, 0 to 1; 1 asks for relevance alone.
        top_k: the most exchanges that are shown.
        last_exchange: keep the last exchange, whatever its score. Of the best 3 it is one in 96 %
            of follow-ups or more; where the question returns to an earlier topic, it is noise
            (docs/benchmarks.md has the figures).
        matched_exchange: keep the exchange that the question is matched with, whatever its score:
            in a long conversation it would lose to recent ones, since recency weighs more than the
            bonuses. False selects by score alone.
        max_clusters: the most clusters; there are about as many as the square root of the number of
            triples.
        min_triples: the fewest triples that are clustered; with fewer, a question matches a triple
            directly.
        summaries: into how many groups a cluster is divided, each with a representative; with 1,
            whatever gets the cluster's bonus gets the summary's too.
        chain_threshold: the least cosine, above 0, of a turn with the last turn of a chain that it
            continues.
        cluster_bonus: for exchanges in the matched cluster.
        summary_bonus: for those in the matched summary.
        chain_bonus: for those in the chain that the question continues.
        update: "all" keeps every triple; "paper" keeps `capacity` of them: when one more comes, it
            drops the one with the least alpha x relevance to the new one + (1 - alpha) x recency.
        capacity: of the database with update=paper, in triples (the authors' code).
        words: of which clusters are made: "auto" has stems in any language
            (`convrag.sdk.text.analysis`); "plain" English words as they stand, without
            scikit-learn's stop words (rewriter=dhrag_published).
        summarize: whether the LLM says in one line what the matched summary is about, which the
            prompt then shows; one more call for each question with a match.
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question`,
            `history` (a list of `user` and `assistant`, oldest first) and `topic` (the summary's
            line, or nothing).
        temperature: 0 gives the likeliest rewrite; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    libraries = ("numpy", "PyStemmer", "scikit-learn", "scipy", "threadpoolctl")

    llm: LLM
    embedder: Embedder
    alpha: Annotated[float, Interval(ge=0, le=1)] = 0.6
    top_k: Annotated[int, Ge(1)] = 3
    last_exchange: bool = False
    matched_exchange: bool = True
    max_clusters: Annotated[int, Ge(1)] = 5
    min_triples: Annotated[int, Ge(1)] = 5
    summaries: Annotated[int, Ge(1)] = 2
    chain_threshold: Annotated[float, Interval(gt=0, le=1)] = 0.4
    cluster_bonus: Annotated[float, Ge(0)] = 0.1
    summary_bonus: Annotated[float, Ge(0)] = 0.05
    chain_bonus: Annotated[float, Ge(0)] = 0.05
    update: Literal["all", "paper"] = "all"
    capacity: Annotated[int, Ge(1)] = 100
    words: Literal["auto", "plain"] = "auto"
    summarize: bool = False
    prompt: Path | None = None
    temperature: Temperature | None = 0.0
    max_tokens: MaxTokens | None = 200

    def __post_init__(self) -> None:
        self.topic_template = (
            PromptTemplate("topic", package="convrag_dhrag") if self.summarize else None
        )
        template = PromptTemplate("rewrite", package="convrag_dhrag", path=self.prompt)
        self.llm_rewriter = LLMRewriter(
            self.llm, template, temperature=self.temperature, max_tokens=self.max_tokens
        )
        self.prompt_templates = (
            (template, self.topic_template) if self.topic_template else (template,)
        )

    def load_libraries(self) -> None:
        """Import scikit-learn, in one thread."""
        import_module("convrag_dhrag.selection")

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """Report chain statistics and selected turns; None for other rewriters.

        The report has the file analysis/dhrag.jsonl.
        """
        return report_history(records)

    def rewrite(self, question: Question) -> Rewrite:
        """Ask the LLM, and embed each new text once; neither for a first turn."""
        if not question.history:
            return Rewrite.of(
                question.text,
                system="dhrag",
                available=0,
                selected=[],
                reasons=[],
                chain=0,
                chains=[0],
            )
        from convrag_dhrag.selection import TierSizes, Weights, select_exchanges

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
        trace = selection.make_trace()
        topic = ""
        turns = selection.list_summary_turns()
        if self.topic_template and turns:
            topic, entries = self._summarize(self.topic_template, turns)
            trace |= entries
        return self.llm_rewriter.rewrite(
            question, trace, history=format_exchanges(selection.turns), topic=topic
        )

    def _summarize(
        self, template: PromptTemplate, turns: Sequence[Turn]
    ) -> tuple[str, dict[str, Any]]:
        """Ask the LLM what turns are about: a line, maybe empty, and its entries in the trace."""
        sampling = {"temperature": 0.0, "max_tokens": _MAX_TOKENS}
        try:
            reply = self.llm_rewriter.llm.complete(
                template.render(sampling, history=format_exchanges(turns))
            ).text
        except LLMError as error:
            return "", {"topic": "", "topic_missing": str(error)}
        line = clean_reply(reply)
        if not line or len(line) > _MAX_CHARACTERS:
            return "", {
                "topic": "",
                "topic_missing": f"the reply is no line: {reply[:_MAX_CHARACTERS]!r}",
            }
        return line, {"topic": line}

    def _update_database(self, question: Question) -> HistoryDatabase:
        """Return the conversation's database with all turns until now.

        It is built again where the history has changed.
        """
        from convrag_dhrag.database import HistoryDatabase

        state = question.state(self)
        capacity = self.capacity if self.update == "paper" else None
        make = partial(
            HistoryDatabase,
            self.embedder,
            self.chain_threshold,
            capacity,
            self.alpha,
            state.setdefault("vectors", {}),
            self.words,
        )
        return continue_reading(state, question.history, make)


PAPER = {
    "chains": 373,
    "mean_length": 1.73,
    "per_cent": {"1-2": 32, "2-3": 40, "3-4": 21, "4-5": 6},
}
"""The paper's chain statistics. Its lengths are in steps, which it does not define."""

LONGEST_CLASS = 4
"""Chains of four turns and more are one class, so that there are as many classes as in the paper.
"""


def report_history(records: Iterable[TurnRecord]) -> Report | None:
    """Report chain statistics and selected turns, with a file; None for other rewriters."""
    chains: dict[str, list[int]] = {}
    available, selected, lines = [], [], []
    for record in records:
        trace = record.trace.get("rewriter", {})
        if trace.get("system") != "dhrag":
            continue
        complete = len(trace["chains"]) == record.number  # it is not with history=none
        chains[record.conversation_id] = trace["chains"] if complete else []
        if trace["available"]:
            available.append(trace["available"])
            selected.append(len(trace["selected"]))
        lines.append(json.dumps(_make_analysis_line(record, trace), ensure_ascii=False))
    if not lines:
        return None
    numbers = _compute_numbers(chains.values(), available, selected)
    return Report(
        "dhrag", _write_lines(numbers), numbers, {"analysis/dhrag.jsonl": "\n".join(lines)}
    )


def _make_analysis_line(record: TurnRecord, trace: Mapping[str, Any]) -> dict[str, Any]:
    """Make a line of analysis/dhrag.jsonl."""
    return {
        "turn_id": record.turn_id,
        "conversation_id": record.conversation_id,
        "question": record.original_query,
        "rewrite": record.rewritten_query,
        "fallback": record.fallbacks.get("rewriter", ""),
        **{
            key: trace.get(key)
            for key in ("available", "selected", "reasons", "match", "topic", "chain")
        },
    }


def _compute_numbers(
    conversations: Iterable[list[int]], available: list[int], selected: list[int]
) -> dict[str, Any]:
    lengths = [length for chains in conversations for length in Counter(chains).values()]
    classes = Counter(min(length, LONGEST_CLASS) for length in lengths)
    names = {
        **{length: str(length) for length in range(1, LONGEST_CLASS)},
        LONGEST_CLASS: f"{LONGEST_CLASS}+",
    }
    return {
        "chains": len(lengths),
        "mean_length": _mean(lengths),
        "per_cent": {
            name: round(100 * classes[length] / max(len(lengths), 1), 1)
            for length, name in names.items()
        },
        "paper": PAPER,
        "follow_ups": len(available),
        "mean_available": _mean(available),
        "mean_selected": _mean(selected),
    }


def _write_lines(numbers: Mapping[str, Any]) -> tuple[str, ...]:
    lines = []
    if numbers["chains"]:
        shares = ", ".join(f"{name}: {share:.0f} %" for name, share in numbers["per_cent"].items())
        in_paper = ", ".join(f"{name}: {share} %" for name, share in PAPER["per_cent"].items())  # type: ignore[attr-defined]
        lines.append(
            f"dhrag: {numbers['chains']} chains of {numbers['mean_length']:.2f} turns on average, "
            f"by length {shares} (the paper: {PAPER['mean_length']} steps, {in_paper})."
        )
    if numbers["follow_ups"]:
        lines.append(
            f"dhrag: {numbers['mean_selected']:.2f} of {numbers['mean_available']:.2f} earlier "
            "turns were selected on average; analysis/dhrag.jsonl says why."
        )
    return tuple(lines)


def _mean(values: list[int]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0
