"""Late interaction over any embedder: `ranker=maxsim`, `ranker=maxsim_words`, and as rerankers."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the rankers."""
    register("ranker", "maxsim", "maxsim.ranker:MaxSimRanker")
    register("ranker", "maxsim_words", "maxsim.ranker:WordRanker")
