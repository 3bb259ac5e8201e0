"""The store of results, its locks, and what calls cost; and what a plugin that opens databases implements."""

from convrag.api.databases import ConversationStore as ConversationStore
from convrag.api.databases import Database as Database
from convrag.api.databases import Entries as Entries
from convrag.api.databases import Rows as Rows
from convrag.api.databases import Statements as Statements
from convrag.api.databases import Transactions as Transactions
from convrag.store.database import StoreUnusable as StoreUnusable
from convrag.store.database import compute_checksum as compute_checksum
from convrag.store.database import is_damaged as is_damaged
from convrag.store.database import switch_to_wal as switch_to_wal
from convrag.store.files import describe_disk_error as describe_disk_error
from convrag.store.locks import ForkAware as ForkAware
from convrag.store.locks import get_locks as get_locks
from convrag.store.remember import answer_again as answer_again
from convrag.store.store import BATCH as BATCH
from convrag.store.store import FILE as FILE
from convrag.store.store import get_store as get_store
from convrag.store.usage import UsageMeter as UsageMeter
from convrag.store.usage import add_usage as add_usage
from convrag.store.usage import current_meter as current_meter
