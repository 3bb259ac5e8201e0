"""Selects the passages that the model sees: diverse ones, or as many as needed."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the selectors."""
    register(
        "selector",
        "mmr",
        "convrag_selectors.selectors:MMRSelector",
        "Select passages that are relevant and not alike, by maximal marginal relevance (MMR).",
    )
    register(
        "selector",
        "dynamic",
        "convrag_selectors.selectors:DynamicSelector",
        "Select as many passages as the question needs, by their scores and the facets they add.",
    )
    register(
        "selector",
        "budget",
        "convrag_selectors.selectors:BudgetSelector",
        "Select the set of passages with the greatest sum of scores within a number of tokens.",
    )
