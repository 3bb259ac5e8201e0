"""The order in which passages are shown."""

from collections.abc import Sequence
from typing import Literal, TypeVar

T = TypeVar("T")

Order = Literal["retrieval", "stable", "ends"]
"""Best first; passages of earlier turns first; or the best at both ends (see `arrange_items`)."""


def arrange_items(items: Sequence[T], order: Order, places: Sequence[int | None]) -> list[T]:
    """Arrange items in an order.

    Args:
        items: the items, best first.
        order: `retrieval` keeps their order. `stable` puts items of earlier turns first, in their
            old order, for a provider's prefix cache. `ends` puts the second-best item last and the
            worst in the middle, which models overlook most (Liu et al., Lost in the Middle, 2024).
        places: for each item, the place at which the conversation first showed it; None for a new
            item.
    """
    if order == "ends":
        return [*items[::2], *reversed(items[1::2])]
    if order == "stable":
        old = sorted((place, index) for index, place in enumerate(places) if place is not None)
        new = [item for item, place in zip(items, places, strict=True) if place is None]
        return [*(items[index] for _, index in old), *new]
    return list(items)
