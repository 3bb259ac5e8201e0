"""Long work that can be cancelled, and lets others compute while it waits."""

from convrag.store.cancellation import (
    Cancellation,
    Cancelled,
    ComputeSlots,
    check_cancelled,
    if_abandoned,
    sleep,
    waiting,
    when_cancelled,
)
