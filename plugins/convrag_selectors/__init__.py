"""Which of the passages found the model sees, and how many: not alike, as many as needed."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the selectors."""
    register("selector", "mmr", "convrag_selectors.selectors:MMRSelector")
    register("selector", "dynamic", "convrag_selectors.selectors:DynamicSelector")
    register("selector", "budget", "convrag_selectors.selectors:BudgetSelector")
