"""Several searches in a turn, or none.

* `needed`: `search=never_needed`.
* `parts`: `search=decompose`.
* `steps`: `search=iterative` and `search=agent`.
* `replies`: the replies of models that are asked what to search for.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the ways to search."""
    register(
        "search",
        "never_needed",
        "convrag_search.needed:NeverNeededSearch",
        'Leave out needless searches ("Thanks!", "Make it shorter.") where an LLM finds them so.',
    )
    register(
        "search",
        "decompose",
        "convrag_search.parts:DecomposeSearch",
        'Search for each part of a question: "How tall is it, and who built it?" has two parts.',
    )
    register(
        "search",
        "iterative",
        "convrag_search.steps:IterativeSearch",
        "Search, have the LLM read the passages, and search for what is missing, up to a limit.",
    )
    register(
        "search",
        "agent",
        "convrag_search.steps:AgentSearch",
        "Let the model search: it calls a search tool by function calling, until it calls none.",
    )
