"""Rewriters that belong to none of the five systems: baselines, query expansion, and papers.

* `auto`: the default: a language model's rewrite, or words of earlier turns.
* `baselines`: the question alone, or with earlier questions.
* `blend`, `weighted_history`, `utterances`: earlier utterances with small weights.
* `full_history`, `threshold`: a language model writes a question that stands alone.
* `multi_query`, `readings`: several queries for one question; RAG-Fusion.
* `themes`: words of the conversation's themes.
* `resolve`, `references`: a model replaces references ("it") by what they name.
* `llm4cs`, `chiq`, `best_of_n`: rewriters of papers, under their published names.
* `reply_forms`, `parallel_requests`: what several of these share.
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
    register("rewriter", "blend", "convrag_rewriters.blend:BlendRewriter")
    register(
        "rewriter", "weighted_history", "convrag_rewriters.weighted_history:WeightedHistoryRewriter"
    )
    register("rewriter", "full_history", "convrag_rewriters.full_history:FullHistoryRewriter")
    register("rewriter", "threshold", "convrag_rewriters.threshold:ThresholdRewriter")
    register("rewriter", "auto", "convrag_rewriters.auto:AutoRewriter")
    register("rewriter", "multi_query", _MULTI_QUERY)
    register("rewriter", "rag_fusion", _MULTI_QUERY, kind="aspects", n=5)
    register("rewriter", "themes", "convrag_rewriters.themes:ThemesRewriter")
    register("rewriter", "resolve", "convrag_rewriters.resolve:ResolveRewriter")
    register("rewriter", "llm4cs", _LLM4CS)
    register("rewriter", "llm4cs_rewrites", _LLM4CS, prompting="rewrite")
    register("rewriter", "hyde", _LLM4CS, prompting="rewrite_then_response", n=8, max_tokens=512)
    register("rewriter", "chiq", "convrag_rewriters.chiq:CHIQRewriter")
    register("rewriter", "best_of_n", "convrag_rewriters.best_of_n:BestOfNRewriter")
