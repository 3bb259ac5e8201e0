"""Names of indexes and aliases."""

import re

_FINGERPRINT_LENGTH = 16
_MAX_DOMAIN_LENGTH = 80


def build_alias(prefix: str, domain: str, kind: str, fingerprint: str) -> str:
    """Build the alias under which a complete index is searched.

    It stands for one corpus and one set of settings.
    """
    return f"{build_latest_alias(prefix, domain, kind)}-{fingerprint[:_FINGERPRINT_LENGTH]}"


def build_latest_alias(prefix: str, domain: str, kind: str) -> str:
    """Build the alias of the index of a kind that was completed last.

    It is for people; searches do not use it.
    """
    return f"{prefix}-{_sanitise_domain(domain)}-{kind}"


def build_index_name(alias: str, generation: int) -> str:
    """Build the name of an index; a later generation replaces one that was damaged."""
    return f"{alias}-{generation}"


def parse_generation(index: str) -> int:
    """Read the generation, from 1 on, from the name of an index; 0 for another name."""
    number = index.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _sanitise_domain(domain: str) -> str:
    """Keep lower-case ASCII letters, digits and underscores.

    Two domains may become one; their fingerprints differ.
    """
    return re.sub(r"[^a-z0-9_]+", "_", domain.lower())[:_MAX_DOMAIN_LENGTH] or "_"
