"""`rewriter=condense`: an LLM condenses the follow-ups that a gate chooses."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Interval

from convrag import LLM, PromptTemplate, Question, Retriever, Rewrite, Rewriter, Turn, operational
from convrag.sdk.llm.rewriter import LLMRewriter
from convrag.sdk.llm.sampling import MaxTokens, Temperature, TopP
from convrag.sdk.text.sentences import truncate_text
from convrag_condense.gate import find_reasons, replace_drifted_rewrite
from convrag_condense.search_ahead import start_search

log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class CondenseRewriter(Rewriter):
    """Condense the follow-ups that a gate finds dependent, and reject rewrites that have drifted.

    The record says for each turn what the gate decided and why: `first_turn`; `pronoun`,
    `ellipsis`, `comparison`, `short` or `standalone`; `always` or `never`. The user's own words are
    searched for where the gate lets a question through, where the LLM or its reply fails, and where
    the guard rejects the rewrite. A rewrite depends on its question and the history alone.

    Args:
        llm: the language model that condenses and counts the tokens of the history.
        retriever: the run's retriever, for speculate=true.
        gate: heuristic condenses on pronouns, ellipsis, comparison, and short questions (the
            seed's); always condenses every follow-up, never none.
        short: words below which a question is short, for gate=heuristic (8: the seed's); 0
            condenses no question for its length.
        guard: the least share of a rewrite's content words that the question or the history must
            have; with less it has drifted to something else. 0 accepts every rewrite.
        history_tokens: the most tokens of the history that the LLM sees, newest exchange first.
        speculate: search for the question in the user's own words while the LLM condenses it. If
            the question proves to stand alone (the LLM leaves it as it is, fails, or has its
            rewrite rejected), the search has cost no time; otherwise, it was made for nothing. A
            question that the gate lets through is not condensed, so its only search begins at once.
        wording: plain is this package's rewrite.jinja; published has the words that the seed's
            description quotes (rewrite_published.jinja).
        prompt: a Jinja file to use instead of these; it is given `question` and `history` (a list
            of `user` and `assistant`, oldest first).
        temperature: low, since condensing leaves little to choose (.2: the seed's); None leaves it
            to the llm.
        max_tokens: the longest reply, in tokens (150: the seed's); None leaves it to the llm.
        top_p: share of the likeliest tokens to draw from (.9: the seed's); None leaves it to the
            llm.

    Raises:
        DataError: the prompt's file is missing or is not a template.
    """

    llm: LLM
    retriever: Retriever
    gate: Literal["heuristic", "always", "never"] = "heuristic"
    short: Annotated[int, Ge(0)] = 8
    guard: Annotated[float, Interval(ge=0, le=1)] = 0.5
    history_tokens: Annotated[int, Ge(1)] = 1500
    speculate: Annotated[bool, operational] = False
    wording: Literal["plain", "published"] = "plain"
    prompt: Path | None = None
    temperature: Temperature | None = 0.2
    max_tokens: MaxTokens | None = 150
    top_p: TopP | None = 0.9

    def __post_init__(self) -> None:
        name = "rewrite_published" if self.wording == "published" else "rewrite"
        template = PromptTemplate(
            "rewrite", package="convrag_condense", path=self.prompt, name=name
        )
        self.llm_rewriter = LLMRewriter(
            self.llm,
            template,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            top_p=self.top_p,
        )
        self.prompt_templates = (template,)

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """Use the retriever to search ahead only."""
        return name != "retriever" or bool(parameters["speculate"])

    def rewrite(self, question: Question) -> Rewrite:
        """Call the LLM once, unless the gate finds that the question stands alone."""
        needed, reasons = self.decide(question)
        trace: dict[str, Any] = {"gate": self.gate, "condense": needed, "reasons": reasons}
        why = ", ".join(reasons)
        turn = question.turn_id
        if not needed:
            log.info("turn %s: standalone question (%s), searched for as it is", turn, why)
            return Rewrite.of(question.text, **trace)
        log.info("turn %s: detected follow-up question (%s), condensing", turn, why)
        if self.speculate and question.top_k:
            start_search(self.retriever, question)
            trace["searched_ahead"] = True
        return self.condense(question, trace)

    def condense(self, question: Question, trace: Mapping[str, Any]) -> Rewrite:
        """Condense a question with its history, whatever the gate says of it.

        Args:
            question: the question with its history.
            trace: the entries of the rewrite's trace so far.
        """
        rewrite = replace_drifted_rewrite(self._ask(question, trace), question, self.guard)
        note = f" (fallback: {rewrite.fallback})" if rewrite.fallback else ""
        log.info(
            "turn %s: query condensation\n  Original: %s\n  Standalone: %s%s",
            question.turn_id,
            question.text,
            rewrite.text,
            note,
        )
        return rewrite

    def decide(self, question: Question) -> tuple[bool, list[str]]:
        """Decide whether to condense a question, and give the reason codes."""
        if not question.history:
            return bool(question.profile), ["profile" if question.profile else "first_turn"]
        if self.gate != "heuristic":
            return self.gate == "always", [self.gate]
        reasons = find_reasons(question.text, self.short)
        return bool(reasons), reasons or ["standalone"]

    def _ask(self, question: Question, trace: Mapping[str, Any]) -> Rewrite:
        history = select_newest_exchanges(
            question.history, self.history_tokens, self.llm.count_tokens
        )
        return self.llm_rewriter.rewrite(
            question, {**trace, "exchanges": len(history)}, history=history
        )


def select_newest_exchanges(
    turns: Sequence[Turn], max_tokens: int, count_tokens: Callable[[str], int]
) -> list[dict[str, str]]:
    """Select the newest exchanges that fit, oldest first, as a prompt's `history`.

    An answer that is too long is truncated. The newest question is always among them, since most
    references point to it.

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
