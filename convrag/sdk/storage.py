"""The store of results, its locks, and what calls cost."""

from __future__ import annotations

from convrag.store.attempts import answer_again
from convrag.store.locks import get_locks
from convrag.store.store import BATCH, FILE, get_store
from convrag.store.usage import UsageMeter, add_usage, current_meter

__all__ = ["BATCH", "FILE", "UsageMeter", "add_usage", "answer_again", "current_meter", "get_locks", "get_store"]
