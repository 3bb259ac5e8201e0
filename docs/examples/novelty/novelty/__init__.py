"""`metrics=novelty`: how much of an answer the conversation has not heard before."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the metric."""
    register(
        "metrics",
        "novelty",
        "novelty.metric:NoveltyMetrics",
        "Measure how much of each answer is new in its conversation: answer_novelty, from 0 to 1.",
    )
