"""The simplest stages: the whole history, and one prompt; and the options `none`, which do nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from convrag import (
    LLM,
    Answer,
    Clusterer,
    Dataset,
    Embedder,
    Evidence,
    Generator,
    Memory,
    MemoryView,
    PromptTemplate,
    Question,
    Ranker,
    Report,
    Run,
    RunSummary,
    Search,
    SearchStep,
    Store,
    Tracker,
    hookimpl,
)
from convrag.sdk.llm.prompts import add_profile
from convrag.sdk.llm.verdicts import add_form, ask_model
from convrag.sdk.text.answerability import Asking, Decider, DecidingGenerator
from convrag.sdk.text.citations import check_citations
from convrag.sdk.text.sentences import remove_citations
from convrag.sdk.types import Sweep

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class WholeHistory(Memory):
    """Let the other stages see the whole history, as it was said."""

    def view(self, question: Question) -> MemoryView:
        """All turns before this one."""
        return MemoryView(question.history)


class OnceSearch(Search):
    """Search once, for what the rewriter says."""

    several = False

    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        """One step."""
        return SearchStep(() if steps else question.queries)


class DirectGenerator(DecidingGenerator):
    """Give the LLM the conversation, the numbered passages and the question, and check what it cites.

    Earlier answers stand in the prompt without their citations, since the numbers name other
    passages now. Without evidence the prompt says that no passage was found; it mentions the user's
    profile where there is one. The trace counts the citations that were removed because no passage
    has their number (`citations_removed`).

    Args:
        llm: the language model that answers.
        max_tokens: the longest answer, in tokens; None leaves it to the llm.
        temperature: 0 gives the likeliest answer, higher values more varied ones; None leaves it to
            the llm.
        dataset: its corpus tells rare words of a question from common ones.
        store: keeps the document frequencies.
        refuse: when the passages count as no answer, if no language model speaks (one decides in
            its reply): never, rarely, balanced, often, or what `confidence` must exceed, 0 to 1
            (docs/rewriters.md).
        ask: when the user is asked which is meant: "auto" where the question refers to something
            that nothing before names and several documents have, or where the model says so;
            "always" also where by all signals it is unclear.
        prompt: a Jinja file to use instead of this package's answer.jinja; it is given `question`,
            `history` (a list of `user` and `assistant`, oldest first) and `evidence` (a list of
            `number`, `text`, `title` and `hint`, which says whether the text is a hint at an
            earlier message).

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    streams = True

    def __init__(
        self,
        *,
        llm: LLM,
        dataset: Dataset | None = None,
        store: Store | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        prompt: Path | None = None,
        refuse: str = "balanced",
        ask: Asking = "never",
    ) -> None:
        self.llm = llm
        self.decider = Decider(
            llm, dataset, store, refuse, ask, in_reply=prompt is None or ask != "never"
        )
        self.sampling = {"max_tokens": max_tokens, "temperature": temperature}
        self.template = PromptTemplate("answer", package="convrag_basics", path=prompt)
        self.prompt_templates = (self.template,)

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """One call of the LLM, two where it says nothing. Raises LLMError."""
        decision = self.decider.decide(question, evidence)
        if decision.reply:
            return decision.make_answer()
        prompt = self.template.render(
            self.sampling,
            question=question.text,
            standalone=question.standalone,
            least=0.0,
            history=[
                {"user": turn.question, "assistant": remove_citations(turn.answer)}
                for turn in question.history
            ],
            evidence=[
                {
                    "number": item.number,
                    "text": item.text,
                    "title": item.passage.title,
                    "hint": item.hint,
                }
                for item in evidence.items
            ],
        )
        prompt = add_profile(add_form(prompt, decision), question.profile)
        decision, completion = ask_model(
            self.llm, prompt, decision, [item.passage for item in evidence.items]
        )
        checked = check_citations(
            decision.reply, {item.number: item.passage.id for item in evidence.items}
        )
        trace = {
            "prompt": self.template.hash,
            "model": completion.model,
            "citations_removed": checked.removed,
        }
        trace |= {"outcome": decision.outcome, "decision": decision.trace()} | (
            {"fallback": decision.fallback} if decision.fallback else {}
        )
        return Answer(
            " ".join(filter(None, (checked.text, decision.unfound))), checked.citations, trace
        )


_NOT_LOGGED = "Not logged to MLflow (tracker=none). The same command without tracker=none logs"


class NoGenerator(Generator):
    """Generate no answer: for experiments that end with retrieval."""

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """An empty answer; its trace says so, since metrics leave it out."""
        return Answer("", trace={"outcome": "no generator"})


class NoRanker(Ranker):
    """Keep the order: all scores are 0."""

    libraries = ("numpy",)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Zeros, shape (texts,)."""
        import numpy as np

        return np.zeros(len(texts), dtype=np.float64)


class NoClusterer(Clusterer):
    """Put each text into a cluster of its own."""

    libraries = ("numpy",)
    uses_embedder = False

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """The labels 0 to n - 1 for n texts."""
        import numpy as np

        return np.arange(len(texts), dtype=np.int64)


class NoTracker(Tracker):
    """Track no runs: only the files that each run writes are kept."""

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> str | None:
        """Say that the run is not logged, and how to log it."""
        return None if run.sweep else f"{_NOT_LOGGED} the run, from what is remembered."

    @hookimpl
    def convrag_sweep_finished(self, sweep: Sweep, reports: list[Report]) -> str:
        """Say that the grid is not logged, and how to log it."""
        return f"{_NOT_LOGGED} the grid, and runs no finished cell again."
