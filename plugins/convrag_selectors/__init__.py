"""Which of the passages found the model sees, and how many: not alike, for several aspects, as many as needed."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the selectors."""
    register("selector", "mmr", "convrag_selectors.mmr:MMRSelector")
    register("selector", "xquad", "convrag_selectors.xquad:XQuADSelector")
    register("selector", "dynamic", "convrag_selectors.dynamic:DynamicSelector")
    register("selector", "budget", "convrag_selectors.budget:BudgetSelector")
