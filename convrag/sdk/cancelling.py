"""Long work that can be cancelled, and lets others compute while it waits."""

from convrag.store.cancellation import Cancellation as Cancellation
from convrag.store.cancellation import Cancelled as Cancelled
from convrag.store.cancellation import ComputeSlots as ComputeSlots
from convrag.store.cancellation import check_cancelled as check_cancelled
from convrag.store.cancellation import if_abandoned as if_abandoned
from convrag.store.cancellation import sleep as sleep
from convrag.store.cancellation import waiting as waiting
from convrag.store.cancellation import when_cancelled as when_cancelled
