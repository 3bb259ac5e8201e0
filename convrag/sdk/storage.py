"""The store of results, its locks, the cost of calls, and the interface of opened databases."""

from convrag.api.databases import (
    ConversationStore as ConversationStore,
    Database as Database,
    Entries as Entries,
    Rows as Rows,
    Statements as Statements,
    Transactions as Transactions,
)
from convrag.concurrency.locks import ForkAware as ForkAware, get_locks as get_locks
from convrag.store.database import (
    StoreUnusable as StoreUnusable,
    compute_checksum as compute_checksum,
    is_damaged as is_damaged,
    switch_to_wal as switch_to_wal,
)
from convrag.store.files import (
    DiskError as DiskError,
    describe_disk_error as describe_disk_error,
)
from convrag.store.remember import answer_again as answer_again
from convrag.store.store import BATCH as BATCH, FILE as FILE, get_store as get_store
from convrag.store.usage_meter import (
    UsageMeter as UsageMeter,
    add_usage as add_usage,
    current_meter as current_meter,
)
