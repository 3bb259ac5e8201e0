"""Models that were trained to rewrite or to search in tags of their own.

* `rewriter`: `rewriter=tagged`.
* `search`: `search=tagged`.
* `tags`: pairs of tags, and what a reply has between them.
* `transcript`: the searches of a turn as the model's conversation has them.

Each format is a YAML file: conf/rewriter/convsearch_r1.yaml; conf/search/search_r1.yaml,
r1_searcher.yaml, search_o1.yaml.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rewriter and the search."""
    register(
        "rewriter",
        "tagged",
        "convrag_tagged.rewriter:TaggedRewriter",
        "Ask a model that thinks, and then writes its rewrite in tags (ConvSearch-R1, or any LLM).",
    )
    register(
        "search",
        "tagged",
        "convrag_tagged.search:TaggedSearch",
        "Let a model search in tags while it thinks (Search-R1, R1-Searcher, Search-o1, any LLM).",
    )
