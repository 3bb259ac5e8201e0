"""`rewriter=auto`: an LLM rewrites where there is one, and four rules together do elsewhere."""

from dataclasses import replace

from convrag import LLM, Question, Rewrite, Rewriter, use


class AutoRewriter(Rewriter):
    """Rewrite with rewriter=full_history if the run's llm is a language model, else with four rules together.

    So `llm=gpt4` alone has GPT-4 rewrite, and a run without a model has the best that rules can do: the queries of
    weighted_history, full_history, blend and mmr_words, each rule with the same weight. The four err in different ways,
    so that together they find more than each alone (docs/benchmarks.md has the figures). A stage that works by rules
    says so itself (`LLM.tasks`). The run's summary says what was used, and the record of each turn does (`by`).

    Args:
        llm: decides how to rewrite, and rewrites if it is a language model.
        prompting: the rewriter for a language model, with its parameters (`rewriter.prompting=mmr`); without one it is
            one of the four.
        weighing: another of the four: `rewriter.weighing.weight=.3`. Its first query is the rewritten question.
        blending: the third of them: `rewriter.blending.weight=.3`.
        selecting: the fourth of them: `rewriter.selecting=mmr` compares sentences by the run's embedder.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        prompting: Rewriter = use("full_history"),
        weighing: Rewriter = use("weighted_history"),
        blending: Rewriter = use("blend"),
        selecting: Rewriter = use("mmr_words"),
    ) -> None:
        self.uses_model = llm.tasks is None
        self.prompting = prompting
        self.rules = {"weighing": weighing, "prompting": prompting, "blending": blending, "selecting": selecting}

    def rewrite(self, question: Question) -> Rewrite:
        """What the model, or the rules, make of it; a question without history is searched for as it is."""
        if self.uses_model:
            rewrite = self.prompting.rewrite(question)
            return replace(rewrite, trace={"by": "language model", **rewrite.trace})
        rewrites = {name: rule.rewrite(question) for name, rule in self.rules.items()}
        distinct = list(dict.fromkeys(rewrite.queries for rewrite in rewrites.values()))
        if len(distinct) == 1:
            queries = distinct[0]
        else:
            queries = tuple(
                replace(query, weight=query.weight / len(rewrites), source=name)
                for name, rewrite in rewrites.items()
                for query in rewrite.queries
            )
        traces = {name: dict(rewrite.trace) for name, rewrite in rewrites.items() if rewrite.trace}
        reasons = dict.fromkeys(rewrite.fallback for rewrite in rewrites.values() if rewrite.fallback)
        return Rewrite(queries, {"by": "rules", **traces}, "; ".join(reasons))

    def note(self) -> str:
        """Which way was chosen."""
        if self.uses_model:
            return "the llm is a language model, and rewrites the questions (rewriter=full_history)"
        return "the llm is no language model: questions are rewritten by four rules together"
