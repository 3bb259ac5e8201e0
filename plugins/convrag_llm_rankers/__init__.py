"""Language models that rank passages and see the conversation.

* `pointwise`: one text at a time.
* `listwise`: a list at once.
* `conversation_ranker`: the base of both.
* `reply_forms`: the form of a reply with a grade.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rankers."""
    register(
        "ranker",
        "llm",
        "convrag_llm_rankers.pointwise:LLMRanker",
        "Ask a language model about each passage: does it help to answer the last question?",
    )
    register(
        "ranker",
        "llm_listwise",
        "convrag_llm_rankers.listwise:ListwiseRanker",
        "Let a language model order passages side by side, a window at a time.",
    )
