"""`rewriter=auto`: an LLM rewrites where there is one, and rules do elsewhere."""

from __future__ import annotations

from dataclasses import replace

from convrag import LLM, Question, Rewrite, Rewriter
from convrag.registry.parameters import use


class AutoRewriter(Rewriter):
    """Rewrite with rewriter=full_history if the run's llm is a language model, else with rewriter=weighted_history.

    So `llm=gpt4` alone has GPT-4 rewrite, and a run without a model has the best that rules can do. A stage that works
    by rules says so itself (`LLM.tasks`). The run's summary says which of the two was used, and the record of each turn
    does (`by`).

    Args:
        llm: decides which rewriter is used, and rewrites if it is a language model.
        prompting: the rewriter for a language model, with its parameters: `rewriter.prompting=mmr`.
        weighing: the rewriter without one: `rewriter.weighing.weight=.3`.
    """

    def __init__(
        self, *, llm: LLM, prompting: Rewriter = use("full_history"), weighing: Rewriter = use("weighted_history")
    ) -> None:
        self.uses_model = llm.tasks is None
        self.rewriter = prompting if self.uses_model else weighing

    def rewrite(self, question: Question) -> Rewrite:
        """What the chosen rewriter makes of it."""
        rewrite = self.rewriter.rewrite(question)
        return replace(rewrite, trace={"by": "language model" if self.uses_model else "rules", **rewrite.trace})

    def note(self) -> str:
        """Which rewriter was chosen."""
        if self.uses_model:
            return "the llm is a language model, and rewrites the questions (rewriter=full_history)"
        return "the llm is no language model: questions are rewritten by rules (rewriter=weighted_history)"
