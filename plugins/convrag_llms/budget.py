"""A limit on what a stage spends: a request reserves the most it can cost until its real cost is known."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from convrag.sdk.errors import RunStopped


class Reservation:
    """What one request may cost at most, and once it is known, what it did cost (US dollars)."""

    def __init__(self, max_cost: float) -> None:
        self.max_cost = max_cost
        self.cost = 0.0

    def settle(self, cost: float | None) -> None:
        """Set the real cost; None, for a cost that is not known, counts as the most it can have been."""
        self.cost = self.max_cost if cost is None else cost


class Budget:
    """Keeps what requests cost below a limit, however many are in flight.

    Args:
        limit: US dollars; None is no limit.
        model: named in the error message.
    """

    def __init__(self, limit: float | None, model: str) -> None:
        self.limit = limit
        self.model = model
        self.spent = 0.0
        self._reservations: list[Reservation] = []
        self._changed = threading.Condition()

    @contextmanager
    def reserve(self, max_cost: float) -> Iterator[Reservation]:
        """Reserve the most that a request can cost while it is in flight; then count what it was settled at.

        A request that would fit but for the reservations of others waits for these to be settled.

        Args:
            max_cost: US dollars.

        Raises:
            RunStopped: what is left of the budget is less than max_cost.
        """
        reservation = Reservation(max_cost)
        with self._changed:
            self._changed.wait_for(lambda: self._fits_beside_reserved(max_cost) or not self._fits(max_cost))
            if not self._fits(max_cost):
                raise RunStopped(
                    f"llm.max_cost_usd={self.limit:g} is nearly spent: {self.model} has cost ${self.spent:.4f}, and "
                    f"the next request could cost ${max_cost:.4f}. Give it more, and the same command goes on from "
                    "here."
                )
            self._reservations.append(reservation)
        try:
            yield reservation
        finally:
            with self._changed:
                self._reservations.remove(reservation)
                self.spent += reservation.cost
                self._changed.notify_all()

    def _fits_beside_reserved(self, max_cost: float) -> bool:
        return self._fits(max_cost + sum(reservation.max_cost for reservation in self._reservations))

    def _fits(self, max_cost: float) -> bool:
        return self.limit is None or self.spent + max_cost <= self.limit
