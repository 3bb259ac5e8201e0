"""Text for terminals and logs, without control characters."""

from __future__ import annotations

from convrag.api.printable import make_printable

__all__ = ["make_printable"]
