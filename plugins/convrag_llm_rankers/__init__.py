"""Language models that rank passages and see the conversation: one text at a time, or a list at
once.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rankers."""
    register(
        "ranker",
        "llm",
        "convrag_llm_rankers.pointwise:LLMRanker",
        "Ask a language model about each passage: does it help to answer the last "
        "question of the conversation?",
    )
    register(
        "ranker",
        "llm_listwise",
        "convrag_llm_rankers.listwise:ListwiseRanker",
        "Let a language model put passages in order, a window at a time: it sees them "
        "side by side, with the conversation.",
    )
