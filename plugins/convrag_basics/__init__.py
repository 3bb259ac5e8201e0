"""The simplest options: the whole history, the first passages, in full or as snippets, one prompt,
or nothing.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("memory", "all", "convrag_basics.once:WholeHistory")
    register("search", "once", "convrag_basics.once:OnceSearch")
    register("selector", "top", "convrag_basics.contexts:TopSelector")
    register("context", "full", "convrag_basics.contexts:FullContext")
    register("context", "snippets", "convrag_basics.contexts:SnippetContext")
    register("generator", "direct", "convrag_basics.direct:DirectGenerator")
    register("generator", "none", "convrag_basics.none:NoGenerator")
    register("ranker", "none", "convrag_basics.none:NoRanker")
    register("clusterer", "none", "convrag_basics.none:NoClusterer")
    register("tracker", "none", "convrag_basics.none:NoTracker")
