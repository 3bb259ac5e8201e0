"""Late interaction over any embedder: `ranker=maxsim`, `ranker=maxsim_words`, and as rerankers."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the rankers."""
    register(
        "ranker",
        "maxsim",
        "maxsim.ranker:MaxSimRanker",
        "Compare texts token by token, with the vectors that a transformer gives tokens in "
        "their context (MaxSim).",
    )
    register(
        "ranker",
        "maxsim_words",
        "maxsim.ranker:WordRanker",
        "Compare texts word by word, with the vector that any embedder has for a word alone "
        "(MaxSim).",
    )
