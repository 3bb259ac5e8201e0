"""The simplest options: the whole history, the first passages, in full or as snippets, one prompt,
or nothing.

* `once`: `memory=all` and `search=once`: the whole history, and one search.
* `contexts`: `selector=top`, `context=full` and `context=snippets`.
* `direct`: `generator=direct`: one prompt with the conversation, the passages and the question.
* `none`: the options `none`, which do nothing.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register(
        "memory",
        "all",
        "convrag_basics.once:WholeHistory",
        "Let the other stages see the whole history unchanged.",
    )
    register(
        "search",
        "once",
        "convrag_basics.once:OnceSearch",
        "Search once, for the queries of the rewriter.",
    )
    register(
        "selector",
        "top",
        "convrag_basics.contexts:TopSelector",
        "Choose the first passages of the ranking, as many as top_n says.",
    )
    register(
        "context",
        "full",
        "convrag_basics.contexts:FullContext",
        "Show the model every retrieved passage in full.",
    )
    register(
        "context",
        "snippets",
        "convrag_basics.contexts:SnippetContext",
        "Show the model the sentences of each passage that have most words of the question.",
    )
    register(
        "generator",
        "direct",
        "convrag_basics.direct:DirectGenerator",
        "Give the LLM the conversation, numbered passages and the question; check its citations.",
    )
    register(
        "generator",
        "none",
        "convrag_basics.none:NoGenerator",
        "Generate no answer: for experiments that end with retrieval.",
    )
    register("ranker", "none", "convrag_basics.none:NoRanker", "Keep the order: all scores are 0.")
    register(
        "clusterer",
        "none",
        "convrag_basics.none:NoClusterer",
        "Put each text into a cluster of its own.",
    )
    register(
        "tracker",
        "none",
        "convrag_basics.none:NoTracker",
        "Track no runs: only the files that each run writes are kept.",
    )
