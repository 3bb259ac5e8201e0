"""Long work that can be cancelled, and lets others compute while it waits."""

from convrag.concurrency.cancellation import (
    Cancellation as Cancellation,
    Cancelled as Cancelled,
    check_cancelled as check_cancelled,
    cleanup_at_exit as cleanup_at_exit,
    hold as hold,
    sleep as sleep,
    when_cancelled as when_cancelled,
)
from convrag.concurrency.slots import ComputeSlots as ComputeSlots, release_slot as release_slot
