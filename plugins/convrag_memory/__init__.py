"""What of a conversation the later stages see: recent, relevant, summarised, or what is not
forgotten yet.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options; memory=all, the default, stands in convrag_basics."""
    register("memory", "recent", "convrag_memory.recent:RecentMemory")
    register("memory", "relevant", "convrag_memory.relevant:RelevantMemory")
    register("memory", "summary", "convrag_memory.summary:SummaryMemory")
    register("memory", "forgetting", "convrag_memory.forgetting:ForgettingMemory")
