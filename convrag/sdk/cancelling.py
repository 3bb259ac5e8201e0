"""Long work that can be cancelled, and lets others compute while it waits."""

from convrag.store.cancellation import Cancellation, Cancelled, check_cancelled, if_abandoned, sleep, when_cancelled
from convrag.store.compute_slots import ComputeSlots, waiting

__all__ = [
    "Cancellation",
    "Cancelled",
    "ComputeSlots",
    "check_cancelled",
    "if_abandoned",
    "sleep",
    "waiting",
    "when_cancelled",
]
