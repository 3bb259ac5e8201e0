"""A limit on money: what is on its way counts as spent at its dearest until its real cost is known."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from convrag import RunStopped


class Bill:
    """What one request costs, once known."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.cost = 0.0

    def settle(self, cost: float | None) -> None:
        """Say what it cost; None, where nobody knows, is the most that it can have been."""
        self.cost = self.most if cost is None else cost


class Purse:
    """Spends up to a limit, however many requests are on their way.

    Args:
        limit: US dollars; None is no limit.
        model: for the message.
    """

    def __init__(self, limit: float | None, model: str) -> None:
        self.limit = limit
        self.model = model
        self.spent = 0.0
        self._open: list[Bill] = []
        self._changed = threading.Condition()

    @contextmanager
    def bill(self, most: float) -> Iterator[Bill]:
        """Set aside the most that a request can cost; waits for bills on their way where it would fit without them.

        Raises RunStopped where it does not fit.
        """
        bill = Bill(most)
        with self._changed:
            self._changed.wait_for(lambda: self._fits(most) or not self._would_fit(most))
            if not self._would_fit(most):
                raise RunStopped(
                    f"llm.max_cost_usd={self.limit:g} is nearly spent: {self.model} has cost ${self.spent:.4f}, and "
                    f"the next request could cost ${most:.4f}. Give it more, and the same command goes on from here."
                )
            self._open.append(bill)
        try:
            yield bill
        finally:
            with self._changed:
                self._open.remove(bill)
                self.spent += bill.cost
                self._changed.notify_all()

    def _fits(self, most: float) -> bool:
        return self._would_fit(most + sum(bill.most for bill in self._open))

    def _would_fit(self, most: float) -> bool:
        return self.limit is None or self.spent + most <= self.limit
