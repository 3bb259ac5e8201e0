"""Baseline rewriters: what papers compare their rewriters with.

Without a model: concatenation (`none`, `all_questions`, `last_n`), blend and weighted_history. With an LLM:
full_history and threshold. `auto`, the default, is full_history with a model; without one, the rules together.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("rewriter", "none", "convrag_baselines.rules:NoRewriter")
    register("rewriter", "all_questions", "convrag_baselines.rules:AllQuestionsRewriter")
    register("rewriter", "last_n", "convrag_baselines.rules:LastNRewriter")
    register("rewriter", "blend", "convrag_baselines.rules:BlendRewriter")
    register("rewriter", "full_history", "convrag_baselines.prompting:FullHistoryRewriter")
    register("rewriter", "weighted_history", "convrag_baselines.rules:WeightedHistoryRewriter")
    register("rewriter", "auto", "convrag_baselines.prompting:AutoRewriter")
    register("rewriter", "threshold", "convrag_baselines.prompting:ThresholdRewriter")
