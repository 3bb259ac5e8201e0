"""What a talk with a language model costs, for the start of tasks that talk with people."""

from convrag.turn.wiring import Wiring

_COSTS = {
    "direct": "one call for a question; generator=ginger writes from nuggets, in about eight",
    "chat": "one call for a question, with the whole conversation; generator=direct sends less",
    "ginger": "about eight calls for a question; generator=direct answers in one",
}
"""Generator -> what it costs, and what another would."""


def describe_answering(wiring: Wiring) -> str:
    """Say which generator answers, and why one would choose it; empty without a language model."""
    if "generator" not in wiring.stages or wiring.get("llm").tasks is not None:
        return ""
    choice = wiring.describe_choice("generator")
    cost = _COSTS.get(choice.partition("=")[2])
    return f"{choice} answers: {cost}." if cost else ""
