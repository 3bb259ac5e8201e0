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
    register("search", "never_needed", "convrag_search.needed:NeverNeededSearch")
    register("search", "decompose", "convrag_search.parts:DecomposeSearch")
    register("search", "iterative", "convrag_search.steps:IterativeSearch")
    register("search", "agent", "convrag_search.steps:AgentSearch")
