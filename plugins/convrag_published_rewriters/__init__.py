"""Rewriters of papers, under the names that people search for: LLM4CS, HyDE, CHIQ, best of n."""

from convrag import Register, hookimpl

_LLM4CS = "convrag_published_rewriters.llm4cs:LLM4CSRewriter"


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rewriters."""
    register("rewriter", "llm4cs", _LLM4CS)
    register("rewriter", "llm4cs_rewrites", _LLM4CS, prompting="rewrite")
    register("rewriter", "chiq", "convrag_published_rewriters.chiq:CHIQRewriter")
    register("rewriter", "hyde", _LLM4CS, prompting="rewrite_then_response", n=8, max_tokens=512)
    register("rewriter", "best_of_n", "convrag_published_rewriters.best_of_n:BestOfNRewriter")
