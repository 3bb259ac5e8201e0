"""The simplest options: the whole history, the first passages, in full or as snippets, one prompt,
or nothing.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("memory", "all", "convrag_basics.stages:WholeHistory")
    register("search", "once", "convrag_basics.stages:OnceSearch")
    register("selector", "top", "convrag_basics.contexts:TopSelector")
    register("context", "full", "convrag_basics.contexts:FullContext")
    register("context", "snippets", "convrag_basics.contexts:SnippetContext")
    register("generator", "direct", "convrag_basics.stages:DirectGenerator")
    register("generator", "none", "convrag_basics.stages:NoGenerator")
    register("ranker", "none", "convrag_basics.stages:NoRanker")
    register("clusterer", "none", "convrag_basics.stages:NoClusterer")
    register("tracker", "none", "convrag_basics.stages:NoTracker")
