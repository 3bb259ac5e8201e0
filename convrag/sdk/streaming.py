"""The pieces of a model's reply, for those who listen."""

from __future__ import annotations

from convrag.store.streaming import current_listener, listen_with
from convrag.store.values import mend_surrogates

__all__ = ["current_listener", "listen_with", "mend_surrogates"]
