"""`memory=summary`: a running summary of the older turns, and the newest as they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge

from convrag import LLM, LLMError, MemoryView, PromptTemplate, Question, Turn
from convrag.sdk.llm.sampling import MaxTokens, Temperature
from convrag_memory.reports import ReportingMemory
from convrag_memory.running_summary import (
    AskingModel,
    ExtractingSentences,
    RunningSummary,
    SummarySoFar,
)
from convrag_memory.turn_tokens import TurnTokens

QUESTION = "What was said before this?"
"""The question of the turn that is the summary: stop words, which do not change a search."""


@dataclass(kw_only=True, eq=False)
class SummaryMemory(ReportingMemory):
    """Show the later stages a running summary of the older turns, and the newest turns as they are.

    Turns are summarised in blocks, once each: a new summary is written from the one before and the
    turns of a block (recursive summarising, Wang et al. 2023, arXiv 2308.15022; with the newest
    turns kept as in LangChain's summary buffer). So the summary after n turns depends on these
    turns alone, and after a restart the store has all replies. A language model writes them;
    without one they are the sentences of the answers that say most (Luhn 1958).

    The summary is one turn of the history. Where the model fails, the turns that it should have
    summarised are seen as they are, the record says so, and the next turn tries again.

    Args:
        llm: the language model that summarises; it also counts tokens.
        recent: the fewest newest turns that are seen as they are (4: as many exchanges as
            rewriter=weighted_history and blend read).
        block: how many turns are summarised at once: from `recent` to `recent + block - 1` turns
            are seen as they are.
        words: that the summary may have (200: about as many as two of MTRAG's answers).
        method: auto asks the llm if it is a language model, and extracts sentences otherwise; llm
            and extractive decide it.
        prompt: a Jinja file to use instead of this package's summary.jinja; it is given `summary`
            (of the turns before, maybe empty), `history` (the turns to add, a list of `user` and
            `assistant`) and `words`.
        temperature: 0 gives the likeliest summary; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    libraries = ("PyStemmer",)

    llm: LLM
    recent: Annotated[int, Ge(1)] = 4
    block: Annotated[int, Ge(1)] = 4
    words: Annotated[int, Ge(1)] = 200
    method: Literal["auto", "llm", "extractive"] = "auto"
    prompt: Path | None = None
    temperature: Temperature | None = 0.0
    max_tokens: MaxTokens | None = 500

    def __post_init__(self) -> None:
        self.asks_model = self.method == "llm" or (self.method == "auto" and self.llm.tasks is None)
        template = PromptTemplate("summary", package="convrag_memory", path=self.prompt)
        sampling = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        model = AskingModel(self.llm, template, sampling, self.words)
        self.summarising = model if self.asks_model else ExtractingSentences(self.words)
        self.prompt_templates = (template,) if self.asks_model else ()

    def check(self) -> Iterable[str]:
        """Say that memory.method=llm needs a language model."""
        if self.method == "llm" and self.llm.tasks is not None:
            yield (
                "the llm is no language model and cannot summarise: choose one "
                "(llm=litellm llm.model=...), or {place}.method=extractive"
            )

    def note(self) -> str:
        """Say which method was chosen."""
        if self.method != "auto":
            return ""
        if self.asks_model:
            return "the llm is a language model, and summarises older turns (memory.method=llm)"
        return (
            "the llm is no language model: the summary of older turns is extracted "
            "(memory.method=extractive)"
        )

    def view(self, question: Question) -> MemoryView:
        """Return the summary as a turn, and the newest turns.

        Makes at most one call of the LLM in one of `block` turns.
        """
        history = question.history
        state = question.state(self)
        if not history:
            return MemoryView(())
        summary, summarised, failure = self._summarise(history, state)
        seen = history[summarised:]
        if summarised:
            name = f"summary of {history[0].id} to {history[summarised - 1].id}"
            seen = (Turn(name, QUESTION, summary.text), *seen)
        tokens = TurnTokens(self.llm.count_tokens, state.setdefault("tokens", {}))
        trace: dict[str, Any] = {
            "turns": len(history),
            "seen": len(history) - summarised,
            "summarised": summarised,
            "tokens": tokens.sum(seen),
            "tokens_of_all": tokens.sum(history),
        }
        if summarised:
            trace["by"] = "language model" if self.asks_model else "rules"
            trace["summary"] = summary.text
        return MemoryView(seen, trace, failure)

    def _summarise(
        self, history: tuple[Turn, ...], state: dict[Any, Any]
    ) -> tuple[SummarySoFar, int, str]:
        """Summarise the older turns.

        Returns:
            The summary, the number of the turns that it stands for, and why the model could not
            summarise more of them; empty if it could.
        """
        blocks_due = max(len(history) - self.recent, 0) // self.block
        older = history[: blocks_due * self.block]
        running: RunningSummary | None = state.get("running")
        if running is None or not running.continues(older):
            running = RunningSummary(self.summarising, self.block)
            state["running"] = running
        failure = ""
        try:
            running.summarise(older)
        except LLMError as error:
            failure = (
                f"older turns are seen as they are, since they could not be summarised: {error}"
            )
        blocks = min(len(running.summaries), blocks_due)
        summary = running.summaries[blocks - 1] if blocks else SummarySoFar("")
        summarised = blocks * self.block if summary.text else 0  # turns without words have none
        return summary, summarised, failure
