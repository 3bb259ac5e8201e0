"""What indexes are called."""

from __future__ import annotations

import re

_SHOWN = 16
_LONGEST = 80


def alias_of(prefix: str, domain: str, kind: str, fingerprint: str) -> str:
    """The alias of a complete index: it stands for one corpus under one set of settings."""
    return f"{latest_of(prefix, domain, kind)}-{fingerprint[:_SHOWN]}"


def latest_of(prefix: str, domain: str, kind: str) -> str:
    """The alias of whichever index of this kind was completed last; for people, searches do not use it."""
    return f"{prefix}-{_plain(domain)}-{kind}"


def index_of(alias: str, generation: int) -> str:
    """The index itself. A second generation takes the place of a first one that was damaged."""
    return f"{alias}-{generation}"


def generation_of(index: str) -> int:
    """From 1 on; 0 for an index that is not named like ours."""
    number = index.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _plain(domain: str) -> str:
    """Lower-case ASCII letters, digits and underscores: two domains may look the same, their fingerprints do not."""
    return re.sub(r"[^a-z0-9_]+", "_", domain.lower())[:_LONGEST] or "_"
