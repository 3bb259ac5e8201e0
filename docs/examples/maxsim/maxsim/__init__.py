"""`ranker=maxsim` and `ranker=maxsim_words`, both for `reranker=` too: late interaction over any
embedder.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the rankers."""
    register("ranker", "maxsim", "maxsim.ranker:MaxSimRanker")
    register("ranker", "maxsim_words", "maxsim.ranker:WordRanker")
