"""Language models that rank passages and see the conversation: one text at a time, or a list at
once.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rankers."""
    register("ranker", "llm", "convrag_llm_rankers.pointwise:LLMRanker")
    register("ranker", "llm_listwise", "convrag_llm_rankers.listwise:ListwiseRanker")
