"""`rewriter=condense`: follow-ups that pass a gate are condensed by an LLM, and checked for drift."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Interval

from convrag import LLM, Embedder, PromptTemplate, Query, Question, Retriever, Rewrite, Rewriter, Turn, operational
from convrag.sdk.llm_rewriter import LLMRewriter
from convrag.sdk.sentences import truncate_text
from convrag_condense.gate import find_part_stems, find_reasons, read_vectors, replace_drifted_rewrite

log = logging.getLogger(__name__)


class CondenseRewriter(Rewriter):
    """Let a gate decide which follow-ups need the LLM, condense those, and guard against invented rewrites.

    The record says for each turn what the gate decided and why: `first_turn`; `pronoun`, `ellipsis`, `comparison`,
    `short` or `standalone`; `always` or `never`; `wordless`, `continues` or `new_topic`. The user's own words are
    searched for where the gate lets a question through, where the LLM or its reply fails, and where the guard rejects
    the rewrite. A rewrite depends on its question and the history alone.

    Args:
        llm: the language model that condenses; it also counts the tokens of the history.
        embedder: compares the question with the history, for gate=embedding only.
        retriever: the run's own, for speculate=true only.
        gate: heuristic condenses on pronouns, ellipsis, comparison, and short questions (the seed's); embedding on a
            question that continues what was said, or has no content words; always condenses every follow-up, never
            none.
        short: words below which a question is short, for gate=heuristic (8: the seed's); 0 condenses no question for
            its length.
        similarity: the least cosine between the question and an earlier question or answer at which it continues
            that, for gate=embedding; depends on the embedder (.3: what the targeted rewriters of MTRAG select by).
        guard: the least share of a rewrite's content words that must stand in the question or the history; with
            fewer it has drifted to something else. 0 accepts every rewrite.
        history_tokens: of the history that the LLM is shown, in its own tokens, newest exchange first.
        speculate: search for the question as it is while the LLM condenses it: where that search is the turn's after
            all, it costs no time; where not, it was made for nothing.
        passages: how many the search ahead looks for; only with the run's top_k can its result serve.
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question` and `history` (a
            list of `user` and `assistant`, oldest first).
        temperature: low, since condensing leaves little to choose (.2: the seed's); None leaves it to the llm.
        max_tokens: the longest reply, in tokens (150: the seed's); None leaves it to the llm.
        top_p: share of the likeliest tokens to draw from (.9: the seed's); None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    libraries = ("numpy",)

    def __init__(
        self,
        *,
        llm: LLM,
        embedder: Embedder,
        retriever: Retriever,
        gate: Literal["heuristic", "always", "never", "embedding"] = "heuristic",
        short: int = 8,
        similarity: Annotated[float, Interval(ge=-1, le=1)] = 0.3,
        guard: Annotated[float, Interval(ge=0, le=1)] = 0.5,
        history_tokens: Annotated[int, Ge(1)] = 1500,
        speculate: Annotated[bool, operational] = False,
        passages: Annotated[int, Ge(1), operational] = 10,
        prompt: Path | None = None,
        temperature: float | None = 0.2,
        max_tokens: int | None = 150,
        top_p: float | None = 0.9,
    ) -> None:
        self.llm = llm
        self.embedder = embedder
        self.retriever = retriever
        self.gate = gate
        self.short = short
        self.similarity = similarity
        self.guard = guard
        self.history_tokens = history_tokens
        self.speculate = speculate
        self.passages = passages
        template = PromptTemplate("rewrite", package="convrag_condense", path=prompt)
        self.llm_rewriter = LLMRewriter(llm, template, temperature=temperature, max_tokens=max_tokens, top_p=top_p)
        self.prompt_templates = (template,)

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """The embedder for its gate, the retriever to search ahead, and the llm."""
        needed = {"embedder": parameters["gate"] == "embedding", "retriever": parameters["speculate"]}
        return bool(needed.get(name, True))

    def rewrite(self, question: Question) -> Rewrite:
        """At most one call of the LLM; none where the gate finds that the question stands alone."""
        needed, why = self._decide(question)
        trace: dict[str, Any] = {"gate": self.gate, "condense": needed, "reasons": why}
        if not needed:
            log.info("turn %s: standalone question (%s), searched for as it is", question.turn_id, ", ".join(why))
            return Rewrite.of(question.text, **trace)
        log.info("turn %s: detected follow-up question (%s), condensing", question.turn_id, ", ".join(why))
        if self.speculate:
            start_search(self.retriever, question, self.passages)
            trace["searched_ahead"] = True
        rewrite = replace_drifted_rewrite(self._condense(question, trace), question, self.guard)
        standalone, failed = rewrite.text, f" (fallback: {rewrite.fallback})" if rewrite.fallback else ""
        log.info(
            "turn %s: query condensation\n  Original: %s\n  Standalone: %s%s",
            *(question.turn_id, question.text, standalone, failed),
        )
        return rewrite

    def _decide(self, question: Question) -> tuple[bool, list[str]]:
        """Whether to condense, and the reason codes."""
        if not question.history:
            return bool(question.profile), ["profile" if question.profile else "first_turn"]
        if self.gate == "embedding":
            return self._compare_embeddings(question)
        if self.gate != "heuristic":
            return self.gate == "always", [self.gate]
        reasons = find_reasons(question.text, self.short)
        return bool(reasons), reasons or ["standalone"]

    def _compare_embeddings(self, question: Question) -> tuple[bool, list[str]]:
        """Condense a question that is similar to an earlier text, and one that has no content words."""
        if not find_part_stems(question.text):
            return True, ["wordless"]
        vector = self.embedder.embed([question.text], query=True)[0]
        rows = read_vectors(question.history, question.state(self), self.embedder)
        near = rows is not None and float((rows @ vector).max()) >= self.similarity
        return near, ["continues" if near else "new_topic"]

    def _condense(self, question: Question, trace: dict[str, Any]) -> Rewrite:
        history = select_newest_exchanges(question.history, self.history_tokens, self.llm.count_tokens)
        return self.llm_rewriter.rewrite(question, trace | {"exchanges": len(history)}, history=history)


def start_search(retriever: Retriever, question: Question, k: int) -> None:
    """Start to retrieve passages for the question's own words in a thread, and return at once.

    The store remembers what is found. Where the turn then searches for the same words and k, it takes the result from
    there, or waits for it; otherwise only the index has been loaded by then. A failure is logged and no more: where the
    turn makes the same search, it fails again, and the record says so.

    Args:
        retriever: the run's own.
        question: as the user asked it.
        k: the number of passages.
    """
    queries = (Query(question.text, turn_id=question.turn_id, domain=question.domain),)

    def search() -> None:
        try:
            retriever.retrieve(queries, k)
        except Exception:
            log.info("turn %s: the search ahead failed", question.turn_id, exc_info=True)

    threading.Thread(target=search, name="search-ahead", daemon=True).start()


def select_newest_exchanges(
    turns: Sequence[Turn], max_tokens: int, count_tokens: Callable[[str], int]
) -> list[dict[str, str]]:
    """The newest exchanges that fit, oldest first, as a prompt's `history`; an answer that is too long is truncated.

    The newest question is always among them, since most references point to it.

    Args:
        turns: the history, oldest first.
        max_tokens: for all questions and answers together.
        count_tokens: counts the tokens of a text.

    Returns:
        For each exchange its question as `user` and its answer as `assistant`.
    """
    exchanges: list[dict[str, str]] = []
    remaining = max_tokens
    for turn in reversed(turns):
        remaining -= count_tokens(turn.question)
        if remaining <= 0 and exchanges:
            break
        answer = truncate_text(turn.answer, max(remaining, 0), count_tokens)
        exchanges.append({"user": turn.question, "assistant": answer})
        remaining -= count_tokens(turn.answer)
        if remaining <= 0:
            break
    return exchanges[::-1]
