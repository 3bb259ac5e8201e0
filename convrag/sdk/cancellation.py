"""Long work that can be cancelled, and lets others compute while it waits."""

from convrag.concurrency.cancellation import (
    Cancellation as Cancellation,
    Cancelled as Cancelled,
    ComputeSlots as ComputeSlots,
    check_cancelled as check_cancelled,
    if_abandoned as if_abandoned,
    sleep as sleep,
    waiting as waiting,
    when_cancelled as when_cancelled,
)
