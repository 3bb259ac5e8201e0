"""Files that are written whole or not at all, and names for them."""

from __future__ import annotations

from convrag.store.atomic import open_atomically, write_atomically
from convrag.store.disk import writing
from convrag.store.file_names import encode_name

__all__ = ["encode_name", "open_atomically", "write_atomically", "writing"]
