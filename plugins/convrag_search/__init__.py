"""More than one search in a turn, or none: unneeded ones left out, parts of a question, steps that
read and ask again.

* `needed`: `search=never_needed`.
* `parts`: `search=decompose`.
* `steps`: `search=iterative` and `search=agent`.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the ways to search."""
    register(
        "search",
        "never_needed",
        "convrag_search.needed:NeverNeededSearch",
        'Leave out searches that nobody needs: "Thanks!", "Make it shorter." The answer '
        "rests on what the last one cited.",
    )
    register(
        "search",
        "decompose",
        "convrag_search.parts:DecomposeSearch",
        'Search for each part of a question by itself: "How tall is it, and who built '
        'it?" is two searches.',
    )
    register(
        "search",
        "iterative",
        "convrag_search.steps:IterativeSearch",
        "Search for what the rewriter says, read, and search for what is missing, until "
        "it is there or a limit is reached.",
    )
    register(
        "search",
        "agent",
        "convrag_search.steps:AgentSearch",
        "Let the model search: it calls a search tool by the server's function calling, "
        "until it calls none.",
    )
