"""The simplest options: the whole history, the first passages, in full or as snippets, one prompt, or nothing."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("memory", "all", "convrag_basics.whole_history:WholeHistory")
    register("selector", "top", "convrag_basics.top_selector:TopSelector")
    register("context", "full", "convrag_basics.full_context:FullContext")
    register("context", "snippets", "convrag_basics.snippet_context:SnippetContext")
    register("generator", "direct", "convrag_basics.direct_generator:DirectGenerator")
    register("generator", "none", "convrag_basics.disabled_stages:NoGenerator")
    register("ranker", "none", "convrag_basics.disabled_stages:NoRanker")
    register("clusterer", "none", "convrag_basics.disabled_stages:NoClusterer")
    register("tracker", "none", "convrag_basics.disabled_stages:NoTracker")
