"""The store of results, its locks, and what calls cost; and what a plugin that opens databases implements."""

from convrag.api.databases import ConversationStore, Database, Entries, Rows, Statements, Transactions
from convrag.store.database import StoreUnusable, compute_checksum, is_damaged, switch_to_wal
from convrag.store.files import describe_disk_error
from convrag.store.locks import ForkAware, get_locks
from convrag.store.remember import answer_again
from convrag.store.store import BATCH, FILE, get_store
from convrag.store.usage import UsageMeter, add_usage, current_meter
