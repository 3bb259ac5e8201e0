"""Rewriters that are not one of the five systems: baselines, query expansion, and rewriters of
papers.

* `baselines`: rewriters without a model: none, all_questions, last_n, blend, weighted_history.
* `full_history`: full_history, threshold and auto, the default.
* `multi_query`, `themes`, `query_list`: several queries for one question; RAG-Fusion; theme words.
* `resolve`, `references`: a model replaces references ("it") by what they name.
* `llm4cs`, `chiq`, `best_of_n`, `samples`, `asking`: rewriters of papers, under their published
  names.
"""

from convrag import Register, hookimpl

_LLM4CS = "convrag_rewriters.llm4cs:LLM4CSRewriter"
_MULTI_QUERY = "convrag_rewriters.multi_query:MultiQueryRewriter"


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rewriters."""
    register("rewriter", "none", "convrag_rewriters.baselines:NoRewriter")
    register("rewriter", "all_questions", "convrag_rewriters.baselines:AllQuestionsRewriter")
    register("rewriter", "last_n", "convrag_rewriters.baselines:LastNRewriter")
    register("rewriter", "blend", "convrag_rewriters.baselines:BlendRewriter")
    register("rewriter", "weighted_history", "convrag_rewriters.baselines:WeightedHistoryRewriter")
    register("rewriter", "full_history", "convrag_rewriters.full_history:FullHistoryRewriter")
    register("rewriter", "threshold", "convrag_rewriters.full_history:ThresholdRewriter")
    register("rewriter", "auto", "convrag_rewriters.full_history:AutoRewriter")
    register("rewriter", "multi_query", _MULTI_QUERY)
    register("rewriter", "rag_fusion", _MULTI_QUERY, kind="aspects", n=5)
    register("rewriter", "themes", "convrag_rewriters.themes:ThemesRewriter")
    register("rewriter", "resolve", "convrag_rewriters.resolve:ResolveRewriter")
    register("rewriter", "llm4cs", _LLM4CS)
    register("rewriter", "llm4cs_rewrites", _LLM4CS, prompting="rewrite")
    register("rewriter", "hyde", _LLM4CS, prompting="rewrite_then_response", n=8, max_tokens=512)
    register("rewriter", "chiq", "convrag_rewriters.chiq:CHIQRewriter")
    register("rewriter", "best_of_n", "convrag_rewriters.best_of_n:BestOfNRewriter")
