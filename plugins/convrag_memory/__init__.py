"""Memories: recent, relevant, summarised or fading parts of a conversation.

* `recent`: `memory=recent`: the newest turns.
* `relevant`: `memory=relevant`: the turns that resemble the question.
* `summary`: `memory=summary`: a running summary of older turns, and the newest as they are.
* `running_summary`: the running summary: blocks of turns, each summarised once.
* `forgetting`: `memory=forgetting`: a budget of tokens for the newest and the most used turns.
* `reports`: the report of a memory: how much of the history the later stages saw.
* `turn_tokens`: the number of tokens of turns.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options; memory=all, the default, stands in convrag_basics."""
    register(
        "memory",
        "recent",
        "convrag_memory.recent:RecentMemory",
        "Show the later stages the newest turns only.",
    )
    register(
        "memory",
        "relevant",
        "convrag_memory.relevant:RelevantMemory",
        "Show the later stages the turns that resemble the question, and the last ones.",
    )
    register(
        "memory",
        "summary",
        "convrag_memory.summary:SummaryMemory",
        "Show the later stages a running summary of the older turns, and the newest turns"
        " as they are.",
    )
    register(
        "memory",
        "forgetting",
        "convrag_memory.forgetting:ForgettingMemory",
        "Show the later stages the turns of the greatest weights that fit into a budget of tokens.",
    )
